//! The entry of an extension of Goose.

use serde_json::{Map, Value, json};

use crate::hosts::entry_references::{reference, references};
use crate::hosts::installed_server::InstalledServer;
use crate::hosts::table::Host;

/// The seconds that Goose waits for a response. It is the value of the entries that Goose writes.
const EXTENSION_TIMEOUT: u32 = 300;

/// Returns the entry of an extension of Goose, which has all members of the host's own entries.
pub(super) fn extension_entry(
    host: &Host,
    name: &str,
    server: &InstalledServer,
) -> Map<String, Value> {
    let mut entry = Map::new();
    let mut add = |member: &str, value: Value| {
        entry.insert(member.to_owned(), value);
    };
    let names = references(server);
    let is_command = matches!(server, InstalledServer::Command { .. });
    add("enabled", true.into());
    let kind = if is_command {
        "stdio"
    } else {
        "streamable_http"
    };
    add("type", kind.into());
    add("name", name.into());
    add("description", "".into());
    let values = match server {
        InstalledServer::Command {
            program,
            arguments,
            environment,
        } => {
            add("cmd", program.as_str().into());
            add("args", json!(arguments));
            let values = environment.iter().filter_map(|variable| {
                let value = variable.value.as_deref()?;
                Some((variable.name.clone(), value.into()))
            });
            ("envs", values.collect::<Map<_, _>>())
        }
        InstalledServer::Url {
            url,
            headers,
            bearer,
        } => {
            add("uri", url.as_str().into());
            let headers = headers.iter();
            let mut headers: Map<_, _> = headers
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect();
            if let Some(variable) = bearer {
                let value = format!("Bearer {}", reference(host, name, variable));
                headers.insert("Authorization".to_owned(), value.into());
            }
            ("headers", headers)
        }
    };
    if !values.1.is_empty() {
        add(values.0, values.1.into());
    }
    if !names.is_empty() {
        add("env_keys", json!(names));
    }
    add("timeout", EXTENSION_TIMEOUT.into());
    entry
}
