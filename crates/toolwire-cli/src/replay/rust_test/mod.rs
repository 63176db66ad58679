//! Writes a record as Rust tests on `toolwire::testing::ScriptedClient`.

mod assertions;
mod exchange_code;
mod variables;

use serde_json::Value;
use toolwire::ProtocolVersion;

use crate::record::Record;
use crate::replay::exchanges::{Exchanges, MessageKind, RecordedExchange, kind};
use crate::replay::rust_test::assertions::json_code;
use crate::replay::rust_test::exchange_code::{CAPABILITIES, ClientResponses, ConnectionCode};

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Requests that the scripted client sends itself, or that depend on the client only.
const HANDSHAKE: [&str; 2] = ["initialize", "server/discover"];

/// The start of the code. The JSON of a record is in string literals, because not all JSON is valid in `json!`.
const START: &str = r#"// Written by `toolwire replay --test`. Define `fn server() -> toolwire::Server` in this module.

fn recorded_json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("the record has valid JSON")
}
"#;

/// Returns Rust code with one test per connection. The code expects a function `server` that returns the server.
pub(crate) fn rust_test(record: &Record) -> String {
    let mut code = START.to_owned();
    let exchanges = Exchanges::of(record);
    let responses = client_responses(record);
    for connection in exchanges.connections() {
        let own = exchanges.all.iter();
        let own = own.filter(|exchange| exchange.connection == connection);
        code += &connection_test(connection, &own.collect::<Vec<_>>(), &responses);
    }
    code
}

fn client_responses(record: &Record) -> ClientResponses<'_> {
    let sent = record.messages.iter().filter(|message| message.is_sent);
    let responses = sent.filter(|message| kind(&message.body) == MessageKind::Response);
    responses
        .map(|message| {
            let key = (message.connection, message.body["id"].to_string());
            (key, &message.body)
        })
        .collect()
}

fn connection_test(
    connection: u64,
    exchanges: &[&RecordedExchange],
    responses: &ClientResponses<'_>,
) -> String {
    let requests = exchanges.iter();
    let requests = requests.filter(|exchange| !HANDSHAKE.contains(&exchange.method()));
    let requests: Vec<&RecordedExchange> = requests.copied().collect();
    let Some((version, capabilities)) = client_of(exchanges).filter(|_| !requests.is_empty())
    else {
        return String::new();
    };
    let value = json_code(&capabilities);
    let mut code = format!(
        "\n#[tokio::test]\nasync fn recorded_connection_{connection}() {{\n    \
         let version = toolwire::ProtocolVersion::{version:?};\n    \
         let capabilities = {value};\n    \
         let mut client =\n        toolwire::testing::ScriptedClient::with_version(&server(), version, capabilities).await;\n"
    );
    let mut writer = ConnectionCode::new(&capabilities, responses, &requests);
    for exchange in requests {
        code += &writer.exchange(exchange);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        assert!(code.contains("    // tools/call a\u{fffd}b"), "{code}");
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

    /// Returns a client of 2025-11-25 with these messages after the handshake.
    fn client_with(messages: &[(bool, Value)]) -> Record {
        let mut all = connection("2025-11-25", "first");
        all.extend_from_slice(messages);
        record(&all)
    }

    #[test]
    fn value_of_the_server_is_a_variable() {
        let create =
            json!({"id": 3, "method": "tools/call", "params": {"name": "bake", "task": {}}});
        let task = json!({"taskId": "t-1", "status": "working"});
        let get = |id: i64| json!({"id": id, "method": "tasks/get", "params": {"taskId": "t-1"}});
        let record = client_with(&[
            (true, create),
            (false, json!({"id": 3, "result": {"task": task}})),
            (true, get(4)),
            (false, json!({"id": 4, "result": task})),
            (true, get(5)),
            (
                false,
                json!({"id": 5, "result": {"taskId": "t-1", "status": "completed"}}),
            ),
        ]);
        let code = rust_test(&record);
        for line in [
            "    let task_id_1 = result[\"task\"][\"taskId\"].clone();",
            "    // tasks/get is left out, because the task was still working.",
            "    let mut params = recorded_json(r#\"{}\"#);\n    params[\"taskId\"] = task_id_1.clone();",
            "    let outcome = loop {\n        let id = client.request(\"tasks/get\", params.clone()).await;\n",
            "assert_eq!(result[\"status\"], recorded_json(r#\"\"completed\"\"#));",
        ] {
            assert!(code.contains(line), "{line}\n{code}");
        }
        assert!(!code.contains("t-1"), "{code}");
    }

    #[test]
    fn request_with_an_unknown_state_is_left_out() {
        let state = "[redacted 9 bytes sha256:aaaa]";
        let call = |id: i64, params: Value| {
            (
                true,
                json!({"id": id, "method": "tools/call", "params": params}),
            )
        };
        let asked =
            |id: i64, state: &str| (false, json!({"id": id, "result": {"requestState": state}}));
        let record = client_with(&[
            call(3, json!({"name": "a", "requestState": state})),
            asked(3, "[redacted 9 bytes sha256:bbbb]"),
            call(
                4,
                json!({"name": "b", "requestState": "[redacted 9 bytes sha256:bbbb]"}),
            ),
            asked(4, state),
            call(5, json!({"name": "c"})),
            asked(5, "[redacted 9 bytes sha256:cccc]"),
            call(
                6,
                json!({"name": "d", "requestState": "[redacted 9 bytes sha256:cccc]"}),
            ),
            asked(6, state),
        ]);
        let code = rust_test(&record);
        for line in [
            "// tools/call a is left out, because it continues a request that is left out.",
            "// tools/call b is left out, because it continues a request that is left out.",
            "= result[\"requestState\"].clone();",
            "    params[\"requestState\"] = state_",
        ] {
            assert_eq!(code.matches(line).count(), 1, "{line}\n{code}");
        }
    }
}
