//! Writes a record as Rust tests on `toolwire::testing::ScriptedClient`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::record::{Record, RecordedMessage, is_redacted};
use crate::replay::exchanges::{MessageKind, RecordedExchange, exchanges, kind, method};
use crate::replay::matching::description;

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Requests that the scripted client sends itself, or that depend on the client only.
const HANDSHAKE: [&str; 2] = ["initialize", "server/discover"];

/// Members of a result that differ between two runs.
const VARIABLE: [&str; 3] = ["_meta", "requestState", "nextCursor"];

/// Returns Rust code with one test per connection. The code expects a function `server` that returns the server.
pub(crate) fn rust_test(record: &Record) -> String {
    let mut code = String::from(
        "// Written by `toolwire replay --test`. Define `fn server() -> toolwire::Server` in this module.\n",
    );
    let exchanges = exchanges(record);
    let mut connections: Vec<u64> = exchanges.iter().map(|e| e.connection).collect();
    connections.dedup();
    for connection in connections {
        let own = exchanges.iter().filter(|e| e.connection == connection);
        let own: Vec<&RecordedExchange> = own.collect();
        code += &connection_test(record, connection, &own);
    }
    code
}

fn connection_test(record: &Record, connection: u64, exchanges: &[&RecordedExchange]) -> String {
    let has_requests = exchanges.iter().any(|e| !HANDSHAKE.contains(&e.method()));
    let Some((version, capabilities)) = client_of(exchanges).filter(|_| has_requests) else {
        return String::new();
    };
    let version = version.replace('-', "_");
    let mut code = format!(
        "\n#[tokio::test]\nasync fn recorded_connection_{connection}() {{\n    \
         let version = toolwire::ProtocolVersion::V{version};\n    \
         let capabilities = serde_json::json!({capabilities});\n    \
         let mut client =\n        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;\n"
    );
    for exchange in exchanges {
        if !HANDSHAKE.contains(&exchange.method()) {
            code += &exchange_code(record, exchange, &capabilities);
        }
    }
    code + "}\n"
}

/// Returns the version and the capabilities of the client of a connection.
fn client_of(exchanges: &[&RecordedExchange]) -> Option<(String, Value)> {
    let succeeded = exchanges.iter().filter(|exchange| {
        exchange
            .response()
            .is_some_and(|response| response.body.get("result").is_some())
    });
    let mut clients = succeeded.filter_map(|exchange| {
        let params = &exchange.request.body["params"];
        if exchange.method() == "initialize" {
            let result = &exchange.response()?.body["result"];
            let version = result["protocolVersion"].as_str()?;
            return Some((version.to_owned(), params["capabilities"].clone()));
        }
        let meta = &params["_meta"];
        let version = meta[PROTOCOL_VERSION].as_str()?;
        Some((version.to_owned(), meta[CAPABILITIES].clone()))
    });
    clients.next()
}

/// Returns the code for one exchange. `capabilities` are those of the scripted client.
fn exchange_code(record: &Record, exchange: &RecordedExchange, capabilities: &Value) -> String {
    let request = &exchange.request.body;
    let title = description(request).replace(['\n', '\r'], " ");
    let mut params = request["params"].as_object().cloned().unwrap_or_default();
    let has_state = params.remove("requestState").is_some();
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        // The scripted client adds its own. A request may have other capabilities than the first one.
        meta.retain(|name, value| {
            name == "progressToken" || (name == CAPABILITIES && value != capabilities)
        });
    }
    if params.get("_meta").is_some_and(|meta| *meta == json!({})) {
        params.remove("_meta");
    }
    if is_redacted(&Value::Object(params.clone()).to_string()) {
        return format!("    // {title} is left out, because a part of it was redacted.\n");
    }
    let Some(response) = exchange.response() else {
        return format!("    // {title} is left out, because it has no response.\n");
    };
    let params = Value::Object(params);
    let mut code = format!("\n    // {title}\n    let ");
    if has_state {
        let _ = write!(
            code,
            "mut params = serde_json::json!({params});\n    \
             params[\"requestState\"] = result[\"requestState\"].clone();\n    let "
        );
    } else {
        let _ = write!(code, "params = serde_json::json!({params});\n    let ");
    }
    let _ = writeln!(
        code,
        "id = client.request({:?}, params).await;",
        exchange.method()
    );
    for message in &exchange.sent {
        code += &message_code(record, message);
    }
    code += "    let outcome = client.expect_response(id).await;\n";
    match (&response.body["result"], &response.body["error"]) {
        (Value::Object(result), _) => {
            code += "    let result = outcome.expect(\"the request succeeds\");\n";
            code += &assertions("result", result);
        }
        (_, Value::Object(error)) => {
            code += "    let error = outcome.expect_err(\"the request fails\");\n";
            code += &assertions("error", error);
        }
        _ => {}
    }
    code
}

