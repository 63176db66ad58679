//! Creates the crate of a new server from templates. `crates/toolwire-cli/templates` has the files, and the packages in
//! `examples/new` build and test them.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::commands::crate_name::check_crate_name;
use crate::failure::{Exit, Failure};
use crate::new_arguments::New;
use crate::screen::Screen;
use crate::server_files::shown_path;
use crate::shell_words::in_shell;

/// The name in the templates.
const TEMPLATE_NAME: &str = "my-server";

/// The line of the manifest that becomes the dependencies.
const DEPENDENCIES: &str = "TOOLWIRE_DEPENDENCIES";

const MANIFEST: &str = include_str!("../../templates/Cargo.toml.txt");

/// The end of the manifest of a server that listens on an address.
const HTTP_SETTINGS: &str = include_str!("../../templates/Cargo_http.toml.txt");

const IGNORED: &str = include_str!("../../templates/gitignore.txt");

/// Creates a crate.
pub(crate) fn new(arguments: &New, screen: &Screen) -> Result<Exit, Failure> {
    check_crate_name(&arguments.name)?;
    let directory = arguments.dir.clone();
    let directory = directory.unwrap_or_else(|| PathBuf::from(&arguments.name));
    let files = files(arguments)?;
    create(&directory, &files).map_err(|error| {
        Failure::usage(format!(
            "{} cannot be created: {error}",
            directory.display()
        ))
        .with_advice("give another directory with --dir")
    })?;
    let shown = shown_path(&directory);
    let entered = in_shell(&directory.display().to_string());
    screen.print(&format!(
        "created {shown}\n\nnext:\n    cd {entered}\n    cargo test\n    toolwire dev\n"
    ))?;
    Ok(Exit::Success)
}

/// Returns the paths and the contents of all files.
fn files(arguments: &New) -> Result<[(&'static str, String); 4], Failure> {
    let (program, readme) = match (arguments.http, arguments.auth) {
        (_, true) => (
            include_str!("../../templates/auth.rs"),
            include_str!("../../templates/README_auth.md"),
        ),
        (true, false) => (
            include_str!("../../templates/http.rs"),
            include_str!("../../templates/README_http.md"),
        ),
        (false, false) => (
            include_str!("../../templates/stdio.rs"),
            include_str!("../../templates/README_stdio.md"),
        ),
    };
    let mut dependencies = dependency("toolwire", arguments)?;
    if arguments.auth {
        dependencies.push('\n');
        dependencies.push_str(&dependency("toolwire-auth", arguments)?);
    }
    let named = |text: &str| text.replace(TEMPLATE_NAME, &arguments.name);
    let mut manifest = named(MANIFEST).replace(DEPENDENCIES, &dependencies);
    if arguments.http || arguments.auth {
        manifest.push_str(HTTP_SETTINGS);
    }
    Ok([
        ("Cargo.toml", manifest),
        ("README.md", named(readme)),
        (".gitignore", IGNORED.to_owned()),
        ("src/main.rs", named(program)),
    ])
}

/// Returns the line of the manifest for a crate of toolwire.
fn dependency(name: &str, arguments: &New) -> Result<String, Failure> {
    let source = match (&arguments.toolwire_path, &arguments.toolwire_git) {
        (Some(repository), _) => {
            let path = repository.join("crates").join(name);
            if !path.join("Cargo.toml").is_file() {
                return Err(Failure::usage(format!("{} is not a crate", path.display()))
                    .with_advice(
                        "give the root of a copy of the repository with --toolwire-path",
                    ));
            }
            let path = std::path::absolute(path).map_err(|error| {
                Failure::usage(format!("the current directory is unknown: {error}"))
            })?;
            format!("{{ path = {} }}", toml_string(&path.display().to_string()))
        }
        (None, Some(url)) => format!("{{ git = {} }}", toml_string(url)),
        (None, None) => toml_string(env!("CARGO_PKG_VERSION")),
    };
    Ok(format!("{name} = {source}"))
}

/// Returns a TOML string. Its escapes are those of JSON.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn create(directory: &Path, files: &[(&str, String)]) -> io::Result<()> {
    let is_empty = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error),
    };
    if !is_empty {
        return Err(io::Error::other("the directory is not empty"));
    }
    for (path, content) in files {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = fs::File::create_new(path)?;
        file.write_all(content.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(name: &str) -> New {
        New {
            name: name.to_owned(),
            http: false,
            auth: false,
            dir: None,
            toolwire_path: None,
            toolwire_git: None,
        }
    }

    #[test]
    fn names_of_dependencies_are_rejected() {
        let arguments = New {
            auth: true,
            ..arguments("weather")
        };
        let files = files(&arguments).unwrap_or_else(|failure| panic!("{}", failure.text()));
        let manifest: toml::Table = files[0].1.parse().expect("the manifest is TOML");
        for table in ["dependencies", "dev-dependencies"] {
            let table = manifest[table].as_table().expect("a table");
            for name in table.keys() {
                assert!(check_crate_name(name).is_err(), "{name}");
            }
        }
    }

    #[test]
    fn name_and_dependencies_are_filled_in() {
        for (http, auth) in [(false, false), (true, false), (false, true), (true, true)] {
            for git in [None, Some("https://example.com/toolwire".to_owned())] {
                let arguments = New {
                    http,
                    auth,
                    toolwire_git: git.clone(),
                    ..arguments("weather")
                };
                let files =
                    files(&arguments).unwrap_or_else(|failure| panic!("{}", failure.text()));
                for (path, text) in &files {
                    assert!(!text.contains(TEMPLATE_NAME), "{path}: {text}");
                    assert!(!text.contains(DEPENDENCIES), "{path}: {text}");
                }
                let manifest: toml::Table = files[0].1.parse().expect("the manifest is TOML");
                let dependencies = &manifest["dependencies"];
                assert_eq!(dependencies.get("toolwire-auth").is_some(), auth);
                // The program of a server over HTTP has the argument that `toolwire dev` passes.
                let settings = manifest["package"].get("metadata");
                assert_eq!(settings.is_some(), http || auth);
                if let Some(settings) = settings {
                    let argument = settings["toolwire"]["dev-arguments"][0].as_str();
                    let argument = argument.expect("a string");
                    assert!(files[3].1.contains(argument), "{argument}");
                }
                let toolwire = &dependencies["toolwire"];
                match git {
                    Some(url) => assert_eq!(toolwire["git"].as_str(), Some(url.as_str())),
                    None => assert_eq!(toolwire.as_str(), Some(env!("CARGO_PKG_VERSION"))),
                }
                assert!(files[3].1.contains("Server::new(\"weather\""));
            }
        }
    }
}
