//! A call waits for input when its relay is restarted, or when its next round reaches another node.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::http::HttpDemo;
use crate::nodes::{KeyFile, RoundRobin};
use crate::process::{Era, toolwire};
use crate::proxy_kills::kill;
use crate::proxy_kills::servers::Servers;

/// Starts a call at one relay, kills the relay, and continues the call at another one. Returns the last response.
async fn continue_call(server: Era, relay: impl Fn(&Servers) -> Command) -> (Servers, Value) {
    let servers = Servers::new(server);
    let mut call = Era::Modern.call(1, "approve", json!({"question": "Go?"}));
    let first = HttpDemo::start_command(relay(&servers)).await;
    let required = send(&first, &call).await;
    assert_eq!(
        required["result"]["resultType"], "input_required",
        "{required}"
    );
    let requests = required["result"]["inputRequests"].as_object();
    let key = requests.and_then(|requests| requests.keys().next());
    let key = key.expect("it asks for input");
    let accepted = json!({"action": "accept", "content": {"confirmed": true}});
    call["params"]["inputResponses"] = json!({ key: accepted });
    call["params"]["requestState"] = required["result"]["requestState"].clone();
    kill(first.process_id());
    servers.expect_none().await;
    let second = HttpDemo::start_command(relay(&servers)).await;
    let last = send(&second, &call).await;
    kill(second.process_id());
    servers.expect_none().await;
    (servers, last)
}

async fn send(relay: &HttpDemo, call: &Value) -> Value {
    let mut client = RoundRobin::connect(std::slice::from_ref(relay), 0).await;
    let response = client.send(&call.to_string()).await;
    serde_json::from_str(&response).expect("a response is JSON")
}

fn proxy(servers: &Servers, options: &[&str]) -> Command {
    let mut command = toolwire(&["proxy", "--listen", "127.0.0.1:0"]);
    command.args(options).arg("--").args(servers.command());
    command
}

fn gateway(servers: &Servers, options: &[&str]) -> Command {
    let command = servers.command();
    let config =
        format!("listen = \"127.0.0.1:0\"\n[upstream.demo]\nflat = true\ncommand = {command:?}\n");
    let path = servers.write("gateway.toml", &config);
    let mut command = toolwire(&["gateway", "--config", &path]);
    command.args(options);
    command
}

#[tokio::test]
async fn call_that_waited_in_a_legacy_server_is_a_tool_error_and_does_not_run_again() {
    let key = KeyFile::new("restarted-relay", &[7; 32]);
    let options = ["--state-key", key.path()];
    for relay in [proxy, gateway] {
        let (servers, last) = continue_call(Era::Legacy, |servers| relay(servers, &options)).await;
        assert_eq!(last["result"]["isError"], true, "{last}");
        let text = last["result"]["content"][0]["text"].as_str();
        let text = text.expect("the error has a text");
        assert!(text.contains("The call was not repeated"), "{text}");
        assert_eq!(servers.calls(), 1);
    }
}

#[tokio::test]
async fn call_of_a_modern_server_continues_at_another_proxy() {
    let key = KeyFile::new("other-proxy", &[7; 32]);
    let server = HttpDemo::start(&[]).await;
    let (_servers, last) = continue_call(Era::Modern, |_| {
        let mut command = toolwire(&["proxy", "--listen", "127.0.0.1:0", &server.url()]);
        command.args(["--state-key", key.path()]);
        command
    })
    .await;
    let text = &last["result"]["content"][0]["text"];
    assert_eq!(text, "approved", "{last}");
}

#[tokio::test]
async fn state_of_a_relay_with_another_key_is_rejected() {
    for relay in [proxy, gateway] {
        let (servers, last) = continue_call(Era::Legacy, |servers| relay(servers, &[])).await;
        assert_eq!(last["error"]["code"], -32602, "{last}");
        assert_eq!(servers.calls(), 1);
    }
}
