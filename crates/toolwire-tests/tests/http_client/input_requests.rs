//! Requests and notifications of legacy servers on their streams, and the client's responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use toolwire::types::{ElicitResult, Root};
use toolwire::{Client, ClientBuilder};
use toolwire_tests::peer::within;

use super::double::Double;
use super::fake::{Fake, builder};
use super::script::{RecordedRequest, Reply, event, legacy};

/// Returns the responses that the client has sent.
fn responses(record: &super::script::Record) -> Vec<Value> {
    let all = record
        .of("POST", "")
        .into_iter()
        .map(|request| request.body);
    all.collect()
}

/// Returns an event with a request of the server.
fn server_request(id: impl Into<Value>, method: &str, params: Value) -> String {
    let id = id.into();
    event(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
}

fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    })
}

/// Returns the builder of a client that handles input requests.
fn interactive() -> ClientBuilder {
    builder()
        .with_roots([Root::new("file:///project")])
        .on_elicitation(|_| async { Ok(ElicitResult::accept().with_content([("name", "Ann")])) })
}

#[tokio::test]
async fn requests_on_the_server_stream_get_responses_by_post() {
    let server = Fake::start(|request| match &*request.http_method {
        "GET" => Reply::events(
            server_request(7, "ping", json!({}))
                + &server_request("a", "elicitation/create", form())
                + &server_request(8, "roots/list", json!({}))
                + &server_request(9, "acme/unknown", json!({})),
        )
        .left_open(),
        _ => legacy(request),
    });
    let server = server.await;
    let client = server.connect_with(interactive()).await.unwrap();
    server.record.nth("POST", "", 3).await;
    for response in server.record.of("POST", "") {
        assert_eq!(response.header("mcp-session-id"), Some("session-1"));
    }
    let responses = responses(&server.record);
    let response = |id: Value| {
        let mut all = responses.iter();
        all.find(|response| response["id"] == id).unwrap()
    };
    assert_eq!(response(json!(7))["result"], json!({}));
    assert_eq!(response(json!("a"))["result"]["content"]["name"], "Ann");
    assert_eq!(
        response(json!(8))["result"]["roots"][0]["uri"],
        "file:///project"
    );
    assert_eq!(response(json!(9))["error"]["code"], -32601);
    // The last operation ends when the server has accepted its response.
    within(async {
        while client.pending_operations() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    client.close().await;
    // Closing the client also closes the server stream.
    server.wait_for_disconnects(1).await;
}

#[tokio::test]
async fn requests_on_the_stream_of_a_call_get_responses_during_the_call() {
    let responded = Arc::new(Notify::new());
    let server = Fake::start(move |request| match request.method() {
        "tools/call" => Reply::events(server_request(1, "elicitation/create", form()))
            .wait(&responded)
            .with(event(request.result(request.done()))),
        "" if request.http_method == "POST" => {
            responded.notify_one();
            Reply::status(202)
        }
        _ => legacy(request),
    });
    let server = server.await;
    let client = server.connect_with(interactive()).await.unwrap();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    let responses = responses(&server.record);
    assert_eq!(responses.len(), 1);
    assert_eq!(responses[0]["result"]["action"], "accept");
}

#[tokio::test(start_paused = true)]
async fn call_waits_at_most_one_second_for_the_server_stream() {
    let open = Arc::new(Notify::new());
    let gate = Arc::clone(&open);
    let server = Double::new(move |request| match &*request.http_method {
        "GET" => Reply::events("").left_open().gated_by(&gate),
        _ => legacy(request),
    });
    let client = server.connect_with(interactive()).await.unwrap();
    let call = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server.record.nth("GET", "", 0).await;
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(server.record.of("POST", "tools/call").len(), 0);
    open.notify_one();
    call.await.unwrap().unwrap();

    // If the server delays its response headers, only the first call waits, for one second.
    let server = Double::new(|request| match &*request.http_method {
        "GET" => Reply::never(),
        _ => legacy(request),
    });
    let client = server.connect_with(interactive()).await.unwrap();
    let start = tokio::time::Instant::now();
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 1);
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn changes_on_the_server_stream_reach_the_handler() {
    let (sender, mut changes) = mpsc::unbounded_channel();
    let server = Double::new(|request| match &*request.http_method {
        "GET" => {
            let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            // The client ignores a response without a pending call, and an invalid message.
            let stray = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
            Reply::events(event(stray) + &event("junk") + &event(change.to_string())).left_open()
        }
        _ => legacy(request),
    });
    let builder =
        ClientBuilder::new("test", "1").on_change(move |change| drop(sender.send(change)));
    let client = server.connect_with(builder).await.unwrap();
    within(changes.recv()).await.unwrap();
    assert_eq!(client.ignored_messages(), 2);
}

#[tokio::test(start_paused = true)]
async fn rejected_server_stream_is_not_requested_again() {
    for reply in [
        Reply::status(405),
        Reply::status(404),
        Reply::status(400),
        Reply::status(200)
            .with_header("content-type", "text/html")
            .with("<p>"),
        Reply::status(204),
    ] {
        let server = Double::new(move |request| match &*request.http_method {
            "GET" => reply.clone(),
            _ => legacy(request),
        });
        let client = server.connect().await.unwrap();
        tokio::time::sleep(Duration::from_secs(600)).await;
        client.call_tool("act", json!({})).await.unwrap();
        assert_eq!(server.record.of("GET", "").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn server_stream_without_events_is_reopened_a_limited_number_of_times() {
    let check = async |reply: fn(&RecordedRequest) -> Reply, opened: usize| {
        let server = Double::new(move |request| match &*request.http_method {
            "GET" => reply(request),
            _ => legacy(request),
        });
        let client = server.connect().await.unwrap();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(server.record.of("GET", "").len(), opened);
        client.call_tool("act", json!({})).await.unwrap();
    };
    check(|_| Reply::events("id: 1\ndata:\n\n"), 6).await;
    check(|_| Reply::events("retry: 0\n\n"), 6).await;
    check(|_| Reply::status(503), 6).await;
    check(|_| Reply::events(": ping\n\n").left_open(), 1).await;
}

#[tokio::test(start_paused = true)]
async fn server_stream_resumes_after_its_last_event() {
    let server = Double::new(|request| match &*request.http_method {
        "GET" if request.nth == 0 => Reply::events("id: seven\ndata: junk\n\n").cut(),
        "GET" => Reply::events("").left_open(),
        _ => legacy(request),
    });
    let _client = server.connect().await.unwrap();
    let again = server.record.nth("GET", "", 1).await;
    assert_eq!(again.header("last-event-id"), Some("seven"));
}

#[tokio::test]
async fn number_of_concurrent_responses_to_server_requests_is_limited() {
    const REQUESTS: usize = 2000;
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (counted, highest) = (Arc::clone(&open), Arc::clone(&most));
    // The server never accepts a response, so each response stays in flight.
    let server = Double::new(
        move |request| match (&*request.http_method, request.method()) {
            ("GET", _) => {
                let pings = (0..REQUESTS).map(|id| server_request(id, "ping", json!({})));
                Reply::events(pings.collect::<String>()).left_open()
            }
            ("POST", "") => {
                highest.fetch_max(
                    counted.fetch_add(1, Ordering::Relaxed) + 1,
                    Ordering::Relaxed,
                );
                Reply::never()
            }
            _ => legacy(request),
        },
    );
    let client: Client = server.connect().await.unwrap();
    server.record.nth("GET", "", 0).await;
    for _ in 0..REQUESTS {
        tokio::task::yield_now().await;
    }
    let most = most.load(Ordering::Relaxed);
    assert!((1..=256).contains(&most), "{most} concurrent responses");
    // The server still processes calls.
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn response_that_the_server_does_not_accept_times_out() {
    let server = Double::new(|request| match (&*request.http_method, request.method()) {
        ("GET", _) => Reply::events(server_request(1, "elicitation/create", form())).left_open(),
        ("POST", "") => Reply::never(),
        _ => legacy(request),
    });
    let builder =
        ClientBuilder::new("test", "1").on_elicitation(|_| async { Ok(ElicitResult::decline()) });
    let client = server.connect_with(builder).await.unwrap();
    server.record.nth("POST", "", 0).await;
    let before = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let after = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert!(after < before, "{before} tasks, then {after}");
    drop(client);
}