/// Returns the code for a message of the server before its response.
fn message_code(record: &Record, message: &RecordedMessage) -> String {
    let name = method(&message.body);
    match kind(&message.body) {
        MessageKind::Notification if name == "notifications/progress" => {
            let progress = &message.body["params"]["progress"];
            format!(
                "    let progress = client.expect_notification({name:?}).await;\n    \
                 assert_eq!(progress.params[\"progress\"], serde_json::json!({progress}));\n"
            )
        }
        MessageKind::Request => {
            let id = &message.body["id"];
            let mut sent = record.messages.iter().filter(|sent| sent.is_sent);
            let response = sent.find(|sent| {
                kind(&sent.body) == MessageKind::Response
                    && sent.connection == message.connection
                    && sent.body["id"] == *id
            });
            let result = response.map_or(&Value::Null, |response| &response.body["result"]);
            format!(
                "    let asked = client.expect({name:?}).await;\n    \
                 client.respond(&asked, serde_json::json!({result})).await;\n"
            )
        }
        _ => String::new(),
    }
}

fn assertions(variable: &str, members: &Map<String, Value>) -> String {
    let mut code = String::new();
    for (name, value) in members {
        let text = value.to_string();
        if !VARIABLE.contains(&name.as_str()) && !is_redacted(&text) {
            let _ = writeln!(
                code,
                "    assert_eq!({variable}[{name:?}], serde_json::json!({text}));"
            );
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::test_record::record;

    #[test]
    fn code_repeats_requests_and_input() {
        let initialize =
            json!({"id": 1, "method": "initialize", "params": {"capabilities": {"roots": {}}}});
        let login = json!({"id": 3, "method": "tools/call", "params": {"name": "login", "arguments": {"a": "[redacted 1 bytes sha256:aaaa]"}}});
        let record = record(&[
            (true, initialize),
            (
                false,
                json!({"id": 1, "result": {"protocolVersion": "2025-11-25"}}),
            ),
            (
                true,
                json!({"id": 2, "method": "tools/call", "params": {"name": "add", "_meta": {"x": 1}}}),
            ),
            (false, json!({"id": 9, "method": "roots/list"})),
            (true, json!({"id": 9, "result": {"roots": []}})),
            (
                false,
                json!({"id": 2, "result": {"content": [], "_meta": {}}}),
            ),
            (true, login),
        ]);
        let code = rust_test(&record);
        for line in [
            "async fn recorded_connection_1() {",
            "ProtocolVersion::V2025_11_25;",
            "let params = serde_json::json!({\"name\":\"add\"});",
            "let asked = client.expect(\"roots/list\").await;",
            "client.respond(&asked, serde_json::json!({\"roots\":[]})).await;",
            "assert_eq!(result[\"content\"], serde_json::json!([]));",
            "// tools/call login is left out, because a part of it was redacted.",
        ] {
            assert!(code.contains(line), "{line}\n{code}");
        }
        assert!(!code.contains("[\"_meta\"]"), "{code}");
    }
}
