//! Writes and checks `server.json`, which describes a server in the MCP registry.

mod merge;
mod readme;
mod rules;
mod types;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cargo_package::CargoPackage;
use crate::commands::bundle::{sha256, summary};
use crate::commands::publish::merge::{merge, remove_crate};
use crate::commands::server_summary::ServerSummary;
use crate::failure::{Exit, Failure};
use crate::publish_arguments::Publish;
use crate::screen::Screen;
use crate::server_files::shown_path;
use crate::server_settings::ServerSettings;

/// The members that every file has: the address of the schema.
const BASE: &str = include_str!("server_base.json");

/// The largest `server.json` that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Checks or writes the file.
pub(crate) async fn publish(arguments: &Publish, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let package = CargoPackage::current().await?;
    let settings = ServerSettings::parse(&package.settings)?;
    let name = registry_name(arguments, &package)?;
    let started = if arguments.no_start {
        None
    } else {
        let binary = package.release_binary("do not start the server: --no-start")?;
        Some(summary(&binary, &settings, screen).await?)
    };
    let description = describe(arguments, &name, &package, &settings, started.as_ref())?;
    let path = package.directory.join("server.json");
    let existing = read(&path)?;
    let mut problems = Vec::new();
    let document = if arguments.write {
        let mut existing = existing.unwrap_or_default();
        if arguments.no_cargo {
            remove_crate(&mut existing, &package.name);
        }
        merge(existing, &description)
    } else {
        let Some(existing) = existing else {
            return Err(
                Failure::usage(format!("{} does not exist", shown_path(&path)))
                    .with_advice("write it with: toolwire publish --write"),
            );
        };
        problems.extend(differences(&existing, &description));
        existing
    };
    let document = Value::Object(document);
    problems.extend(rules::problems(&document));
    if !arguments.no_cargo {
        problems.extend(readme::problem(package.readme.as_deref(), &name));
    }
    let info = started.as_ref().and_then(|started| started.info.as_ref());
    problems.extend(info.and_then(|info| release_problem(&info.version, &package.version)));
    if !problems.is_empty() {
        let lines = problems.join("\n");
        return Err(Failure::usage("the server cannot be published")
            .with_advice("correct what follows")
            .with_details(lines));
    }
    let shown = shown_path(&path);
    if arguments.write {
        std::fs::write(&path, format!("{document:#}\n"))
            .map_err(|error| Failure::usage(format!("{shown} cannot be written: {error}")))?;
    }
    if screen.json {
        screen.print_json(&document)?;
    } else {
        let done = if arguments.write { "wrote" } else { "checked" };
        screen.print(&format!("{done} {shown}: {name} {}\n", package.version))?;
    }
    Ok(Exit::Success)
}

fn registry_name(arguments: &Publish, package: &CargoPackage) -> Result<String, Failure> {
    let declared = package.settings["mcp-name"].as_str();
    let name = arguments.name.as_deref().or(declared);
    name.map(str::to_owned).ok_or_else(|| {
        Failure::usage("the name of the server in the registry is not known").with_advice(
            "add mcp-name = \"io.github.you/weather\" to [package.metadata.toolwire] in Cargo.toml, or pass --name",
        )
    })
}

