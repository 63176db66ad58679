//! The crate in the current directory, as `cargo metadata` describes it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::failure::Failure;

/// A package with the details that entries, bundles and the registry need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CargoPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    pub(crate) authors: Vec<String>,
    pub(crate) license: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) homepage: Option<String>,
    /// The path of the README.
    pub(crate) readme: Option<PathBuf>,
    /// The directory of `Cargo.toml`.
    pub(crate) directory: PathBuf,
    /// The table `package.metadata.toolwire`, or null.
    pub(crate) settings: Value,
    binaries: Vec<String>,
    target_directory: PathBuf,
}

impl CargoPackage {
    /// Returns the package of the current directory.
    pub(crate) async fn current() -> Result<Self, Failure> {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(program)
            .args([
                "metadata",
                "--no-deps",
                "--offline",
                "--format-version",
                "1",
            ])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| {
                Failure::usage(format!("cargo cannot be run: {error}")).with_advice("install Rust")
            })?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(unreadable(text.trim()));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| Failure::usage(format!("the output of cargo is invalid: {error}")))?;
        let directory = std::env::current_dir().map_err(|error| {
            Failure::usage(format!("the current directory is unknown: {error}"))
        })?;
        Self::from_metadata(&metadata, &directory)
    }

    /// Returns the package whose directory is the nearest one above `directory`.
    fn from_metadata(metadata: &Value, directory: &Path) -> Result<Self, Failure> {
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let above = packages.filter_map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str()?);
            let parent = manifest.parent()?;
            directory.starts_with(parent).then_some((parent, package))
        });
        let nearest = above.max_by_key(|(parent, _)| parent.components().count());
        let (parent, package) = nearest.ok_or_else(|| {
            Failure::usage("this directory belongs to a workspace, and not to one of its crates")
                .with_advice("change to the directory of a crate")
        })?;
        let text = |member: &str| package[member].as_str().map(str::to_owned);
        let targets = package["targets"].as_array().into_iter().flatten();
        let binaries = targets.filter(|target| {
            let kinds = target["kind"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"))
        });
        let authors = package["authors"].as_array().into_iter().flatten();
        Ok(Self {
            name: text("name").unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            description: text("description"),
            authors: authors
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            license: text("license"),
            repository: text("repository"),
            homepage: text("homepage"),
            readme: text("readme").map(|path| parent.join(path)),
            directory: parent.to_owned(),
            settings: package["metadata"]["toolwire"].clone(),
            binaries: binaries
                .filter_map(|target| target["name"].as_str())
                .map(str::to_owned)
                .collect(),
            target_directory: metadata["target_directory"]
                .as_str()
                .unwrap_or_default()
                .into(),
        })
    }

    /// Returns the path of the release binary. `remedy` is what the user can do without it.
    ///
    /// # Errors
    /// Returns an error if the package has none or several, or if it is not built.
    pub(crate) fn release_binary(&self, remedy: &str) -> Result<PathBuf, Failure> {
        let [binary] = self.binaries.as_slice() else {
            let message = match self.binaries.as_slice() {
                [] => format!("the crate {} has no binary", self.name),
                several => format!(
                    "the crate {} has several binaries: {}",
                    self.name,
                    several.join(", ")
                ),
            };
            return Err(Failure::usage(message).with_advice(remedy));
        };
        let file = format!("{binary}{}", std::env::consts::EXE_SUFFIX);
        let path = self.target_directory.join("release").join(file);
        if !path.is_file() {
            return Err(Failure::usage(format!("{} does not exist", path.display()))
                .with_advice(format!("build it with: cargo build --release; or {remedy}")));
        }
        Ok(path)
    }
}

/// Returns the failure of `cargo metadata`. `text` is what it has written to standard error.
fn unreadable(text: &str) -> Failure {
    let is_missing = text.contains("could not find `Cargo.toml`");
    let failure = if is_missing {
        Failure::usage("there is no crate in this directory")
            .with_advice("change to the directory of a crate")
    } else {
        Failure::usage("cargo cannot read the crate of this directory")
            .with_advice("correct what cargo reports")
    };
    failure.with_details(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata() -> Value {
        let package = |name: &str, manifest: &str, binaries: &[&str]| {
            let targets: Vec<_> = binaries
                .iter()
                .map(|name| json!({"name": name, "kind": ["bin"]}))
                .chain([json!({"name": "lib", "kind": ["lib"]})])
                .collect();
            json!({
                "name": name, "version": "1.2.3", "manifest_path": manifest, "targets": targets,
                "readme": "README.md", "authors": ["Ada"], "description": null,
                "metadata": {"toolwire": {"a": 1}},
            })
        };
        json!({
            "packages": [
                package("outer", "/projects/Cargo.toml", &["a", "b"]),
                package("notes", "/projects/crates/notes/Cargo.toml", &["notes"]),
                package("library", "/projects/crates/library/Cargo.toml", &[]),
            ],
            "target_directory": "/projects/target",
        })
    }

    fn at(directory: &str) -> Result<CargoPackage, Failure> {
        CargoPackage::from_metadata(&metadata(), Path::new(directory))
    }

    #[test]
    fn nearest_package_is_used() {
        for (directory, expected) in [
            ("/projects", "outer"),
            ("/projects/crates/notes", "notes"),
            ("/projects/crates/notes/src", "notes"),
        ] {
            let package = at(directory).unwrap_or_else(|failure| panic!("{}", failure.text()));
            assert_eq!(package.name, expected, "{directory}");
        }
        let package =
            at("/projects/crates/notes").unwrap_or_else(|failure| panic!("{}", failure.text()));
        assert_eq!(
            package.readme,
            Some(PathBuf::from("/projects/crates/notes/README.md"))
        );
        assert_eq!(package.settings, json!({"a": 1}));
        assert!(at("/other").is_err());
    }

    #[test]
    fn missing_binary_is_named_with_a_remedy() {
        fn check(directory: &str, part: &str, remedy: &str) {
            let package = at(directory).unwrap_or_else(|failure| panic!("{}", failure.text()));
            let failed = package.release_binary("name it").map(drop);
            let text = failed.expect_err("the binary does not exist").text();
            assert!(text.contains(part), "{text}");
            assert!(text.contains(remedy), "{text}");
        }
        check("/projects", "several binaries: a, b", "try: name it");
        check("/projects/crates/library", "has no binary", "try: name it");
        check(
            "/projects/crates/notes",
            "does not exist",
            "cargo build --release",
        );
    }

    #[test]
    fn message_distinguishes_invalid_crate_from_missing_one() {
        fn check(output: &str, message: &str) {
            let text = unreadable(output).text();
            assert!(text.contains(message) && text.contains(output), "{text}");
        }
        let missing = "error: could not find `Cargo.toml` in `/tmp` or any parent directory";
        check(missing, "there is no crate in this directory");
        check(
            "error: invalid key",
            "cannot read the crate of this directory",
        );
    }
}
