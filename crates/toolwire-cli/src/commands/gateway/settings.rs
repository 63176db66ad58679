//! Reads the configuration of a gateway, or makes one from the servers of a host's file.

use std::ffi::OsString;
use std::path::Path;

use toolwire_gateway::{
    CommandUpstream, GatewayConfig, HttpUpstream, UpstreamConfig, UpstreamTransport,
};

use crate::commands::gateway::failed;
use crate::failure::Failure;
use crate::gateway_arguments::GatewaySettings;
use crate::screen::Screen;
use crate::server_files;
use crate::target::{ChildProcess, Endpoint, Target};

pub(super) async fn load(
    settings: &GatewaySettings,
    screen: &Screen,
) -> Result<GatewayConfig, Failure> {
    match (&settings.config, &settings.from) {
        (Some(path), _) => GatewayConfig::load(path).map_err(|error| failed(&error.into())),
        (None, Some(path)) => from_host_file(path, screen).await,
        (None, None) => Err(Failure::usage("no configuration is given")
            .with_advice("pass --config gateway.toml, or --from mcp.json")),
    }
}

/// Makes each server of a host's file an upstream.
async fn from_host_file(path: &Path, screen: &Screen) -> Result<GatewayConfig, Failure> {
    let mut upstreams = Vec::new();
    for (name, target) in server_files::read_all(path, screen).await? {
        let transport = match target {
            Target::Http(endpoint) => UpstreamTransport::Http(http(endpoint)),
            Target::Child(child) => UpstreamTransport::Command(command(&name, child)?),
        };
        let upstream = UpstreamConfig::new(upstream_name(&name), transport);
        upstreams.push(upstream.map_err(Failure::usage)?);
    }
    let directory = path.parent().unwrap_or(Path::new(""));
    GatewayConfig::new(directory, upstreams)
        .map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))
}

/// Returns the name of an upstream: hosts permit more characters than addresses.
fn upstream_name(name: &str) -> String {
    let permitted = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let characters = name.chars();
    characters
        .map(|character| if permitted(character) { character } else { '_' })
        .collect()
}

fn http(endpoint: Endpoint) -> HttpUpstream {
    let mut upstream = HttpUpstream::new(endpoint.url);
    let headers = endpoint.headers.into_iter();
    upstream.headers = headers.map(|(name, value)| (name, value.into())).collect();
    upstream
}

fn command(name: &str, child: ChildProcess) -> Result<CommandUpstream, Failure> {
    let text = |word: OsString| {
        word.into_string().map_err(|_| {
            Failure::usage(format!(
                "`{name}`: the command has characters outside Unicode"
            ))
        })
    };
    let arguments: Result<Vec<String>, Failure> = child.arguments.into_iter().map(text).collect();
    let mut upstream = CommandUpstream::new(text(child.program)?, arguments?);
    for (variable, value) in child.environment {
        let value = text(value)?.into();
        upstream.environment.insert(text(variable)?, value);
    }
    upstream.directory = child.directory;
    Ok(upstream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_become_names_of_upstreams() {
        assert_eq!(upstream_name("my server.2"), "my_server_2");
        assert_eq!(upstream_name("files-1_a"), "files-1_a");
    }
}
