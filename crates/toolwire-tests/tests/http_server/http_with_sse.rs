//! The deprecated HTTP+SSE transport of 2024-11-05: one event stream to read, one endpoint to post to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use toolwire::store::{Mailboxes, MemoryMailboxes, MemorySessionStore, SessionStore};
use toolwire::transport::http::{HttpLimits, HttpListener, HttpOptions, HttpService};
use toolwire::{Principal, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{
    cancel, legacy, notification, plain, result_response, server, text, within,
};
use toolwire_tests::server_requests::{all_capabilities, asking_server};

use crate::http_sse_client::{HttpSseClient, body_of, post, service};

fn call(id: i64, tool: &str) -> serde_json::Value {
    legacy(id, "tools/call", json!({"name": tool}))
}

fn ping(id: i64) -> serde_json::Value {
    legacy(id, "ping", json!({}))
}

/// Returns a tool that never ends. It reports its start and the drop of its future to the test.
fn endless(name: &str, events: mpsc::UnboundedSender<&'static str>) -> ToolHandler {
    struct NotifyOnDrop(mpsc::UnboundedSender<&'static str>);
    impl Drop for NotifyOnDrop {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    plain(name, move |_: RequestContext| {
        let dropped = NotifyOnDrop(events.clone());
        async move {
            let _ = dropped.0.send("running");
            std::future::pending::<()>().await;
            drop(dropped);
            "never"
        }
    })
}

/// Yields to other tasks until the condition is true.
async fn until(condition: impl Fn() -> bool) {
    within(async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn first_event_names_the_post_endpoint() {
    let service = service(server());
    let (first, second) = (
        HttpSseClient::connect(&service).await,
        HttpSseClient::connect(&service).await,
    );
    assert_eq!(first.session().len(), 47, "a number and 32 random bytes");
    assert_ne!(first.session(), second.session());
    assert_eq!(service.load().streams, 2);
}

#[tokio::test]
async fn messages_are_sent_as_message_events() {
    let mut client = HttpSseClient::connect(&service(server())).await;
    client.send(ping(1)).await;
    let bytes = client.next_bytes().await.unwrap();
    assert_eq!(
        bytes,
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
    );
}

#[tokio::test]
async fn http_sse_client_calls_a_tool_with_progress() {
    let counting = plain("count", |ctx: RequestContext| async move {
        ctx.report_steps(1, 2, None);
        "counted"
    });
    let mut client = HttpSseClient::connect(&service(server().tool(counting))).await;
    let result = client.initialize(json!({})).await;
    assert_eq!(result["protocolVersion"], "2024-11-05");

    let params = json!({"name": "count", "_meta": {"progressToken": "t"}});
    client.send(legacy(1, "tools/call", params)).await;
    let progress = json!({"progressToken": "t", "progress": 1, "total": 2});
    client
        .expect(notification("notifications/progress", progress))
        .await;
    client.expect(result_response(1, text("counted"))).await;
}

#[tokio::test]
async fn server_requests_are_sent_on_the_stream_and_responses_posted() {
    let mut client = HttpSseClient::connect(&service(asking_server())).await;
    client.initialize(all_capabilities()).await;
    client.send(call(5, "roots_or_fail")).await;
    let server_request = client.receive().await;
    assert_eq!(server_request["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    client
        .send(result_response(server_request["id"].clone(), roots))
        .await;
    client.expect(result_response(5, text("1 roots"))).await;

    client.send(call(6, "ask_model")).await;
    let server_request = client.receive().await;
    assert_eq!(server_request["method"], "sampling/createMessage");
    let completion =
        json!({"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"});
    client
        .send(result_response(server_request["id"].clone(), completion))
        .await;
    let result = client.receive().await;
    assert_eq!(result["id"], 6);
    assert!(result.to_string().contains("Hi"), "{result}");
}

#[tokio::test]
async fn equal_request_ids_on_two_streams_do_not_collide() {
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
    let mut first = HttpSseClient::connect(&service).await;
    let mut second = HttpSseClient::connect(&service).await;
    first.initialize(json!({})).await;
    second.initialize(json!({})).await;

    first.send(call(1, "slow")).await;
    second.send(call(1, "quick")).await;
    second.expect(result_response(1, text("quick"))).await;
    // A cancellation does not affect the request with the same id on the other stream.
    second.send(cancel(1)).await;
    second.send(ping(2)).await;
    second.expect(result_response(2, json!({}))).await;
    open.notify_one();
    first.expect(result_response(1, text("slow"))).await;
    second.send(ping(3)).await;
    second.expect(result_response(3, json!({}))).await;
}

#[tokio::test]
async fn cancelled_request_gets_no_response() {
    let (events, mut received) = mpsc::unbounded_channel();
    let mut client = HttpSseClient::connect(&service(server().tool(endless("wait", events)))).await;
    client.initialize(json!({})).await;
    client.send(call(1, "wait")).await;
    assert_eq!(within(received.recv()).await, Some("running"));
    client.send(cancel(1)).await;
    assert_eq!(within(received.recv()).await, Some("dropped"));
    client.send(ping(2)).await;
    client.expect(result_response(2, json!({}))).await;
}

#[tokio::test]
async fn access_log_has_the_method_and_the_name_of_a_message() {
    let records = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&records);
    let options = HttpOptions::new()
        .with_http_sse()
        .with_access_log(move |record| sink.lock().unwrap().push(record.clone()));
    let mut client = HttpSseClient::connect(&HttpService::new(server(), options)).await;
    client.initialize(json!({})).await;
    client.send(call(5, "missing")).await;
    assert_eq!(client.receive().await["id"], 5);
    let has_call = || {
        let records = records.lock().unwrap();
        records.iter().any(|record| {
            record.method.as_deref() == Some("tools/call")
                && record.name.as_deref() == Some("missing")
        })
    };
    until(has_call).await;
}

#[tokio::test]
async fn message_may_contain_line_breaks() {
    let mut client = HttpSseClient::connect(&service(server())).await;
    client
        .send("{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": \"a\\nb\",\n  \"method\": \"ping\"\n}\n")
        .await;
    client.expect(result_response("a\nb", json!({}))).await;
}

#[tokio::test]
async fn invalid_message_is_rejected_in_the_response_to_the_post() {
    let mut client = HttpSseClient::connect(&service(server())).await;
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
        let rejected = client.post(message).await;
        assert_eq!(rejected.status(), StatusCode::BAD_REQUEST, "{message}");
        let body: serde_json::Value = serde_json::from_slice(&body_of(rejected).await).unwrap();
        assert_eq!(body.get("id"), Some(&id), "{message}: {body}");
        assert_eq!(body["error"]["code"], code, "{message}: {body}");
    }
    client.send(ping(1)).await;
    client.expect(result_response(1, json!({}))).await;
}

#[tokio::test]
async fn closing_the_stream_ends_the_session_and_its_requests() {
    let sessions = Arc::new(MemorySessionStore::default());
    let options = HttpOptions::new()
        .with_http_sse()
        .with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>);
    let (events, mut received) = mpsc::unbounded_channel();
    let service = HttpService::new(server().tool(endless("wait", events)), options);
    let mut client = HttpSseClient::connect(&service).await;
    client.initialize(json!({})).await;
    client.send(call(1, "wait")).await;
    assert_eq!(within(received.recv()).await, Some("running"));
    assert_eq!((service.load().streams, sessions.len()), (1, 1));

    let address = client.address.clone();
    drop(client);
    assert_eq!(service.load().streams, 0);
    assert_eq!(within(received.recv()).await, Some("dropped"));
    until(|| sessions.is_empty()).await;
    let late = service.respond(post(&address, ping(2))).await;
    assert_eq!(late.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn shutdown_finishes_running_requests_and_ends_the_stream() {
    let open = Arc::new(Notify::new());
    let gate = Arc::clone(&open);
    let (events, mut received) = mpsc::unbounded_channel();
    let slow = plain("slow", move |_: RequestContext| {
        let (gate, events) = (Arc::clone(&gate), events.clone());
        async move {
            events.send(()).expect("the test receives events");
            gate.notified().await;
            "done"
        }
    });
    let server = server().tool(slow);
    let mut client = HttpSseClient::connect(&service(server.clone())).await;
    client.initialize(json!({})).await;
    client.send(call(1, "slow")).await;
    within(received.recv()).await;
    server.shutdown();
    open.notify_one();
    client.expect(result_response(1, text("done"))).await;
    assert_eq!(client.next_event().await, None);
    let late = client.post(ping(2)).await;
    assert_eq!(late.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn silent_stream_is_not_closed_by_the_session_idle_timeout() {
    let mut client = HttpSseClient::connect(&service(server())).await;
    let idle = Duration::from_secs(300);
    let silence = tokio::time::timeout(idle * 3, client.next_event()).await;
    assert!(silence.is_err(), "{silence:?}");
    client.send(ping(1)).await;
    client.expect(result_response(1, json!({}))).await;
}

#[tokio::test(start_paused = true)]
async fn stream_that_is_not_read_ends() {
    let client = HttpSseClient::connect(&service(server())).await;
    let limits = HttpLimits::default();
    tokio::time::sleep(limits.write_stall * 2).await;
    let rejected = client.post(ping(1)).await;
    assert_eq!(rejected.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn stream_ends_with_its_session_record() {
    let sessions = Arc::new(MemorySessionStore::default());
    let options = HttpOptions::new()
        .with_http_sse()
        .with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>);
    let service = HttpService::new(server(), options);
    let mut client = HttpSseClient::connect(&service).await;
    let key = format!("http+sse {}", client.session());
    let deleted = sessions.delete(&key, &Principal::anonymous()).await;
    assert!(deleted.unwrap());
    let rejected = client.post(ping(1)).await;
    assert_eq!(rejected.status(), StatusCode::NOT_FOUND);
    assert_eq!(client.next_event().await, None);
}

#[tokio::test(start_paused = true)]
async fn client_that_sends_without_reading_gets_503_with_retry_after() {
    let mut limits = HttpLimits::default();
    limits.queued_messages = 4;
    let options = HttpOptions::new().with_http_sse().with_limits(limits);
    let service = HttpService::new(server(), options);
    let mut client = HttpSseClient::connect(&service).await;
    let mut accepted = 0;
    let rejected = loop {
        let response = client.post(ping(accepted)).await;
        if response.status() != StatusCode::ACCEPTED {
            break response;
        }
        accepted += 1;
        assert!(accepted < 100, "the queue has no limit");
    };
    assert_eq!(rejected.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(rejected.headers().contains_key("retry-after"));
    assert_eq!(service.load().requests, 0);
    for id in 0..accepted {
        client.expect(result_response(id, json!({}))).await;
    }
    client.send(ping(accepted)).await;
    client.expect(result_response(accepted, json!({}))).await;
}

/// Returns two nodes of one service that share their session store, and the mailboxes if there are any.
fn two_nodes(
    server: impl Fn() -> Server,
    mailboxes: Option<Arc<dyn Mailboxes>>,
) -> [HttpService; 2] {
    let sessions: Arc<dyn SessionStore> = Arc::new(MemorySessionStore::default());
    [(), ()].map(|()| {
        let mut options = HttpOptions::new()
            .with_http_sse()
            .with_session_store(Arc::clone(&sessions));
        if let Some(mailboxes) = &mailboxes {
            options = options.with_mailboxes(Arc::clone(mailboxes));
        }
        HttpService::new(server(), options)
    })
}

#[tokio::test]
async fn message_posted_to_another_node_is_forwarded() {
    let [first_node, second_node] =
        two_nodes(asking_server, Some(Arc::new(MemoryMailboxes::default())));
    let mut client = HttpSseClient::connect(&first_node).await;
    client.initialize(all_capabilities()).await;
    client.service = second_node.clone();
    client.send(call(1, "roots_or_fail")).await;
    let server_request = client.receive().await;
    assert_eq!(server_request["method"], "roots/list");
    client
        .send(result_response(
            server_request["id"].clone(),
            json!({"roots": []}),
        ))
        .await;
    client.expect(result_response(1, text("0 roots"))).await;

    let address = client.address.clone();
    let rejected = client.post("{\"jsonrpc\":\"2.0\",\"id\":7}").await;
    assert_eq!(rejected.status(), StatusCode::BAD_REQUEST);
    drop(client);
    // The record is deleted after the stream. Until then messages are accepted and discarded.
    let mut status = StatusCode::ACCEPTED;
    for _ in 0..100 {
        status = second_node.respond(post(&address, ping(2))).await.status();
        if status != StatusCode::ACCEPTED {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn without_mailboxes_another_node_returns_404() {
    let [first_node, second_node] = two_nodes(server, None);
    let mut client = HttpSseClient::connect(&first_node).await;
    let rejected = second_node.respond(post(&client.address, ping(1))).await;
    assert_eq!(rejected.status(), StatusCode::NOT_FOUND);
    client.send(ping(2)).await;
    client.expect(result_response(2, json!({}))).await;
}

#[tokio::test(start_paused = true)]
async fn silent_stream_gets_keep_alive_comments() {
    let mut client = HttpSseClient::connect(&service(server())).await;
    let before = tokio::time::Instant::now();
    let bytes = client.next_bytes().await.unwrap();
    assert!(bytes.starts_with(b":"), "{bytes:?}");
    assert_eq!(before.elapsed(), Duration::from_secs(15));
}

/// Reads until the text has occurred this many times, and returns everything read.
async fn read_until(socket: &mut TcpStream, text: &str, times: usize) -> String {
    let mut read = String::new();
    let mut buffer = [0; 1024];
    while read.matches(text).count() < times {
        let count = within(socket.read(&mut buffer))
            .await
            .expect("the connection is open");
        assert_ne!(count, 0, "{text:?} was not received: {read}");
        read.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    read
}

#[tokio::test]
async fn http_sse_works_over_sockets() {
    let server = server();
    let options = HttpOptions::new().with_http_sse().without_signals();
    let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options);
    let listener = listener.await.unwrap();
    let (address, service) = (listener.local_addr(), listener.service().clone());
    let running = tokio::spawn(listener.run());

    let mut stream = TcpStream::connect(address).await.unwrap();
    let get = "GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    stream.write_all(get.as_bytes()).await.unwrap();
    // The stream starts with a comment.
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
