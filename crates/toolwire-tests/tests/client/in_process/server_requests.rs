//! Requests of legacy servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolwire::testing::{ScriptedServer, assert_text};
use toolwire::types::{
    CreateMessageResult, ElicitResult, ImageContent, Root, SamplingMessageContentBlock,
};
use toolwire::{ClientBuilder, ErrorObject, ProtocolVersion};

use super::{
    LEGACY, MODERN, builder, expect_call, form, legacy, outcome_of, spawn_call, spawn_tool_call,
    text,
};

const LEGACY_VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
];

fn ada() -> ElicitResult {
    ElicitResult::accept().with_content([("name", "Ada")])
}

/// Returns the builder of a client that handles all server requests.
fn interactive() -> ClientBuilder {
    builder()
        .on_elicitation(|_| async { Ok(ada()) })
        .on_sampling(|_| async {
            let hello = SamplingMessageContentBlock::text("hello");
            Ok(CreateMessageResult::new("model", hello))
        })
        .with_roots([Root::new("file:///project").with_name("project")])
}

fn message() -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
    json!({"messages": [message], "maxTokens": 10})
}

#[tokio::test]
async fn handlers_respond_in_every_legacy_version() {
    for version in LEGACY_VERSIONS {
        let (_client, mut server) = ScriptedServer::connect(interactive(), version).await;
        server.ask("r", "roots/list", json!({})).await;
        let roots = server.expect_response("r").await.expect("roots");
        assert_eq!(
            roots,
            json!({"roots": [{"uri": "file:///project", "name": "project"}]})
        );
        server.ask(7, "sampling/createMessage", message()).await;
        let sampled = server.expect_response(7).await.expect("a message");
        assert_eq!(sampled["content"], json!({"type": "text", "text": "hello"}));
        assert_eq!(sampled["role"], "assistant");

        server.ask(8, "elicitation/create", form()).await;
        let response = server.expect_response(8).await;
        if version >= ProtocolVersion::V2025_06_18 {
            assert_eq!(
                response.expect("a response"),
                json!({"action": "accept", "content": {"name": "Ada"}})
            );
        } else {
            assert_eq!(response.expect_err("unknown there")["code"], -32601);
        }
    }
}

