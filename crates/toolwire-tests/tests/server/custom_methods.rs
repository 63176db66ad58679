//! Methods the protocol does not define.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::{ErrorObject, RequestContext, Server, ToolError};
use toolwire_tests::peer::{Peer, complete, legacy, modern, result_response, server};

#[derive(Deserialize)]
struct Repeat {
    word: String,
    times: usize,
}

fn repeating(server: Server) -> Server {
    server.method(
        "com.example/repeat",
        |ctx: RequestContext, params: Repeat| async move {
            if params.times > 3 {
                return Err(ToolError::rpc(ErrorObject::new(9, "too often")));
            }
            ctx.report_progress(1.0, None, None);
            Ok(json!({"text": params.word.repeat(params.times), "version": ctx.version().as_str()}))
        },
    )
}

#[tokio::test]
async fn custom_methods_are_served_in_every_version() {
    let mut peer = Peer::connect(&repeating(server()));
    let params = json!({"word": "ab", "times": 2});
    peer.send(modern(1, "com.example/repeat", params.clone()))
        .await;
    let result = json!({"text": "abab", "version": "2026-07-28"});
    peer.expect(complete(1, result)).await;
    peer.initialize("2025-03-26").await;
    peer.send(legacy(2, "com.example/repeat", params)).await;
    let result = json!({"text": "abab", "version": "2025-03-26"});
    peer.expect(result_response(2, result)).await;
}

#[tokio::test]
async fn custom_results_carry_server_info() {
    let mut peer = Peer::connect(&repeating(Server::new("wire", "1.0.0")));
    let params = json!({"word": "a", "times": 1});
    let result = peer
        .result_of(modern(1, "com.example/repeat", params))
        .await;
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"],
        json!({"name": "wire", "version": "1.0.0"})
    );
}

#[tokio::test]
async fn custom_method_errors_reach_the_client() {
    let failing = repeating(server())
        .method("com.example/fail", |_, _: Value| async {
            Err::<Value, _>(ToolError::failed("no"))
        })
        .method("com.example/panic", |_, _: Value| async {
            if true {
                panic!("a secret path");
            }
            Ok::<_, ToolError>(json!({}))
        });
    let mut peer = Peer::connect(&failing);
    let mut check = async |method: &str, params: Value, code: i64| {
        let error = peer.error_of(modern(1, method, params), code).await;
        error["message"].as_str().unwrap_or_default().to_owned()
    };
    check("com.example/repeat", json!({}), -32602).await;
    let many = json!({"word": "a", "times": 4});
    assert_eq!(check("com.example/repeat", many, 9).await, "too often");
    assert_eq!(check("com.example/fail", json!({}), -32603).await, "no");
    let message = check("com.example/panic", json!({}), -32603).await;
    assert!(!message.contains("secret"), "{message}");
    check("com.example/unknown", json!({}), -32601).await;
}

#[tokio::test]
async fn custom_methods_report_progress() {
    let mut peer = Peer::connect(&repeating(server()));
    let params = json!({"word": "a", "times": 1, "_meta": {"progressToken": "t"}});
    peer.send(modern(1, "com.example/repeat", params)).await;
    assert_eq!(peer.receive().await["method"], "notifications/progress");
    assert_eq!(peer.receive().await["id"], 1);
}

#[test]
#[should_panic(expected = "method `tools/call` is defined by the protocol")]
fn protocol_method_cannot_be_registered() {
    let _ = server().method("tools/call", |_, _: Value| async {
        Ok::<_, ToolError>(json!({}))
    });
}

#[test]
#[should_panic(expected = "com.example/repeat")]
fn method_cannot_be_registered_twice() {
    let _ = repeating(repeating(server()));
}
