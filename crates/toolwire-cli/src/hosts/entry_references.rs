//! References to environment variables in the entry of a server.

use serde_json::{Value, json};

use crate::hosts::installed_server::InstalledServer;
use crate::hosts::table::{Host, References};

/// Returns the variables to which the entry refers by name.
pub(super) fn references(server: &InstalledServer) -> Vec<&str> {
    match server {
        InstalledServer::Command { environment, .. } => environment
            .iter()
            .filter(|variable| variable.value.is_none())
            .map(|variable| variable.name.as_str())
            .collect(),
        InstalledServer::Url { bearer, .. } => bearer.iter().map(String::as_str).collect(),
    }
}

/// Returns the text that stands for the value of a variable in the entry of a server.
pub(super) fn reference(host: &Host, server: &str, variable: &str) -> String {
    match host.references {
        References::DollarEnv => format!("${{env:{variable}}}"),
        References::BracesEnv => format!("{{env:{variable}}}"),
        References::Inputs => format!("${{input:{}}}", input_id(variable, server)),
        References::None | References::Dollar | References::Names => format!("${{{variable}}}"),
    }
}

/// Returns the id of the input for a variable. Each server has its own inputs, because the host stores one value for
/// each id, and a server must not get the secret of another one.
fn input_id(variable: &str, server: &str) -> String {
    format!("{server}-{variable}")
}

/// Returns the definition of the input for a variable, which the host asks the user for.
pub(super) fn input(variable: &str, server: &str) -> Value {
    json!({
        "type": "promptString",
        "id": input_id(variable, server),
        "description": format!("{variable} of the server {server}"),
        "password": true,
    })
}