#[tokio::test]
async fn ping_gets_a_response_and_unknown_methods_are_rejected() {
    let (client, mut server) = legacy().await;
    server.ask("p", "ping", json!({})).await;
    assert_eq!(server.expect_response("p").await, Ok(json!({})));
    for method in ["acme/question", "tools/list", "", "initialize"] {
        server.ask(1, method, json!({})).await;
        let error = server.expect_response(1).await.expect_err("unknown");
        assert_eq!(error["code"], -32601, "{method}");
    }
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn request_without_a_handler_is_rejected() {
    let (_client, mut server) = legacy().await;
    for (method, params) in [
        ("roots/list", json!({})),
        ("sampling/createMessage", message()),
        ("elicitation/create", form()),
    ] {
        server.ask(1, method, params).await;
        let error = server.expect_response(1).await.expect_err("no handler");
        assert_eq!(error["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn undeclared_elicitation_mode_is_an_invalid_parameter() {
    let url = json!({"mode": "url", "message": "Go there", "url": "https://example.com/", "elicitationId": "e"});
    let (_client, mut server) = ScriptedServer::connect(interactive(), LEGACY).await;
    server.ask(1, "elicitation/create", url.clone()).await;
    let error = server.expect_response(1).await.expect_err("not declared");
    assert_eq!(error["code"], -32602, "{error}");

    let only_url = builder().on_url_elicitation(|_| async { Ok(ElicitResult::accept()) });
    let (_client, mut server) = ScriptedServer::connect(only_url, LEGACY).await;
    server.ask(1, "elicitation/create", url).await;
    let response = server.expect_response(1).await;
    assert_eq!(response, Ok(json!({"action": "accept"})));
    server.ask(2, "elicitation/create", form()).await;
    let error = server.expect_response(2).await.expect_err("not declared");
    assert_eq!(error["code"], -32602, "{error}");
}

#[tokio::test]
async fn sampling_with_tools_is_rejected_if_not_declared() {
    let (_client, mut server) = ScriptedServer::connect(interactive(), LEGACY).await;
    let mut params = message();
    params["tools"] = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
    server.ask(1, "sampling/createMessage", params).await;
    let error = server.expect_response(1).await.expect_err("not declared");
    assert_eq!(error["code"], -32602, "{error}");
}

#[tokio::test]
async fn sampling_with_tools_is_rejected_before_2025_11_25() {
    let model = |_| async { Ok(CreateMessageResult::new("model", "hello")) };
    for version in LEGACY_VERSIONS {
        let client = builder().on_sampling_with_tools(model);
        let (_client, mut server) = ScriptedServer::connect(client, version).await;
        let mut request = message();
        request["tools"] = json!([]);
        server.ask(1, "sampling/createMessage", request).await;
        let response = server.expect_response(1).await;
        assert_eq!(response.is_ok(), version == LEGACY, "{version}");
    }
}

#[tokio::test]
async fn sampling_result_with_several_blocks_is_converted_to_the_version() {
    let image = || ImageContent::new("AAAA", "image/png");
    let text = SamplingMessageContentBlock::text;
    let check = async |blocks: Vec<SamplingMessageContentBlock>, before: Result<Value, &str>| {
        for version in LEGACY_VERSIONS {
            let blocks = blocks.clone();
            let sent = serde_json::to_value(&blocks).expect("JSON");
            let client = builder().on_sampling(move |_| {
                let response = CreateMessageResult::new("model", blocks.clone());
                async { Ok(response) }
            });
            let (_client, mut server) = ScriptedServer::connect(client, version).await;
            server.ask(1, "sampling/createMessage", message()).await;
            match (server.expect_response(1).await, &before) {
                (Ok(response), _) if version == LEGACY => assert_eq!(response["content"], sent),
                (Ok(response), Ok(expected)) => assert_eq!(response["content"], *expected),
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (response, _) => panic!("{version}: {response:?}"),
            }
        }
    };
    let merged = json!({"type": "text", "text": "one two"});
    check(vec![text("one "), text("two")], Ok(merged)).await;
    check(vec![text("look"), image().into()], Err("several")).await;
}

#[tokio::test]
async fn invalid_parameters_and_failed_handlers_get_error_responses() {
    let builder = builder()
        .on_elicitation(|_| async { panic!("a bug of the handler") })
        .on_sampling(|_| async { Err(ErrorObject::new(-1, "the user said no")) });
    let (client, mut server) = ScriptedServer::connect(builder, LEGACY).await;
    server
        .ask(1, "sampling/createMessage", json!({"messages": 3}))
        .await;
    let error = server
        .expect_response(1)
        .await
        .expect_err("invalid parameters");
    assert_eq!(error["code"], -32602);
    server.ask(2, "sampling/createMessage", message()).await;
    let error = server
        .expect_response(2)
        .await
        .expect_err("an error of the handler");
    assert_eq!(error, json!({"code": -1, "message": "the user said no"}));
    server.ask(3, "elicitation/create", form()).await;
    let error = server.expect_response(3).await.expect_err("a panic");
    assert_eq!(error["code"], -32603);
    assert_eq!(client.pending_operations(), 0);
    server.ask(4, "ping", json!({})).await;
    assert_eq!(server.expect_response(4).await, Ok(json!({})));
}

#[tokio::test]
async fn request_with_a_number_out_of_range_is_ignored() {
    let (client, mut server) = ScriptedServer::connect(interactive(), LEGACY).await;
    // The number exceeds every type, so the strict parser rejects the message and the client sends no response.
    for method in ["elicitation/create", "sampling/createMessage", "roots/list"] {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":"q","method":"{method}","params":{{"_meta":{{"x":1e999}},"y":1e999}}}}"#
        );
        server.send(request).await;
        server.ask("p", "ping", json!({})).await;
        assert_eq!(server.expect_response("p").await, Ok(json!({})), "{method}");
    }
    let call = spawn_call(client.call_tool("quick", json!({})));
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("still here")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "still here");
}

#[tokio::test]
async fn sixty_fifth_concurrent_server_request_is_rejected() {
    let handled = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new(Semaphore::new(0));
    let builder = {
        let (handled, gate) = (Arc::clone(&handled), Arc::clone(&gate));
        builder().on_elicitation(move |_| {
            handled.fetch_add(1, Ordering::SeqCst);
            let gate = Arc::clone(&gate);
            async move {
                let permit = gate.acquire().await.expect("never closed");
                permit.forget();
                Ok(ada())
            }
        })
    };
    let (client, mut server) = ScriptedServer::connect(builder, LEGACY).await;
    for id in 0..64 {
        server.ask(id, "elicitation/create", form()).await;
    }
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 64);
    server.ask("more", "elicitation/create", form()).await;
    let error = server.expect_response("more").await.expect_err("too many");
    assert_eq!(error["code"], -32603, "{error}");
    assert_eq!(handled.load(Ordering::SeqCst), 64);
    // Calls and pings do not wait for the running requests.
    server.ask("p", "ping", json!({})).await;
    assert_eq!(server.expect_response("p").await, Ok(json!({})));
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "quick");
    // A completed request makes room for another.
    gate.add_permits(1);
    server.receive().await;
    server.ask("again", "elicitation/create", form()).await;
    server.expect_silence().await;
    gate.add_permits(64);
    for _ in 0..64 {
        assert_eq!(server.receive().await["result"]["action"], "accept");
    }
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn cancelled_server_request_gets_no_response() {
    let (dropped, mut drops) = tokio::sync::mpsc::channel::<()>(1);
    let builder = builder().on_elicitation(move |_| {
        let dropped = dropped.clone();
        async move {
            let _until_dropped = dropped;
            std::future::pending().await
        }
    });
    let (client, mut server) = ScriptedServer::connect(builder, LEGACY).await;
    server.ask("q", "elicitation/create", form()).await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 1);
    // A cancellation with another id is ignored.
    server
        .notify("notifications/cancelled", json!({"requestId": "other"}))
        .await;
    server.notify("notifications/cancelled", json!({})).await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 1);
    server
        .notify("notifications/cancelled", json!({"requestId": "q"}))
        .await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
    assert!(drops.try_recv().is_err());
    server.ask("p", "ping", json!({})).await;
    assert_eq!(server.expect_response("p").await, Ok(json!({})));
}

