//! Packs a server into a bundle (`.mcpb`) that hosts install.
//!
//! A bundle is a zip archive with a manifest and the program. The same input gives the same bytes.

mod archive;
mod manifest;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::bundle_arguments::BundleServer;
use crate::cargo_package::CargoPackage;
use crate::commands::server_summary::ServerSummary;
use crate::connection_arguments::Server;
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::server_files::shown_path;
use crate::server_settings::ServerSettings;
use crate::target::{ChildProcess, Target};

use self::archive::{BundleFile, archive};

pub(crate) use archive::sha256;

/// The largest program of a bundle.
const MAX_PROGRAM_BYTES: u64 = 512 * 1024 * 1024;

/// Writes a bundle, and prints its digest.
pub(crate) async fn bundle(
    arguments: &BundleServer,
    screen: &Arc<Screen>,
) -> Result<Exit, Failure> {
    let package = CargoPackage::current().await?;
    let settings = ServerSettings::parse(&package.settings)?;
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => package.release_binary("name the program with --binary FILE")?,
    };
    let program = read_program(&binary)?;
    let summary = summary(&binary, &settings, screen).await?;
    let file_name = format!("{}{}", package.name, std::env::consts::EXE_SUFFIX);
    let manifest = manifest::manifest(&package, &settings, &summary, &file_name)?;
    let manifest = format!("{manifest:#}\n");
    let path = format!("server/{file_name}");
    let bytes = archive(&[
        BundleFile {
            path: "manifest.json",
            content: manifest.as_bytes(),
            is_program: false,
        },
        BundleFile {
            path: &path,
            content: &program,
            is_program: true,
        },
    ])
    .map_err(|error| Failure::usage(format!("the bundle cannot be created: {error}")))?;
    let output = arguments.output_file.clone().unwrap_or_else(|| {
        let (name, version) = (&package.name, &package.version);
        // The program runs on this machine, because its tools are listed.
        let (platform, architecture) = (manifest::platform(), std::env::consts::ARCH);
        PathBuf::from(format!("{name}-{version}-{platform}-{architecture}.mcpb"))
    });
    std::fs::write(&output, &bytes).map_err(|error| {
        Failure::usage(format!("{} cannot be written: {error}", output.display()))
            .with_advice("check --output")
    })?;
    let digest = sha256(&bytes);
    if screen.json {
        screen.print_json(&json!({
            "file": output.display().to_string(),
            "sha256": digest,
            "bytes": bytes.len(),
            "tools": summary.tools.len(),
        }))?;
    } else {
        let tools = summary.tools.len();
        let output = shown_path(&output);
        screen.print(&format!(
            "wrote {output} with {tools} tools\nsha256 {digest}\n"
        ))?;
    }
    Ok(Exit::Success)
}

/// Starts the program and returns what it offers. The settings that are set in this process are passed on.
pub(crate) async fn summary(
    binary: &Path,
    settings: &ServerSettings,
    screen: &Arc<Screen>,
) -> Result<ServerSummary, Failure> {
    let binary = std::path::absolute(binary)
        .map_err(|error| Failure::usage(format!("the current directory is unknown: {error}")))?;
    let mut child = ChildProcess::new(binary);
    for name in settings.names() {
        let value = std::env::var_os(name);
        let variable = value.map(|value| (name.into(), value));
        child.environment.extend(variable);
    }
    let server = Server::without_options();
    let summary = ServerSummary::of(&Target::Child(child), &server, screen).await;
    summary.map_err(|failure| {
        failure
            .with_context("the server does not start: ")
            .with_default_advice("set the environment variables that it needs")
    })
}

fn read_program(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot_read = |error: std::io::Error| {
        Failure::usage(format!("{} cannot be read: {error}", path.display()))
            .with_advice("build it with: cargo build --release")
    };
    let length = std::fs::metadata(path).map_err(cannot_read)?.len();
    check_length(length)
        .map_err(|failure| failure.with_context(&format!("{}: ", path.display())))?;
    std::fs::read(path).map_err(cannot_read)
}

fn check_length(length: u64) -> Result<(), Failure> {
    if length > MAX_PROGRAM_BYTES {
        let limit = MAX_PROGRAM_BYTES / (1024 * 1024);
        return Err(
            Failure::usage(format!("the program has more than {limit} MiB")).with_advice(
                "remove its debug information: set `strip = true` in [profile.release]",
            ),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_at_the_limit_is_accepted_and_a_longer_one_is_not() {
        assert!(check_length(MAX_PROGRAM_BYTES).is_ok());
        let text = check_length(MAX_PROGRAM_BYTES + 1).map_err(|failure| failure.text());
        assert!(text.is_err_and(|text| text.contains("512 MiB")));
    }
}
