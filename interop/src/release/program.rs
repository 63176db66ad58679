//! Finds the programs of the releases.

use std::path::PathBuf;

use crate::built_example::built_peer;
use crate::installed::{peers_directory, python_of, require};
use crate::problem::Problem;

/// The directory of the releases in `interop/peers`.
const RELEASES_DIRECTORY: &str = "releases";

/// What runs a release. Its manifest is in `interop/peers/releases`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Program {
    /// Node.js, with the packages of `package.json`.
    Node,
    /// Python, with the packages of `requirements/<name>.txt`.
    Python(&'static str),
    /// A program of the Rust package `rmcp`.
    Rmcp,
}

/// Returns `interop/peers/releases`.
pub(crate) fn releases_directory() -> PathBuf {
    peers_directory().join(RELEASES_DIRECTORY)
}

impl Program {
    /// Returns the file to run, and the arguments of the role without it.
    ///
    /// The first argument of an rmcp role names its program.
    pub(crate) fn locate(self, arguments: &[String]) -> Result<(PathBuf, &[String]), Problem> {
        match self {
            Self::Node => {
                require(&format!("{RELEASES_DIRECTORY}/node_modules"))?;
                Ok((PathBuf::from("node"), arguments))
            }
            Self::Python(environment) => {
                let directory = format!("{RELEASES_DIRECTORY}/.venv/{environment}");
                Ok((python_of(&directory)?, arguments))
            }
            Self::Rmcp => {
                let (name, arguments) = arguments
                    .split_first()
                    .ok_or_else(|| Problem::new("the role names no program of rmcp"))?;
                Ok((built_peer(name)?, arguments))
            }
        }
    }

    /// Returns the environment variables of every role.
    pub(crate) fn variables(self) -> Vec<(&'static str, String)> {
        match self {
            // Python compiles a module when it is imported first, and must not write files between the scripts.
            Self::Python(environment) => {
                let cache = releases_directory().join(".venv").join(environment);
                let cache = cache.join("compiled").to_string_lossy().into_owned();
                vec![("PYTHONPYCACHEPREFIX", cache)]
            }
            Self::Node | Self::Rmcp => Vec::new(),
        }
    }

    /// Returns the manifest and its text for this version.
    pub(crate) fn pin(self, package: &str, version: &str) -> (String, String) {
        match self {
            Self::Node => ("package.json".to_owned(), npm_pin(package, version)),
            Self::Python(environment) => (
                format!("requirements/{environment}.txt"),
                format!("{package}=={version}\n"),
            ),
            Self::Rmcp => (
                "rmcp/Cargo.toml".to_owned(),
                format!("{package} = {{ version = \"={version}\""),
            ),
        }
    }
}

/// Several versions of one package have their own names in `package.json`.
fn npm_pin(package: &str, version: &str) -> String {
    if package == "@modelcontextprotocol/sdk" {
        format!("\"npm:{package}@{version}\"")
    } else {
        format!("\"{package}\": \"{version}\"")
    }
}