#[tokio::test]
async fn running_server_requests_end_with_the_connection() {
    let (running, mut runs) = tokio::sync::mpsc::channel::<()>(1);
    let running = std::sync::Mutex::new(Some(running));
    let builder = builder().on_elicitation(move |_| {
        let running = running.lock().expect("no panic").take();
        async move {
            let _until_dropped = running;
            std::future::pending().await
        }
    });
    let (client, mut server) = ScriptedServer::connect(builder, LEGACY).await;
    server.ask("q", "elicitation/create", form()).await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 1);
    server.disconnect();
    assert_eq!(toolwire_tests::peer::within(runs.recv()).await, None);
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn server_request_with_a_duplicate_id_does_not_replace_the_first() {
    let gate = Arc::new(Semaphore::new(0));
    let builder = {
        let gate = Arc::clone(&gate);
        builder().on_elicitation(move |_| {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.expect("never closed").forget();
                Ok(ada())
            }
        })
    };
    let (client, mut server) = ScriptedServer::connect(builder, LEGACY).await;
    server.ask("q", "elicitation/create", form()).await;
    server.ask("q", "elicitation/create", form()).await;
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    gate.add_permits(2);
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.pending_operations(), 0);
    server.disconnect();
}

#[tokio::test]
async fn changed_roots_are_sent_to_legacy_servers_only() {
    for version in [LEGACY, MODERN] {
        let (client, mut server) = ScriptedServer::connect(interactive(), version).await;
        client
            .set_roots([Root::new("file:///other")])
            .await
            .expect("a sent notification");
        if version == LEGACY {
            server
                .expect_notification("notifications/roots/list_changed")
                .await;
            server.ask(1, "roots/list", json!({})).await;
            let roots = server.expect_response(1).await.expect("roots");
            assert_eq!(roots, json!({"roots": [{"uri": "file:///other"}]}));
        }
        server.expect_silence().await;
    }
    let (client, _server) = legacy().await;
    let error = client.set_roots([]).await.expect_err("no roots");
    assert!(error.to_string().contains("with_roots"), "{error}");
}