/// Returns the members that this command knows.
fn describe(
    arguments: &Publish,
    name: &str,
    package: &CargoPackage,
    settings: &ServerSettings,
    started: Option<&ServerSummary>,
) -> Result<Map<String, Value>, Failure> {
    let mut members: Map<String, Value> =
        serde_json::from_str(BASE).expect("the file is a JSON object");
    let mut add = |member: &str, value: Value| members.insert(member.to_owned(), value);
    add("name", name.into());
    let info = started.and_then(|started| started.info.as_ref());
    if let Some(title) = info.and_then(|info| info.title.as_ref()) {
        add("title", json!(title));
    }
    add(
        "description",
        json!(package.description.as_deref().unwrap_or_default()),
    );
    add("version", json!(package.version));
    if let Some(url) = &package.repository {
        add("repository", json!({"url": url, "source": source(url)}));
    }
    if let Some(url) = &package.homepage {
        add("websiteUrl", json!(url));
    }
    let variables = settings.registry_variables();
    let mut packages = Vec::new();
    let mut offer = |mut package: Value| {
        package["transport"] = json!({"type": "stdio"});
        if !variables.is_empty() {
            package["environmentVariables"] = json!(variables);
        }
        packages.push(package);
    };
    if !arguments.no_cargo {
        offer(json!({
            "registryType": "cargo", "identifier": package.name, "version": package.version,
        }));
    }
    if let (Some(url), Some(file)) = (&arguments.mcpb, &arguments.bundle) {
        let bytes = std::fs::read(file).map_err(|error| {
            Failure::usage(format!("{} cannot be read: {error}", file.display()))
                .with_advice("create it with: toolwire bundle")
        })?;
        let digest = sha256(&bytes);
        offer(json!({"registryType": "mcpb", "identifier": url, "fileSha256": digest}));
    }
    if let Some(image) = &arguments.oci {
        offer(json!({"registryType": "oci", "identifier": image}));
    }
    if !packages.is_empty() {
        add("packages", packages.into());
    }
    if let Some(url) = &arguments.remote {
        add("remotes", json!([{"type": "streamable-http", "url": url}]));
    }
    Ok(members)
}

/// Returns what is wrong with the release that the server reports, or `None`.
fn release_problem(reported: &str, declared: &str) -> Option<String> {
    (reported != declared).then(|| {
        format!(
            "the server reports the version {reported}, and Cargo.toml has {declared}; use env!(\"CARGO_PKG_VERSION\")"
        )
    })
}

/// Returns the name of the service that has a repository.
fn source(url: &str) -> &'static str {
    let services = [
        ("://github.com/", "github"),
        ("://gitlab.com/", "gitlab"),
        ("://codeberg.org/", "codeberg"),
    ];
    let mut services = services.into_iter();
    let service = services.find(|(part, _)| url.contains(part));
    service.map_or("git", |(_, name)| name)
}

fn read(path: &Path) -> Result<Option<Map<String, Value>>, Failure> {
    let shown = shown_path(path);
    let length = match std::fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::usage(format!("{shown} cannot be read: {error}"))),
    };
    if length > MAX_BYTES {
        return Err(Failure::usage(format!(
            "{shown} has more than {MAX_BYTES} bytes"
        )));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| Failure::usage(format!("{shown} is not a JSON object: {error}")))
}

/// Returns the differences between a file and `Cargo.toml`. Packages are compared by their version only, because
/// options of the command line add some.
fn differences(document: &Map<String, Value>, description: &Map<String, Value>) -> Vec<String> {
    let mut problems = Vec::new();
    for member in [
        "$schema",
        "name",
        "description",
        "version",
        "repository",
        "websiteUrl",
    ] {
        let (written, expected) = (document.get(member), description.get(member));
        if expected.is_some() && written != expected {
            problems.push(format!(
                "`{member}` differs from Cargo.toml; update it with: toolwire publish --write"
            ));
        }
    }
    let packages = document.get("packages").and_then(Value::as_array);
    let crates = packages.into_iter().flatten();
    for package in crates.filter(|package| package["registryType"] == "cargo") {
        if Some(&package["version"]) != description.get("version") {
            problems.push(
                "the version of the package `cargo` differs from Cargo.toml; update it with: toolwire publish --write"
                    .to_owned(),
            );
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn old_versions_are_found() {
        let written = object(json!({
            "name": "a/b", "version": "1.0.0",
            "packages": [{"registryType": "cargo", "version": "1.0.0"}, {"registryType": "oci"}],
        }));
        assert_eq!(differences(&written, &written), [""; 0]);
        let expected = object(json!({"name": "a/b", "version": "1.1.0"}));
        let problems = differences(&written, &expected);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("`version`"), "{problems:?}");
    }

    #[test]
    fn server_must_report_the_release_of_the_crate() {
        assert_eq!(release_problem("1.0.0", "1.0.0"), None);
        let problem = release_problem("1.0.0", "1.1.0").unwrap_or_default();
        assert!(problem.contains("reports the version 1.0.0"), "{problem}");
    }

    #[test]
    fn source_is_the_service_of_the_repository() {
        assert_eq!(source("https://github.com/a/b"), "github");
        assert_eq!(source("https://example.com/a/b"), "git");
    }
}
