//! Answers of servers that do not keep to the rules, on streams and in JSON.

use serde_json::{Value, json};
use toolwire::{CallToolResult, Client, Error, ProtocolVersion};

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{Reply, Seen, event, modern};
use crate::peer::within;

async fn call(client: &Client) -> Result<CallToolResult, Error> {
    within(client.call_tool("act", json!({})).into_future()).await
}

/// What one call to a modern server comes to that answers it like this.
async fn outcome(
    reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> (Result<CallToolResult, Error>, Client) {
    let server = Double::new(move |seen| match seen.method() {
        "tools/call" => reply(seen),
        _ => modern(seen),
    });
    let client = within(server.connect()).await.expect("it connects");
    (call(&client).await, client)
}

fn is_done(outcome: Result<CallToolResult, Error>) {
    let result = outcome.expect("the answer came through");
    assert_eq!(result.content[0].as_text(), Some("done"));
}

#[tokio::test]
async fn junk_before_the_answer_is_passed_over() {
    let server = Fake::start(|seen| match seen.method() {
        "tools/call" => {
            let junk = "data: <html>not a message</html>\n\n".repeat(50_000);
            Reply::events(junk + &event(seen.result(seen.done())))
        }
        _ => modern(seen),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    is_done(call(&client).await);
    assert_eq!(client.ignored_messages(), 50_000);
    client.close().await;
}

#[tokio::test]
async fn every_spelling_of_a_stream_is_read() {
    let check = async |spell: fn(String) -> String| {
        for trickled in [false, true] {
            let (outcome, client) = outcome(move |seen| {
                let reply = Reply::events(spell(seen.result(seen.done())));
                match trickled {
                    true => reply.trickled(),
                    false => reply,
                }
            })
            .await;
            is_done(outcome);
            assert_eq!(client.ignored_messages(), 0);
        }
    };
    check(|answer| format!("data: {answer}\n\n")).await;
    check(|answer| format!("data: {answer}\r\n\r\n")).await;
    check(|answer| format!("data: {answer}\r\r")).await;
    check(|answer| format!(": hello\r\nid: 7\rdata: {answer}\n\r\n")).await;
    check(|answer| format!("data:{answer}\n\n")).await;
    check(|answer| format!(":\n\n: only a comment\n\ndata: {answer}\n\n")).await;
    check(|answer| format!("\u{feff}data: {answer}\n\n")).await;
    check(|answer| {
        format!("event: message\nid: 1\nretry: 5\nfoo: bar\nnothing\ndata: {answer}\n\n")
    })
    .await;
    // A message on several lines: they are joined with line feeds, which JSON passes over.
    check(|answer| format!("data: {}\n\n", answer.replace(",\"", "\ndata: ,\ndata:\""))).await;
    check(|answer| format!("data\ndata: {answer}\ndata\n\n")).await;
}

#[tokio::test]
async fn an_event_without_its_blank_line_is_no_answer() {
    let (outcome, _) =
        outcome(|seen| Reply::events(format!("data: {}\n", seen.result(seen.done())))).await;
    assert!(outcome.unwrap_err().is_closed());
}

#[tokio::test]
async fn an_id_that_became_a_string_is_still_the_id() {
    let (outcome, _) = outcome(|seen| {
        let id = seen.body["id"].to_string();
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": seen.done()});
        Reply::json(200, answer.to_string())
    })
    .await;
    is_done(outcome);
}

#[tokio::test]
async fn answers_to_nobody_and_second_answers_are_counted_and_ignored() {
    let (outcome, client) = outcome(|seen| {
        let mut wrong = seen.done();
        wrong["content"][0]["text"] = json!("wrong");
        let answer = |id: Value, result: &Value| {
            event(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
        };
        let id = seen.body["id"].as_i64().unwrap();
        let strangers = [
            json!(id + 1),
            json!("x"),
            json!(f64::from(3) + 0.5),
            Value::Null,
        ];
        let mut stream: String = strangers.into_iter().map(|id| answer(id, &wrong)).collect();
        stream += &answer(json!(id), &seen.done());
        stream += &answer(json!(id), &wrong);
        Reply::events(stream)
    })
    .await;
    is_done(outcome);
    // Everything before the answer; what comes after it is not looked at any more.
    assert_eq!(client.ignored_messages(), 4);
    is_done(call(&client).await);
}

#[tokio::test]
async fn only_known_kinds_of_results_are_taken() {
    let check = async |kind: Value, good: bool| {
        let (outcome, _) = outcome(move |seen| {
            let mut result = seen.done();
            match &kind {
                Value::Null => drop(result.as_object_mut().unwrap().remove("resultType")),
                kind => result["resultType"] = kind.clone(),
            }
            seen.answer(result)
        })
        .await;
        match good {
            true => is_done(outcome),
            false => assert!(outcome.unwrap_err().is_protocol_violation()),
        }
    };
    check(json!("complete"), true).await;
    check(Value::Null, true).await;
    check(json!("surprise"), false).await;
    check(json!(7), false).await;
}

#[tokio::test]
async fn a_request_of_a_modern_server_is_never_answered() {
    let asking = |id: i64| {
        event(json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string())
            + &event(json!({"jsonrpc": "2.0", "id": id + 1, "method": "roots/list"}).to_string())
    };
    let server = Double::new(move |seen| match seen.method() {
        "server/discover" => {
            let answer = seen.result(super::script::discovered());
            Reply::events(asking(1) + &event(answer))
        }
        "tools/call" => Reply::events(asking(3) + &event(seen.result(seen.done()))),
        _ => modern(seen),
    });
    let client = within(server.connect()).await.unwrap();
    is_done(call(&client).await);
    is_done(call(&client).await);
    let kinds = server.record.all();
    let answers: Vec<_> = kinds
        .iter()
        .filter(|seen| seen.method().is_empty())
        .collect();
    assert!(answers.is_empty(), "{answers:?}");
    assert_eq!(client.ignored_messages(), 6);
}

#[tokio::test]
async fn an_answer_of_the_wrong_kind_fails_at_once_and_is_named() {
    let check = async |reply: fn() -> Reply, named: &[&str]| {
        let (outcome, _) = outcome(move |_| reply()).await;
        let error = outcome.unwrap_err();
        assert!(error.is_protocol_violation(), "{error:?}");
        let text = error.to_string();
        for name in named {
            assert!(text.contains(name), "{text:?} names {name}");
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
    check(|| Reply::json(200, ""), &["answer"]).await;
    check(|| Reply::status(202), &["202"]).await;
    check(|| Reply::status(204), &["204"]).await;
    check(|| Reply::json(202, "{}"), &["202", "application/json"]).await;
    check(|| Reply::json(200, "not json"), &["answer"]).await;
}

#[tokio::test]
async fn an_answer_that_is_cut_off_means_the_connection_is_gone() {
    let check = async |reply: fn(&Seen) -> Reply| {
        let server = Fake::start(move |seen| match seen.method() {
            "tools/call" if seen.nth == 0 => reply(seen),
            _ => modern(seen),
        });
        let server = server.await;
        let client = server.connect().await.unwrap();
        let error = call(&client).await.unwrap_err();
        assert!(error.is_closed(), "{error:?}");
        // It may have had an effect, so it is not sent a second time.
        assert_eq!(server.record.of("POST", "tools/call").len(), 1);
        is_done(call(&client).await);
    };
    check(|_| Reply::events(event("{}")).cut()).await;
    check(|_| Reply::events(event("{}"))).await;
    check(|_| Reply::events("data: {\"jsonrpc\"").reset()).await;
    check(|seen| Reply::events(format!("data: {}", seen.result(seen.done()))).cut()).await;
    check(|_| Reply::json(200, "{\"jsonrpc\":").cut()).await;
}

#[tokio::test]
async fn a_connection_that_goes_before_the_head_is_no_reason_to_ask_again() {
    let server = Fake::start(|seen| match seen.method() {
        // Nothing valid is said before the end.
        "tools/call" => Reply::status(0).cut(),
        _ => modern(seen),
    });
    let server = server.await;
    let client = server.connect().await.unwrap();
    call(&client).await.unwrap_err();
    assert_eq!(server.record.of("POST", "tools/call").len(), 1);
}

#[tokio::test]
async fn the_limit_of_a_message_is_exact() {
    const LIMIT: usize = 2000;
    let check = async |streamed: bool, length: usize, good: bool| {
        let server = Double::new(move |seen| match seen.method() {
            "tools/call" => {
                let mut result = seen.done();
                result["padding"] = json!("");
                let bare = seen.result(result.clone()).len();
                result["padding"] = json!("x".repeat(length - bare));
                let answer = seen.result(result);
                assert_eq!(answer.len(), length);
                match streamed {
                    true => Reply::events(event(answer)).left_open(),
                    false => Reply::json(200, answer),
                }
            }
            _ => modern(seen),
        });
        let mut limits = toolwire::ClientLimits::default();
        limits.message_bytes = LIMIT;
        let client = within(server.connect_with(builder().with_limits(limits)));
        let client = client.await.unwrap();
        match good {
            true => is_done(call(&client).await),
            false => {
                let error = call(&client).await.unwrap_err();
                assert!(error.is_limit(), "{error:?}");
                assert!(error.to_string().contains("message_bytes"), "{error}");
            }
        }
    };
    for streamed in [false, true] {
        check(streamed, LIMIT, true).await;
        check(streamed, LIMIT + 1, false).await;
    }
}

#[tokio::test]
async fn an_event_over_the_limit_closes_the_stream() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let server = Fake::start(|seen| match seen.method() {
            "tools/call" => Reply::events("data: ".to_owned() + &"x".repeat(100_000)).left_open(),
            _ if seen.body["params"]["protocolVersion"].is_string() => super::script::legacy(seen),
            _ => modern(seen),
        });
        let server = server.await;
        let mut limits = toolwire::ClientLimits::default();
        limits.message_bytes = 50_000;
        let builder = builder().with_limits(limits).with_versions([version]);
        let client = server.connect_with(builder).await.unwrap();
        assert!(call(&client).await.unwrap_err().is_limit());
        server.abandoned(1).await;
    }
}
