//! Skills: listing, loading and reading them, from servers that keep to their entries and from servers that do not.

mod differences;
mod entries;
mod lists;
mod loading;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::skills::SkillEntry;
use toolwire::testing::ScriptedServer;
use toolwire::{Client, ClientBuilder, Error, ProtocolVersion};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::skills::digest;

use super::{LEGACY, MODERN, builder};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

const SKILL_URI: &str = "skill://team/release/SKILL.md";
const SKILL: &str =
    "---\nname: release\ndescription: Cut a release\n---\nFollow references/CHECKLIST.md.\n";

const CHECKLIST_URI: &str = "skill://team/release/references/CHECKLIST.md";
const CHECKLIST: &str = "- tests\n";

/// A client, and the requests that its scripted server received.
struct SkillClient {
    client: Client,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl SkillClient {
    /// Connects to a server with these settings of the extension; `null` stands for a server without it. The script
    /// returns the result of each request, or an error object.
    async fn connect(
        builder: ClientBuilder,
        version: ProtocolVersion,
        settings: Value,
        script: impl Fn(&str, &Value) -> Result<Value, Value> + Send + 'static,
    ) -> Self {
        let mut capabilities = json!({"resources": {}});
        if !settings.is_null() {
            capabilities["extensions"] = json!({ EXTENSION: settings });
        }
        let details = if version.is_legacy() {
            let info = json!({"name": "script", "version": "1.0.0"});
            json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
        } else {
            json!({"supportedVersions": [version], "capabilities": capabilities})
        };
        let requests = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&requests);
        let (mut server, connecting) = ScriptedServer::listening(builder.with_versions([version]));
        tokio::spawn(async move {
            server.accept().await;
            while let Some(message) = server.receive_or_end().await {
                let Some(id) = message.get("id") else {
                    continue;
                };
                let method = message["method"].as_str().expect("a request").to_owned();
                let outcome = if matches!(method.as_str(), "initialize" | "server/discover") {
                    Ok(details.clone())
                } else {
                    let outcome = script(&method, &message["params"]);
                    let request = (method, message["params"].clone());
                    received.lock().expect("no panic").push(request);
                    outcome
                };
                let response = match outcome {
                    Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
                };
                server.send(response).await;
            }
        });
        Self {
            client: connecting.await.expect("connected"),
            requests,
        }
    }

    /// Connects to a modern server with skills.
    async fn modern(
        script: impl Fn(&str, &Value) -> Result<Value, Value> + Send + 'static,
    ) -> Self {
        Self::connect(builder(), MODERN, json!({}), script).await
    }

    /// Returns the methods of all requests, with the URI if they have one.
    fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("no panic");
        let texts = requests
            .iter()
            .map(|(method, params)| match params["uri"].as_str() {
                Some(uri) => format!("{method} {uri}"),
                None => method.clone(),
            });
        texts.collect()
    }
}

/// Returns the listed form of a file.
fn file(uri: &str, content: &str) -> Value {
    json!({"uri": uri, "digest": digest(content.as_bytes()), "size": content.len()})
}

/// Returns the entry of the skill `release` with these files.
fn entry_with(resources: Value) -> Value {
    json!({
        "uri": SKILL_URI,
        "frontmatter": {"name": "release", "description": "Cut a release"},
        "resources": resources,
    })
}

/// Returns the entry of the skill `release`.
fn entry() -> Value {
    entry_with(json!([
        file(SKILL_URI, SKILL),
        file(CHECKLIST_URI, CHECKLIST)
    ]))
}

fn parsed(entry: Value) -> SkillEntry {
    serde_json::from_value(entry).expect("an entry")
}

/// Returns the result of `resources/read` for a text file.
fn contents(uri: &str, text: &str) -> Value {
    json!({"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]})
}

/// The script of a server with the skill `release`.
fn release(method: &str, params: &Value) -> Result<Value, Value> {
    match (method, params["uri"].as_str()) {
        ("skills/list", _) => Ok(json!({"skills": [entry()]})),
        ("skills/get", Some(SKILL_URI)) => Ok(json!({"skill": entry()})),
        ("resources/read", Some(SKILL_URI)) => Ok(contents(SKILL_URI, SKILL)),
        ("resources/read", Some(CHECKLIST_URI)) => Ok(contents(CHECKLIST_URI, CHECKLIST)),
        ("resources/directory/read", _) => Ok(json!({"resources": [
            {"uri": "skill://team/release/references", "name": "references", "mimeType": "inode/directory"},
            {"uri": SKILL_URI, "name": "release", "mimeType": "text/markdown"},
        ]})),
        (_, uri) => Err(json!({"code": -32602, "message": "unknown", "data": {"uri": uri}})),
    }
}

/// Checks that an error is about a skill that must not be used, and says why.
#[track_caller]
fn assert_mismatch(error: &Error, parts: &[&str]) {
    let message = error.to_string();
    assert!(error.is_skill_mismatch(), "{message}");
    assert!(!error.is_protocol_violation() && error.rpc().is_none());
    for part in parts {
        assert!(message.contains(part), "{part}: {message}");
    }
}
