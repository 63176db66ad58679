//! Responses of servers that violate the protocol, in event streams and in JSON.

use serde_json::{Value, json};
use toolwire::{CallToolResult, Client, Error, ProtocolVersion};
use toolwire_tests::peer::within;

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{RecordedRequest, Reply, event, modern};

async fn call(client: &Client) -> Result<CallToolResult, Error> {
    within(client.call_tool("act", json!({})).into_future()).await
}

/// Returns the outcome of a call to a modern server that sends this response.
async fn outcome(
    reply: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static,
) -> (Result<CallToolResult, Error>, Client) {
    let server = Double::new(move |request| match request.method() {
        "tools/call" => reply(request),
        _ => modern(request),
    });
    let client = within(server.connect()).await.expect("a connection");
    (call(&client).await, client)
}

fn is_done(outcome: Result<CallToolResult, Error>) {
    let result = outcome.expect("a result");
    assert_eq!(result.content[0].as_text(), Some("done"));
}

#[tokio::test]
async fn invalid_messages_before_the_response_are_ignored() {
    let server = Fake::start(|request| match request.method() {
        "tools/call" => {
            let junk = "data: <html>not a message</html>\n\n".repeat(50_000);
            Reply::events(junk + &event(request.result(request.done())))
        }
        _ => modern(request),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    is_done(call(&client).await);
    assert_eq!(client.ignored_messages(), 50_000);
    client.close().await;
}

#[tokio::test]
async fn every_valid_event_stream_syntax_is_read() {
    let check = async |encode: fn(String) -> String| {
        for byte_by_byte in [false, true] {
            let (outcome, client) = outcome(move |request| {
                let reply = Reply::events(encode(request.result(request.done())));
                if byte_by_byte {
                    reply.byte_by_byte()
                } else {
                    reply
                }
            })
            .await;
            is_done(outcome);
            assert_eq!(client.ignored_messages(), 0);
        }
    };
    check(|response| format!("data: {response}\n\n")).await;
    check(|response| format!("data: {response}\r\n\r\n")).await;
    check(|response| format!("data: {response}\r\r")).await;
    check(|response| format!(": hello\r\nid: 7\rdata: {response}\n\r\n")).await;
    check(|response| format!("data:{response}\n\n")).await;
    check(|response| format!(":\n\n: only a comment\n\ndata: {response}\n\n")).await;
    check(|response| format!("\u{feff}data: {response}\n\n")).await;
    check(|response| {
        format!("event: message\nid: 1\nretry: 5\nfoo: bar\nnothing\ndata: {response}\n\n")
    })
    .await;
    // A message on several lines. They are joined with line feeds, which JSON ignores.
    check(|response| {
        format!(
            "data: {}\n\n",
            response.replace(",\"", "\ndata: ,\ndata:\"")
        )
    })
    .await;
    check(|response| format!("data\ndata: {response}\ndata\n\n")).await;
}

#[tokio::test]
async fn event_without_a_blank_line_is_ignored() {
    let (outcome, _) =
        outcome(|request| Reply::events(format!("data: {}\n", request.result(request.done()))))
            .await;
    assert!(outcome.unwrap_err().is_closed());
}

#[tokio::test]
async fn response_id_as_a_string_matches_a_number() {
    let (outcome, _) = outcome(|request| {
        let id = request.body["id"].to_string();
        let response = json!({"jsonrpc": "2.0", "id": id, "result": request.done()});
        Reply::json(200, response.to_string())
    })
    .await;
    is_done(outcome);
}

#[tokio::test]
async fn responses_with_another_id_and_second_responses_are_ignored() {
    let (outcome, client) = outcome(|request| {
        let mut wrong = request.done();
        wrong["content"][0]["text"] = json!("wrong");
        let response = |id: Value, result: &Value| {
            event(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
        };
        let id = request.body["id"].as_i64().unwrap();
        let other_ids = [
            json!(id + 1),
            json!("x"),
            json!(f64::from(3) + 0.5),
            Value::Null,
        ];
        let mut stream: String = other_ids
            .into_iter()
            .map(|id| response(id, &wrong))
            .collect();
        stream += &response(json!(id), &request.done());
        stream += &response(json!(id), &wrong);
        Reply::events(stream)
    })
    .await;
    is_done(outcome);
    // Only messages before the response are counted. The client does not parse messages after it.
    assert_eq!(client.ignored_messages(), 4);
    is_done(call(&client).await);
}

#[tokio::test]
async fn unknown_result_type_is_a_protocol_violation() {
    let check = async |kind: Value, is_valid: bool| {
        let (outcome, _) = outcome(move |request| {
            let mut result = request.done();
            match &kind {
                Value::Null => drop(result.as_object_mut().unwrap().remove("resultType")),
                kind => result["resultType"] = kind.clone(),
            }
            request.respond(result)
        })
        .await;
        if is_valid {
            is_done(outcome);
        } else {
            assert!(outcome.unwrap_err().is_protocol_violation());
        }
    };
    check(json!("complete"), true).await;
    check(Value::Null, true).await;
    check(json!("surprise"), false).await;
    check(json!(7), false).await;
}

#[tokio::test]
async fn request_of_a_modern_server_gets_no_response() {
    let server_requests = |id: i64| {
        event(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string())
            + &event(json!({"jsonrpc": "2.0", "id": id + 1, "method": "roots/list"}).to_string())
    };
    let server = Double::new(move |request| match request.method() {
        "server/discover" => {
            let response = request.result(super::script::discovered());
            Reply::events(server_requests(1) + &event(response))
        }
        "tools/call" => Reply::events(server_requests(3) + &event(request.result(request.done()))),
        _ => modern(request),
    });
    let client = within(server.connect()).await.unwrap();
    is_done(call(&client).await);
    is_done(call(&client).await);
    let all = server.record.all();
    let responses: Vec<_> = all
        .iter()
        .filter(|request| request.method().is_empty())
        .collect();
    assert!(responses.is_empty(), "{responses:?}");
    assert_eq!(client.ignored_messages(), 6);
}

#[tokio::test]
async fn error_for_an_unexpected_response_names_status_and_content_type() {
    let check = async |reply: fn() -> Reply, expected: &[&str]| {
        let (outcome, _) = outcome(move |_| reply()).await;
        let error = outcome.unwrap_err();
        assert!(error.is_protocol_violation(), "{error:?}");
        let text = error.to_string();
        for part in expected {
            assert!(text.contains(part), "{text:?} contains {part}");
        }
    };
    let html = || {
        Reply::status(200)
            .with_header("content-type", "text/html")
            .with("<p>hello")
            .left_open()
    };
    check(html, &["200", "text/html"]).await;
    check(|| Reply::status(200), &["200", "no content type"]).await;
    check(|| Reply::json(200, ""), &["response"]).await;
    check(|| Reply::status(202), &["202"]).await;
    check(|| Reply::status(204), &["204"]).await;
    check(|| Reply::json(202, "{}"), &["202", "application/json"]).await;
    check(|| Reply::json(200, "not json"), &["response"]).await;
}

#[tokio::test]
async fn response_that_ends_early_fails_the_call_without_a_retry() {
    let check = async |reply: fn(&RecordedRequest) -> Reply| {
        let server = Fake::start(move |request| match request.method() {
            "tools/call" if request.nth == 0 => reply(request),
            _ => modern(request),
        });
        let server = server.await;
        let client = server.connect().await.unwrap();
        let error = call(&client).await.unwrap_err();
        assert!(error.is_closed(), "{error:?}");
        // The call may have had an effect, so it is not sent again.
        assert_eq!(server.record.of("POST", "tools/call").len(), 1);
        is_done(call(&client).await);
    };
    check(|_| Reply::events(event("{}")).cut()).await;
    check(|_| Reply::events(event("{}"))).await;
    check(|_| Reply::events("data: {\"jsonrpc\"").reset()).await;
    check(|request| Reply::events(format!("data: {}", request.result(request.done()))).cut()).await;
    check(|_| Reply::json(200, "{\"jsonrpc\":").cut()).await;
}

#[tokio::test]
async fn call_is_not_sent_again_if_the_connection_closes_before_the_headers() {
    let server = Fake::start(|request| match request.method() {
        // The server sends no valid status line before it closes the connection.
        "tools/call" => Reply::status(0).cut(),
        _ => modern(request),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    call(&client).await.unwrap_err();
    assert_eq!(server.record.of("POST", "tools/call").len(), 1);
}

#[tokio::test]
async fn message_limit_is_exact() {
    const LIMIT: usize = 2000;
    let check = async |streamed: bool, length: usize, is_valid: bool| {
        let server = Double::new(move |request| match request.method() {
            "tools/call" => {
                let mut result = request.done();
                result["padding"] = json!("");
                let bare = request.result(result.clone()).len();
                result["padding"] = json!("x".repeat(length - bare));
                let response = request.result(result);
                assert_eq!(response.len(), length);
                if streamed {
                    Reply::events(event(response)).left_open()
                } else {
                    Reply::json(200, response)
                }
            }
            _ => modern(request),
        });
        let mut limits = toolwire::ClientLimits::default();
        limits.message_bytes = LIMIT;
        let client = within(server.connect_with(builder().with_limits(limits)));
        let client = client.await.unwrap();
        if is_valid {
            is_done(call(&client).await);
        } else {
            let error = call(&client).await.unwrap_err();
            assert!(error.is_limit(), "{error:?}");
            assert!(error.to_string().contains("message_bytes"), "{error}");
        }
    };
    for streamed in [false, true] {
        check(streamed, LIMIT, true).await;
        check(streamed, LIMIT + 1, false).await;
    }
}

#[tokio::test]
async fn event_over_the_limit_closes_the_stream() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let server = Fake::start(|request| match request.method() {
            "tools/call" => Reply::events("data: ".to_owned() + &"x".repeat(100_000)).left_open(),
            _ if request.body["params"]["protocolVersion"].is_string() => {
                super::script::legacy(request)
            }
            _ => modern(request),
        });
        let server = server.await;
        let mut limits = toolwire::ClientLimits::default();
        limits.message_bytes = 50_000;
        let builder = builder().with_limits(limits).with_versions([version]);
        let client = server.connect_with(builder).await.unwrap();
        assert!(call(&client).await.unwrap_err().is_limit());
        server.wait_for_disconnects(1).await;
    }
}
