//! The module `toolwire::testing`.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::testing::{ScriptedClient, ScriptedServer, client, snapshot};
use toolwire::{PromptHandler, ProtocolVersion, ResourceHandler, Server};
use toolwire_tests::peer::plain;

use super::{LEGACY, MODERN, builder, modern, spawn_tool_call};

fn server() -> Server {
    let ask = plain("ask", |ctx| async move {
        match ctx.list_roots().await {
            Ok(roots) => format!("{} roots", roots.roots.len()),
            Err(error) => error.to_string(),
        }
    });
    Server::new("demo", "1.2.3")
        .with_instructions("Ask.")
        .tool(ask)
}

#[tokio::test]
async fn scripted_client_supports_every_version() {
    for version in [ProtocolVersion::V2024_11_05, LEGACY, MODERN] {
        let mut client = ScriptedClient::with_version(&server(), version, json!({})).await;
        let result = client.call("tools/list", json!({})).await.expect("a list");
        assert_eq!(result["tools"][0]["name"], "ask");
        let error = client
            .call("acme/none", json!({}))
            .await
            .expect_err("unknown");
        assert_eq!(error["code"], -32601);
    }
}

#[tokio::test]
async fn scripted_client_responds_to_server_requests() {
    let capabilities = json!({"roots": {}});
    let mut client = ScriptedClient::with_version(&server(), LEGACY, capabilities).await;
    let id = client.request("tools/call", json!({"name": "ask"})).await;
    let request = client.expect("roots/list").await;
    client
        .respond(&request, json!({"roots": [{"uri": "file:///a"}]}))
        .await;
    let result = client.expect_response(id).await.expect("a result");
    assert_eq!(result["content"][0]["text"], "1 roots");
}

#[tokio::test]
async fn snapshot_lists_all_server_features_and_is_deterministic() {
    let server = server()
        .prompt(PromptHandler::new("greet", |_, _| async { "hi" }))
        .resource(ResourceHandler::new("test://a", "a", |_, _| async {
            "content"
        }));
    let first = snapshot(&server).await;
    assert_eq!(first, snapshot(&server).await);
    let value: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(value["instructions"], "Ask.");
    assert_eq!(value["tools"][0]["inputSchema"]["type"], "object");
    assert_eq!(value["prompts"][0]["name"], "greet");
    assert_eq!(value["resources"][0]["uri"], "test://a");
    assert_eq!(value["resourceTemplates"], json!([]));
    assert!(value["capabilities"]["tools"].is_object());
    assert!(
        !first.contains("1.2.3"),
        "the version is not in the snapshot"
    );

    server.remove_tool("ask");
    assert_ne!(first, snapshot(&server).await);
}

#[tokio::test]
async fn snapshot_of_an_empty_server_has_no_tools() {
    let first = snapshot(&Server::new("empty", "1.0.0")).await;
    let value: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(value.get("tools"), None, "{first}");
}

/// Runs a script that must panic, and returns the message.
async fn failure(script: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(script)
        .await
        .expect_err("a panic")
        .into_panic();
    *panic.downcast::<String>().expect("a formatted message")
}

#[tokio::test(start_paused = true)]
async fn failed_expectation_names_its_location_and_the_received_message() {
    let message = failure(async {
        let (client, mut server) = modern().await;
        let _call = spawn_tool_call(&client, "quick");
        server.expect("prompts/get").await;
    })
    .await;
    assert!(
        message.contains("prompts/get") && message.contains("testing.rs"),
        "{message}"
    );
    assert!(message.contains("\"tools/call\""), "{message}");

    let message = failure(async {
        let (client, mut server) = modern().await;
        let _call = spawn_tool_call(&client, "quick");
        server.expect_silence().await;
    })
    .await;
    assert!(message.contains("expected silence"), "{message}");

    let message = failure(async {
        let (client, mut server) = modern().await;
        drop(client);
        server.receive().await;
    })
    .await;
    assert!(message.contains("disconnected"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn scripted_server_times_out_after_ten_seconds_by_default() {
    let start = tokio::time::Instant::now();
    let message = failure(async {
        let (_client, mut server) = modern().await;
        server.receive().await;
    })
    .await;
    assert!(message.contains("10s"), "{message}");
    assert_eq!(start.elapsed().as_secs(), 10);
    let message = failure(async {
        let (_client, server) = modern().await;
        server.with_timeout(Duration::from_secs(3)).receive().await;
    })
    .await;
    assert!(message.contains("3s"), "{message}");
    let message = failure(async {
        let (_client, mut server) = modern().await;
        server.accept().await;
    })
    .await;
    assert!(message.contains("did not connect"), "{message}");
}

#[tokio::test]
async fn testing_client_uses_the_newest_common_version() {
    assert_eq!(client(&server()).await.version(), MODERN);
    let old = server().with_versions([ProtocolVersion::V2025_03_26]);
    assert_eq!(client(&old).await.version(), ProtocolVersion::V2025_03_26);
    let message = failure(async {
        let legacy_only = Server::new("demo", "1.0.0").with_versions([LEGACY]);
        toolwire::testing::client_with_version(&legacy_only, MODERN).await;
    })
    .await;
    assert!(message.contains("cannot connect"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn failed_connection_fails_the_script() {
    let message = failure(async {
        let only = builder().with_versions([LEGACY]);
        ScriptedServer::connect(only, MODERN).await;
    })
    .await;
    assert!(message.contains("server/discover"), "{message}");
}
