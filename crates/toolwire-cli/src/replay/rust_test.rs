//! Writes a record as Rust tests on `toolwire::testing::ScriptedClient`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use toolwire::ProtocolVersion;

use crate::record::{Record, RecordedMessage, is_redacted};
use crate::replay::exchanges::{MessageKind, RecordedExchange, exchanges, kind, method};
use crate::replay::matching::description;
use crate::show::plain_text;

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Requests that the scripted client sends itself, or that depend on the client only.
const HANDSHAKE: [&str; 2] = ["initialize", "server/discover"];

/// Members of a result that differ between two runs.
const VARIABLE: [&str; 3] = ["_meta", "requestState", "nextCursor"];

/// The start of the code. The JSON of a record is in string literals, because not all JSON is valid in `json!`.
const START: &str = r#"// Written by `toolwire replay --test`. Define `fn server() -> toolwire::Server` in this module.

fn recorded_json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("the record has valid JSON")
}
"#;

/// Returns Rust code with one test per connection. The code expects a function `server` that returns the server.
pub(crate) fn rust_test(record: &Record) -> String {
    let mut code = START.to_owned();
    let exchanges = exchanges(record);
    let mut connections: Vec<u64> = exchanges.iter().map(|e| e.connection).collect();
    connections.sort_unstable();
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
    let value = json_code(&capabilities);
    let mut code = format!(
        "\n#[tokio::test]\nasync fn recorded_connection_{connection}() {{\n    \
         let version = toolwire::ProtocolVersion::{version:?};\n    \
         let capabilities = {value};\n    \
         let mut client =\n        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;\n"
    );
    for exchange in exchanges {
        if !HANDSHAKE.contains(&exchange.method()) {
            code += &exchange_code(record, exchange, &capabilities);
        }
    }
    code + "}\n"
}

/// Returns the version and the capabilities of the client of a connection. A record may have anything as its version, and
/// only a known one becomes code.
fn client_of(exchanges: &[&RecordedExchange]) -> Option<(ProtocolVersion, Value)> {
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
            return Some((version.parse().ok()?, params["capabilities"].clone()));
        }
        let meta = &params["_meta"];
        let version = meta[PROTOCOL_VERSION].as_str()?;
        Some((version.parse().ok()?, meta[CAPABILITIES].clone()))
    });
    clients.next()
}

/// Returns the code for one exchange. `capabilities` are those of the scripted client.
fn exchange_code(record: &Record, exchange: &RecordedExchange, capabilities: &Value) -> String {
    let request = &exchange.request.body;
    // It is in a comment of one line.
    let title = plain_text(&description(request)).replace('\n', " ");
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
    let params = json_code(&Value::Object(params));
    let mut code = format!("\n    // {title}\n    let ");
    if has_state {
        let _ = write!(
            code,
            "mut params = {params};\n    \
             params[\"requestState\"] = result[\"requestState\"].clone();\n    let "
        );
    } else {
        let _ = write!(code, "params = {params};\n    let ");
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
            let progress = json_code(&message.body["params"]["progress"]);
            format!(
                "    let progress = client.expect_notification({name:?}).await;\n    \
                 assert_eq!(progress.params[\"progress\"], {progress});\n"
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
            let result = json_code(result);
            format!(
                "    let asked = client.expect({name:?}).await;\n    \
                 client.respond(&asked, {result}).await;\n"
            )
        }
        _ => String::new(),
    }
}

fn assertions(variable: &str, members: &Map<String, Value>) -> String {
    let mut code = String::new();
    for (name, value) in members {
        if !VARIABLE.contains(&name.as_str()) && !is_redacted(&value.to_string()) {
            let value = json_code(value);
            let _ = writeln!(code, "    assert_eq!({variable}[{name:?}], {value});");
        }
    }
    code
}

/// Returns the code for a value.
fn json_code(value: &Value) -> String {
    let text = value.to_string();
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && !text.contains("\"#") {
        format!("recorded_json(r#\"{text}\"#)")
    } else {
        format!("recorded_json({text:?})")
    }
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
            "let params = recorded_json(r#\"{\"name\":\"add\"}\"#);",
            "let asked = client.expect(\"roots/list\").await;",
            "client.respond(&asked, recorded_json(r#\"{\"roots\":[]}\"#)).await;",
            "assert_eq!(result[\"content\"], recorded_json(r#\"[]\"#));",
            "// tools/call login is left out, because a part of it was redacted.",
        ] {
            assert!(code.contains(line), "{line}\n{code}");
        }
        assert!(!code.contains("[\"_meta\"]"), "{code}");
    }

    /// Returns a connection of a client with this version, which calls a tool.
    fn connection(version: &str, tool: &str) -> Vec<(bool, Value)> {
        let initialize = json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}});
        let call = json!({"id": 2, "method": "tools/call", "params": {"name": tool}});
        vec![
            (true, initialize),
            (
                false,
                json!({"id": 1, "result": {"protocolVersion": version}}),
            ),
            (true, call),
            (false, json!({"id": 2, "result": {}})),
        ]
    }

    #[test]
    fn connection_with_an_unknown_version_is_left_out() {
        let version = "2025_11_25; std::process::abort()";
        assert_eq!(rust_test(&record(&connection(version, "add"))), START);
    }

    #[test]
    fn names_stay_in_their_comment() {
        let name = "a\r\nb\u{202e}c";
        let code = rust_test(&record(&connection("2025-11-25", name)));
        assert!(code.contains("    // tools/call a b"), "{code}");
        assert!(!code.contains('\u{202e}'), "{code}");
    }

    #[test]
    fn interleaved_connections_have_one_test_each() {
        let mut record = record(
            &[
                connection("2025-11-25", "add"),
                connection("2025-11-25", "sub"),
                connection("2025-11-25", "add"),
            ]
            .concat(),
        );
        for message in &mut record.messages[4..8] {
            message.connection = 2;
        }
        let code = rust_test(&record);
        for number in 1..=2 {
            let name = format!("fn recorded_connection_{number}()");
            assert_eq!(code.matches(&name).count(), 1, "{code}");
        }
    }

    #[test]
    fn every_json_is_a_valid_literal() {
        for (value, expected) in [
            (json!({"a": 1}), r##"recorded_json(r#"{"a":1}"#)"##),
            (json!("\u{1b}"), r##"recorded_json(r#""\u001b""#)"##),
            (json!("\u{202e}"), r#"recorded_json("\"\u{202e}\"")"#),
            // The raw literal would end in it.
            (json!("#"), r##"recorded_json("\"#\"")"##),
        ] {
            assert_eq!(json_code(&value), expected);
        }
    }
}
