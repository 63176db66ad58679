//! Control characters and invisible characters from a server never reach a terminal.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::client::{CommandOutput, run};

/// A control character, bidirectional controls, a zero-width space, and a tag.
const HIDDEN: [char; 6] = [
    '\u{7f}',
    '\u{9b}',
    '\u{202e}',
    '\u{2066}',
    '\u{200b}',
    '\u{e0041}',
];

fn hidden() -> String {
    HIDDEN.iter().collect()
}

/// Runs a command with a legacy server that sends these messages after the handshake, one for each line it reads.
async fn run_with_messages(arguments: &[&str], messages: &[Value]) -> CommandOutput {
    let handshake = [
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "?"}}),
        json!({"jsonrpc": "2.0", "id": 2, "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": hidden(), "version": hidden()},
        }}),
        // Read with the `initialized` notification of the client.
        Value::Null,
    ];
    let messages = handshake.iter().chain(messages);
    let script = r#"for message; do read line; [ "$message" = null ] || printf '%s\n' "$message"; done; cat > /dev/null"#;
    let mut command = vec!["--", "sh", "-c", script, "sh"];
    let messages: Vec<_> = messages.map(Value::to_string).collect();
    command.extend(messages.iter().map(String::as_str));
    run(&[arguments, &command].concat()).await
}

#[track_caller]
fn check_clean(text: &str) {
    assert!(!text.contains(HIDDEN), "{text:?}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[tokio::test]
async fn failure_has_no_hidden_characters() {
    let error = json!({"jsonrpc": "2.0", "id": 3, "error": {
        "code": -32602, "message": format!("\u{1b}[2J{}", hidden()), "data": {hidden(): hidden()},
    }});
    let text = run_with_messages(&["read", "a:b"], std::slice::from_ref(&error)).await;
    check_clean(&text.failed(4));
    let text = run_with_messages(&["read", "a:b", "--json"], std::slice::from_ref(&error)).await;
    let text = text.failed(4);
    check_clean(&text);
    let failure: Value = serde_json::from_str(&text).unwrap();
    // The JSON has the value that the server sent.
    assert_eq!(failure["error"]["rpc"], error["error"]);
}

#[tokio::test]
async fn error_output_of_a_server_has_no_hidden_characters() {
    let script = format!(
        "printf '%s\\n' '\u{1b}[2Jfirst{0}' '\u{1b}[2Jlast{0}' >&2; exit 1",
        hidden()
    );
    for arguments in [&["tools"][..], &["tools", "--json"], &["tools", "-v"]] {
        let command = [arguments, &["--", "sh", "-c", &script]].concat();
        let text = run(&command).await.failed(3);
        assert!(text.contains("last"), "{text:?}");
        check_clean(&text);
    }
}

#[tokio::test]
async fn names_and_descriptions_have_no_hidden_characters() {
    let tool = json!({
        "name": hidden(), "title": hidden(), "description": hidden(),
        "inputSchema": {"type": "object", "properties": {hidden(): {"description": hidden()}}},
    });
    let list = json!({"jsonrpc": "2.0", "id": 3, "result": {"tools": [tool]}});
    let ran = run_with_messages(&["tools"], std::slice::from_ref(&list)).await;
    check_clean(&ran.ok());
    let ran = run_with_messages(&["discover"], &[]).await;
    check_clean(&ran.ok());
    let ran = run_with_messages(&["tools", "--json", "-v"], std::slice::from_ref(&list)).await;
    check_clean(&ran.stderr);
    let text = ran.ok();
    check_clean(&text);
    let tools: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(tools, list["result"]["tools"]);
}

#[tokio::test]
async fn json_result_keeps_its_value() {
    let contents = json!({"contents": [{"uri": "a:b", "text": format!("a{}b\r\n", hidden())}]});
    let message = json!({"jsonrpc": "2.0", "id": 3, "result": contents});
    let ran = run_with_messages(&["read", "a:b", "--json"], std::slice::from_ref(&message)).await;
    check_clean(&ran.stdout);
    assert_eq!(ran.json(), contents);
    // A file or another program gets the content unchanged.
    let text = run_with_messages(&["read", "a:b"], std::slice::from_ref(&message)).await;
    assert_eq!(text.ok(), format!("a{}b\r\n", hidden()));
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[expect(deprecated, reason = "the command shows the log messages of servers")]
async fn progress_and_log_messages_have_no_hidden_characters() {
    use toolwire::{LoggingLevel, RawJson, RequestContext, Server, Tool, ToolHandler};

    use crate::client::small_server::SmallServer;
    use crate::client::terminal::run_at_terminal;
    use crate::process::toolwire;

    let tool = Tool::new("noisy", json!({"type": "object"}));
    let tool = ToolHandler::raw(tool, |ctx: RequestContext, _: RawJson| async move {
        ctx.report_steps(1, 1, Some(&format!("\u{1b}[2Jstep{}", hidden())));
        ctx.log(LoggingLevel::Error, format!("\u{1b}[2Jlogged{}", hidden()));
        "done"
    });
    let server = SmallServer::start(Server::new("small", "1").with_logging().tool(tool)).await;
    for era in ["modern", "legacy"] {
        let call = ["call", server.url(), "noisy", "--era", era];
        let command = toolwire(&[&call[..], &["--log-level", "debug"]].concat());
        let ran = run_at_terminal(command, &[]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for text in ["step", "logged"] {
            assert!(ran.shown.contains(text), "{era}: {ran:?}");
        }
        // The command erases its own line of progress.
        check_clean(&ran.shown.replace("\r\u{1b}[K", ""));
    }
}
