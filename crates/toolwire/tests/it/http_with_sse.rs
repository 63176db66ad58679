//! The deprecated transport of 2024-11-05, as its clients see it: one stream to read, one address to post to.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use toolwire::store::{Bus, MemoryBus, MemorySessionStore, SessionStore};
use toolwire::transport::http::{HttpLimits, HttpListener, HttpOptions, HttpService};
use toolwire::{Principal, RequestContext, Server, ToolHandler};

use crate::legacy_asking::{able, asking_server};
use crate::old_client::{OldClient, body_of, post, service};
use crate::peer::{answer, cancel, legacy, notification, plain, server, text, within};

fn call(id: i64, tool: &str) -> serde_json::Value {
    legacy(id, "tools/call", json!({"name": tool}))
}

fn ping(id: i64) -> serde_json::Value {
    legacy(id, "ping", json!({}))
}

/// A tool that says that it runs and never ends; whoever listens hears when it was dropped.
fn endless(name: &str, running: mpsc::UnboundedSender<&'static str>) -> ToolHandler {
    struct Dropped(mpsc::UnboundedSender<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    plain(name, move |_: RequestContext| {
        let dropped = Dropped(running.clone());
        async move {
            let _ = dropped.0.send("running");
            std::future::pending::<()>().await;
            drop(dropped);
            "never"
        }
    })
}

/// Lets other tasks work until something is so.
async fn until(what: impl Fn() -> bool) {
    within(async {
        while !what() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_first_event_says_where_to_post() {
    let service = service(server());
    let (first, second) = (
        OldClient::connect(&service).await,
        OldClient::connect(&service).await,
    );
    assert_eq!(first.session().len(), 43, "32 random bytes");
    assert_ne!(first.session(), second.session());
    assert_eq!(service.load().streams, 2);
}

#[tokio::test]
async fn messages_are_events_of_that_name() {
    let mut client = OldClient::connect(&service(server())).await;
    client.send(ping(1)).await;
    let bytes = client.next_bytes().await.unwrap();
    assert_eq!(
        bytes,
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
    );
}

#[tokio::test]
async fn an_old_client_shakes_hands_and_calls_a_tool_with_progress() {
    let counting = plain("count", |ctx: RequestContext| async move {
        ctx.report_steps(1, 2, None);
        "counted"
    });
    let mut client = OldClient::connect(&service(server().tool(counting))).await;
    let result = client.initialize(json!({})).await;
    assert_eq!(result["protocolVersion"], "2024-11-05");

    let params = json!({"name": "count", "_meta": {"progressToken": "t"}});
    client.send(legacy(1, "tools/call", params)).await;
    let progress = json!({"progressToken": "t", "progress": 1, "total": 2});
    client
        .expect(notification("notifications/progress", progress))
        .await;
    client.expect(answer(1, text("counted"))).await;
}

#[tokio::test]
async fn a_handler_asks_on_the_stream_and_reads_the_posted_answer() {
    let mut client = OldClient::connect(&service(asking_server())).await;
    client.initialize(able()).await;
    client.send(call(5, "roots_or_fail")).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    client.send(answer(question["id"].clone(), roots)).await;
    client.expect(answer(5, text("1 roots"))).await;

    client.send(call(6, "think")).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "sampling/createMessage");
    let said =
        json!({"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"});
    client.send(answer(question["id"].clone(), said)).await;
    let told = client.receive().await;
    assert_eq!(told["id"], 6);
    assert!(told.to_string().contains("Hi"), "{told}");
}

#[tokio::test]
async fn two_streams_with_equal_ids_never_meet() {
    let open = Arc::new(Notify::new());
    let gate = Arc::clone(&open);
    let slow = plain("slow", move |_: RequestContext| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            "slow"
        }
    });
    let quick = plain("quick", |_: RequestContext| async { "quick" });
    let service = service(server().tool(slow).tool(quick));
    let mut first = OldClient::connect(&service).await;
    let mut second = OldClient::connect(&service).await;
    first.initialize(json!({})).await;
    second.initialize(json!({})).await;

    first.send(call(1, "slow")).await;
    second.send(call(1, "quick")).await;
    second.expect(answer(1, text("quick"))).await;
    // Neither does a cancellation with the id of somebody else's request.
    second.send(cancel(1)).await;
    second.send(ping(2)).await;
    second.expect(answer(2, json!({}))).await;
    open.notify_one();
    first.expect(answer(1, text("slow"))).await;
    second.send(ping(3)).await;
    second.expect(answer(3, json!({}))).await;
}

#[tokio::test]
async fn a_cancelled_request_is_not_answered() {
    let (running, mut heard) = mpsc::unbounded_channel();
    let mut client = OldClient::connect(&service(server().tool(endless("wait", running)))).await;
    client.initialize(json!({})).await;
    client.send(call(1, "wait")).await;
    assert_eq!(within(heard.recv()).await, Some("running"));
    client.send(cancel(1)).await;
    assert_eq!(within(heard.recv()).await, Some("dropped"));
    client.send(ping(2)).await;
    client.expect(answer(2, json!({}))).await;
}

#[tokio::test]
async fn a_message_may_be_written_on_several_lines() {
    let mut client = OldClient::connect(&service(server())).await;
    client
        .send("{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": \"a\\nb\",\n  \"method\": \"ping\"\n}\n")
        .await;
    client.expect(answer("a\nb", json!({}))).await;
}

#[tokio::test]
async fn what_is_no_single_message_is_refused_in_the_answer_to_the_post() {
    let mut client = OldClient::connect(&service(server())).await;
    for (message, id, code) in [
        ("{", json!(null), -32700),
        ("", json!(null), -32700),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\nng\"}",
            json!(null),
            -32700,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":3}",
            json!(7),
            -32600,
        ),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            json!(null),
            -32600,
        ),
    ] {
        let refused = client.post(message).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{message}");
        let body: serde_json::Value = serde_json::from_slice(&body_of(refused).await).unwrap();
        assert_eq!(body.get("id"), Some(&id), "{message}: {body}");
        assert_eq!(body["error"]["code"], code, "{message}: {body}");
    }
    client.send(ping(1)).await;
    client.expect(answer(1, json!({}))).await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_everything() {
    let sessions = Arc::new(MemorySessionStore::default());
    let options = HttpOptions::new()
        .with_http_sse()
        .with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>);
    let (running, mut heard) = mpsc::unbounded_channel();
    let service = HttpService::new(server().tool(endless("wait", running)), options);
    let mut client = OldClient::connect(&service).await;
    client.initialize(json!({})).await;
    client.send(call(1, "wait")).await;
    assert_eq!(within(heard.recv()).await, Some("running"));
    assert_eq!((service.load().streams, sessions.len()), (1, 1));

    let address = client.address.clone();
    drop(client);
    assert_eq!(service.load().streams, 0);
    assert_eq!(within(heard.recv()).await, Some("dropped"));
    until(|| sessions.is_empty()).await;
    let late = service.respond(post(&address, ping(2))).await;
    assert_eq!(late.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn shutting_down_finishes_what_runs_and_ends_the_stream() {
    let open = Arc::new(Notify::new());
    let gate = Arc::clone(&open);
    let (running, mut heard) = mpsc::unbounded_channel();
    let slow = plain("slow", move |_: RequestContext| {
        let (gate, running) = (Arc::clone(&gate), running.clone());
        async move {
            running.send(()).expect("the test listens");
            gate.notified().await;
            "done"
        }
    });
    let server = server().tool(slow);
    let mut client = OldClient::connect(&service(server.clone())).await;
    client.initialize(json!({})).await;
    client.send(call(1, "slow")).await;
    within(heard.recv()).await;
    server.shutdown();
    open.notify_one();
    client.expect(answer(1, text("done"))).await;
    assert_eq!(client.next_event().await, None);
    let late = client.post(ping(2)).await;
    assert_eq!(late.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_stays_open_longer_than_an_idle_session() {
    let mut client = OldClient::connect(&service(server())).await;
    let idle = HttpLimits::default().session_idle;
    let silence = tokio::time::timeout(idle * 3, client.next_event()).await;
    assert!(silence.is_err(), "{silence:?}");
    client.send(ping(1)).await;
    client.expect(answer(1, json!({}))).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_not_read_ends() {
    let client = OldClient::connect(&service(server())).await;
    let limits = HttpLimits::default();
    tokio::time::sleep(limits.write_stall * 2).await;
    let refused = client.post(ping(1)).await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_its_record() {
    let sessions = Arc::new(MemorySessionStore::default());
    let options = HttpOptions::new()
        .with_http_sse()
        .with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>);
    let service = HttpService::new(server(), options);
    let mut client = OldClient::connect(&service).await;
    let key = format!("http+sse {}", client.session());
    let deleted = sessions.delete(&key, &Principal::anonymous()).await;
    assert!(deleted.unwrap());
    let refused = client.post(ping(1)).await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
    assert_eq!(client.next_event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_without_reading_is_told_to_wait() {
    let mut limits = HttpLimits::default();
    limits.queued_messages = 4;
    let options = HttpOptions::new().with_http_sse().with_limits(limits);
    let service = HttpService::new(server(), options);
    let mut client = OldClient::connect(&service).await;
    let mut accepted = 0;
    let refused = loop {
        let answer = client.post(ping(accepted)).await;
        if answer.status() != StatusCode::ACCEPTED {
            break answer;
        }
        accepted += 1;
        assert!(accepted < 100, "nothing bounds what waits");
    };
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(service.load().requests, 0);
    for id in 0..accepted {
        client.expect(answer(id, json!({}))).await;
    }
    client.send(ping(accepted)).await;
    client.expect(answer(accepted, json!({}))).await;
}

/// Two nodes of one service, which share what is given.
fn two_nodes(server: impl Fn() -> Server, bus: Option<Arc<dyn Bus>>) -> [HttpService; 2] {
    let sessions: Arc<dyn SessionStore> = Arc::new(MemorySessionStore::default());
    [(), ()].map(|()| {
        let mut options = HttpOptions::new()
            .with_http_sse()
            .with_session_store(Arc::clone(&sessions));
        if let Some(bus) = &bus {
            options = options.with_bus(Arc::clone(bus));
        }
        HttpService::new(server(), options)
    })
}

#[tokio::test]
async fn a_message_that_reaches_another_node_is_passed_on() {
    let [here, there] = two_nodes(asking_server, Some(Arc::new(MemoryBus::default())));
    let mut client = OldClient::connect(&here).await;
    client.initialize(able()).await;
    client.service = there.clone();
    client.send(call(1, "roots_or_fail")).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "roots/list");
    client
        .send(answer(question["id"].clone(), json!({"roots": []})))
        .await;
    client.expect(answer(1, text("0 roots"))).await;

    let address = client.address.clone();
    let refused = client.post("{\"jsonrpc\":\"2.0\",\"id\":7}").await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    drop(client);
    // The record is deleted after the stream, so until then messages are passed on to nobody.
    let mut status = StatusCode::ACCEPTED;
    for _ in 0..100 {
        status = there.respond(post(&address, ping(2))).await.status();
        if status != StatusCode::ACCEPTED {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn without_a_bus_another_node_does_not_know_the_stream() {
    let [here, there] = two_nodes(server, None);
    let mut client = OldClient::connect(&here).await;
    let refused = there.respond(post(&client.address, ping(1))).await;
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
    client.send(ping(2)).await;
    client.expect(answer(2, json!({}))).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive_with_comments() {
    let mut client = OldClient::connect(&service(server())).await;
    let before = tokio::time::Instant::now();
    let bytes = client.next_bytes().await.unwrap();
    assert!(bytes.starts_with(b":"), "{bytes:?}");
    assert_eq!(before.elapsed(), Duration::from_secs(15));
}

/// Reads until a text has come so many times.
async fn read_until(socket: &mut TcpStream, text: &str, times: usize) -> String {
    let mut read = String::new();
    let mut buffer = [0; 1024];
    while read.matches(text).count() < times {
        let count = within(socket.read(&mut buffer))
            .await
            .expect("the connection stays");
        assert_ne!(count, 0, "{text:?} never came: {read}");
        read.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    read
}

#[tokio::test]
async fn over_sockets_a_client_is_served_until_it_leaves() {
    let server = server();
    let options = HttpOptions::new().with_http_sse().without_signals();
    let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options);
    let listener = listener.await.unwrap();
    let (address, service) = (listener.local_addr(), listener.service().clone());
    let running = tokio::spawn(listener.run());

    let mut stream = TcpStream::connect(address).await.unwrap();
    let get = "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    stream.write_all(get.as_bytes()).await.unwrap();
    // A comment comes first.
    let opening = read_until(&mut stream, "\n\n", 2).await;
    let (_, event) = opening.split_once("event: endpoint\ndata: ").unwrap();
    let target = event.lines().next().unwrap();

    let message = ping(1).to_string();
    let post = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{message}",
        message.len()
    );
    let mut posting = TcpStream::connect(address).await.unwrap();
    posting.write_all(post.as_bytes()).await.unwrap();
    let accepted = read_until(&mut posting, "\r\n\r\n", 1).await;
    assert!(accepted.starts_with("HTTP/1.1 202 "), "{accepted}");
    let pong = r#"data: {"jsonrpc":"2.0","id":1,"result":{}}"#;
    read_until(&mut stream, pong, 1).await;

    assert_eq!(service.load().streams, 1);
    drop(stream);
    until(|| service.load().streams == 0).await;
    server.shutdown();
    within(running).await.unwrap().unwrap();
}
