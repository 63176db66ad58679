//! Compares everything a server offers with a file beside the tests.

use std::path::Path;
use std::{env, fs};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::client::Client;
use crate::error::Error;
use crate::server::Server;
use crate::testing::connected::client;
use crate::testing::diff::diff;

/// The environment variable that makes [`assert_snapshot`] rewrite its files. Any value except `0` enables it.
pub const UPDATE_SNAPSHOTS: &str = "TOOLWIRE_UPDATE_SNAPSHOTS";

/// Returns everything a server offers as indented JSON: capabilities, instructions, tools with their schemas, prompts,
/// resources and resource templates, as a client of the newest revision receives them.
///
/// The name and version of the server are omitted, so that a release does not change the snapshot.
///
/// # Panics
/// Panics if the client cannot connect, or if a list returns an error.
pub async fn snapshot(server: &Server) -> String {
    let client = client(server).await;
    let offers = match offers(&client).await {
        Ok(offers) => offers,
        Err(error) => panic!("the offers of the server cannot be listed: {error}"),
    };
    client.close().await;
    let mut text = serde_json::to_string_pretty(&offers).expect("a JSON value always serialises");
    text.push('\n');
    text
}

/// Compares everything a server offers with a file. The path is relative to the package under test.
///
/// Run the tests with `TOOLWIRE_UPDATE_SNAPSHOTS=1` to write the file, and review the change.
///
/// ```no_run
/// # async fn my_server_offers_what_it_did() {
/// # let server = toolwire::Server::new("demo", "1.0.0");
/// toolwire::testing::assert_snapshot(&server, "tests/offers.json").await;
/// # }
/// ```
///
/// # Panics
/// Panics with the difference if they differ, or if the file cannot be read or written.
pub async fn assert_snapshot(server: &Server, path: impl AsRef<Path>) {
    let update = env::var_os(UPDATE_SNAPSHOTS).is_some_and(|value| value != "0");
    let snapshot = snapshot(server).await;
    if let Err(reason) = compare(&snapshot, path.as_ref(), update) {
        panic!("{reason}");
    }
}

async fn offers(client: &Client) -> Result<Value, Error> {
    let mut offers = Map::new();
    let Some(details) = client.server() else {
        return Ok(Value::Object(offers));
    };
    let capabilities = &details.capabilities;
    insert(&mut offers, "capabilities", capabilities);
    if let Some(instructions) = &details.instructions {
        insert(&mut offers, "instructions", instructions);
    }
    if capabilities.tools.is_some() {
        insert(&mut offers, "tools", &client.list_tools().await?);
    }
    if capabilities.prompts.is_some() {
        insert(&mut offers, "prompts", &client.list_prompts().await?);
    }
    if capabilities.resources.is_some() {
        insert(&mut offers, "resources", &client.list_resources().await?);
        let templates = client.list_resource_templates().await?;
        insert(&mut offers, "resourceTemplates", &templates);
    }
    Ok(Value::Object(offers))
}

fn insert(offers: &mut Map<String, Value>, name: &str, value: &impl Serialize) {
    let value = serde_json::to_value(value).expect("plain data always serialises");
    offers.insert(name.to_owned(), value);
}

fn compare(snapshot: &str, path: &Path, update: bool) -> Result<(), String> {
    let shown = path.display();
    let remedy = format!("run the test with {UPDATE_SNAPSHOTS}=1 to write it");
    let stored = match fs::read_to_string(path) {
        // A checkout may have converted the line endings.
        Ok(stored) => Some(stored.replace("\r\n", "\n")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("the snapshot {shown} cannot be read: {error}")),
    };
    match stored {
        Some(stored) if stored == snapshot => Ok(()),
        _ if update => {
            let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
            let written = folder.and_then(|()| fs::write(path, snapshot));
            written.map_err(|error| format!("the snapshot {shown} cannot be written: {error}"))
        }
        Some(stored) => Err(format!(
            "the server differs from the snapshot {shown}; if this is intended, {remedy}\n{}",
            diff(&stored, snapshot)
        )),
        None => Err(format!("there is no snapshot {shown}; {remedy}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_is_compared_and_written_only_on_request() {
        let folder = env::temp_dir().join(format!("toolwire-snapshot-{}", std::process::id()));
        let path = folder.join("deep/offers.json");
        let missing = compare("a\n", &path, false).expect_err("there is no file");
        assert!(missing.contains("there is no snapshot"), "{missing}");
        assert!(missing.contains("TOOLWIRE_UPDATE_SNAPSHOTS=1"), "{missing}");

        compare("a\nb\n", &path, true).expect("the file is written");
        compare("a\nb\n", &path, false).expect("it is the same");
        fs::write(&path, "a\r\nb\r\n").expect("a file of ours");
        compare("a\nb\n", &path, false).expect("line endings make no difference");

        let differs = compare("a\nc\n", &path, false).expect_err("it differs");
        assert!(differs.contains("  a\n- b\n+ c\n"), "{differs}");
        compare("a\nc\n", &path, true).expect("the file is rewritten");
        compare("a\nc\n", &path, false).expect("it is the new one");
        fs::remove_dir_all(&folder).expect("a folder of ours");
    }
}
