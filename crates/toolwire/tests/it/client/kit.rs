//! The testing kit itself.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::testing::{ScriptedClient, ScriptedServer, client, snapshot};
use toolwire::{PromptHandler, ProtocolVersion, ResourceHandler, Server};

use super::{LEGACY, MODERN, builder, calling, modern};
use crate::peer::plain;

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
async fn a_scripted_client_speaks_every_revision() {
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
async fn a_scripted_client_answers_questions() {
    let capabilities = json!({"roots": {}});
    let mut client = ScriptedClient::with_version(&server(), LEGACY, capabilities).await;
    let id = client.request("tools/call", json!({"name": "ask"})).await;
    let question = client.expect("roots/list").await;
    client
        .respond(&question, json!({"roots": [{"uri": "file:///a"}]}))
        .await;
    let result = client.expect_response(id).await.expect("a result");
    assert_eq!(result["content"][0]["text"], "1 roots");
}

#[tokio::test]
async fn a_snapshot_is_everything_a_server_offers_and_the_same_each_time() {
    let server = server()
        .prompt(PromptHandler::new("greet", |_, _| async { "hi" }))
        .resource(ResourceHandler::new("test://a", "a", |_, _| async {
            "content"
        }));
    let taken = snapshot(&server).await;
    assert_eq!(taken, snapshot(&server).await);
    let value: Value = serde_json::from_str(&taken).expect("JSON");
    assert_eq!(value["instructions"], "Ask.");
    assert_eq!(value["tools"][0]["inputSchema"]["type"], "object");
    assert_eq!(value["prompts"][0]["name"], "greet");
    assert_eq!(value["resources"][0]["uri"], "test://a");
    assert_eq!(value["resourceTemplates"], json!([]));
    assert!(value["capabilities"]["tools"].is_object());
    assert!(!taken.contains("1.2.3"), "a release alone changes nothing");

    server.remove_tool("ask");
    assert_ne!(taken, snapshot(&server).await);
}

#[tokio::test]
async fn a_snapshot_of_a_server_that_offers_nothing_is_short() {
    let taken = snapshot(&Server::new("empty", "1.0.0")).await;
    let value: Value = serde_json::from_str(&taken).expect("JSON");
    assert_eq!(value.get("tools"), None, "{taken}");
}

/// Runs a script that must fail, and returns what it says.
async fn failure(script: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(script)
        .await
        .expect_err("the script fails")
        .into_panic();
    *panic.downcast::<String>().expect("a formatted message")
}

#[tokio::test(start_paused = true)]
async fn a_script_that_is_not_followed_says_where_and_what_came_instead() {
    let message = failure(async {
        let (client, mut server) = modern().await;
        let _call = calling(&client, "quick");
        server.expect("prompts/get").await;
    })
    .await;
    assert!(
        message.contains("prompts/get") && message.contains("kit.rs"),
        "{message}"
    );
    assert!(message.contains("\"tools/call\""), "{message}");

    let message = failure(async {
        let (client, mut server) = modern().await;
        let _call = calling(&client, "quick");
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
async fn a_script_waits_ten_seconds_unless_told_otherwise() {
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
async fn a_client_in_one_line_speaks_the_newest_common_revision() {
    assert_eq!(client(&server()).await.version(), MODERN);
    let old = server().with_versions([ProtocolVersion::V2025_03_26]);
    assert_eq!(client(&old).await.version(), ProtocolVersion::V2025_03_26);
    let message = failure(async {
        let none = Server::new("demo", "1.0.0").with_versions([LEGACY]);
        toolwire::testing::client_with_version(&none, MODERN).await;
    })
    .await;
    assert!(message.contains("cannot connect"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fails_to_connect_fails_the_script() {
    let message = failure(async {
        let only = builder().with_versions([LEGACY]);
        ScriptedServer::connect(only, MODERN).await;
    })
    .await;
    assert!(message.contains("server/discover"), "{message}");
}
