//! Messages of an upstream server on one stream that do not name the request that they belong to.

use std::pin::Pin;

use serde_json::{Value, json};
use toolwire::relay::Relay;
use toolwire::transport::http::{HttpOptions, HttpService, ServerBody};
use toolwire_tests::http::direct::{InProcessClient, in_session, next_chunk};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{legacy, notification, result_response, within};

use crate::raw_upstream::{RawConnection, raw_upstream};

const VERSION: &str = "2025-11-25";

/// A legacy client over HTTP, and the upstream server of its session.
struct HttpPair {
    relay: Relay,
    client: InProcessClient,
    session: String,
    server: RawConnection,
}

/// The messages of a response or of the stream of a session.
struct Messages {
    body: Pin<Box<ServerBody>>,
    text: String,
}

impl HttpPair {
    async fn open() -> Self {
        let (upstream, mut connections) = raw_upstream();
        let relay = upstream.relay();
        let service = HttpService::new(relay.server().clone(), HttpOptions::new());
        let client = InProcessClient::new(&service);
        let opening = {
            let client = client.clone();
            tokio::spawn(async move { client.open_session().await })
        };
        let details = json!({
            "protocolVersion": VERSION,
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "old", "version": "1"},
        });
        let (mut server, _) = connections.accept_legacy(&details.to_string()).await;
        let session = within(opening).await.expect("the session opens");
        assert_eq!(
            server.receive().await["method"],
            "notifications/initialized"
        );
        Self {
            relay,
            client,
            session,
            server,
        }
    }

    /// Starts a call. Returns its messages, and the request that the server got.
    async fn call(&mut self, id: i64) -> (tokio::task::JoinHandle<Messages>, Value) {
        let request = legacy(id, "tools/call", json!({"name": "slow"}));
        let request = in_session(&self.session, &request);
        let client = self.client.clone();
        // The response starts with its first message.
        let response = tokio::spawn(async move { Messages::new(client.send(request).await) });
        (response, self.server.receive().await)
    }

    async fn ask(&self, id: &str) {
        let schema = json!({"type": "object", "properties": {}});
        let params = json!({"message": "Who?", "requestedSchema": schema});
        let request = legacy(id, "elicitation/create", params);
        self.server.send(request).await;
    }

    /// Responds to a request of the server that the client got.
    async fn respond(&self, asked: &Value) {
        let response = result_response(asked["id"].clone(), json!({"action": "decline"}));
        let response = self.client.request(in_session(&self.session, &response));
        assert_eq!(response.await.status, 202);
    }
}

impl Messages {
    fn new(response: http::Response<ServerBody>) -> Self {
        assert_eq!(response.status(), 200);
        Self {
            body: Box::pin(response.into_body()),
            text: String::new(),
        }
    }

    /// Returns the next message of an event stream.
    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                // The first event of a stream has only an id.
                let data = data.filter(|data| !data.is_empty());
                let message = data.map(|data| serde_json::from_str(data).expect("valid JSON"));
                self.text = rest.to_owned();
                match message {
                    Some(message) => return message,
                    None => continue,
                }
            }
            let chunk = within(next_chunk(&mut self.body)).await;
            self.text += &chunk.expect("the stream is open");
        }
    }
}

#[tokio::test]
async fn input_request_goes_to_the_oldest_call_and_then_to_the_next() {
    let mut pair = HttpPair::open().await;
    let (first, first_call) = pair.call(1).await;
    let (second, second_call) = pair.call(2).await;
    pair.ask("s1").await;
    let mut first = within(first).await.expect("the response starts");
    assert_eq!(first.next().await["method"], "elicitation/create");
    // The client gets the response of the first call, and reads nothing else of it.
    pair.server.respond(&first_call, r#"{"content":[]}"#).await;
    while first.next().await["id"] != 1 {}
    let mut second = within(second).await.expect("the response starts");
    let asked = second.next().await;
    assert_eq!(asked["method"], "elicitation/create");
    pair.respond(&asked).await;
    let declined = json!({"action": "decline"});
    assert_eq!(pair.server.receive().await, result_response("s1", declined));
    pair.server.respond(&second_call, r#"{"content":[]}"#).await;
    assert_eq!(second.next().await["id"], 2);
    // Without an open call, no client can be asked.
    pair.ask("s2").await;
    let rejected = pair.server.receive().await;
    assert!(rejected.get("error").is_some(), "{rejected}");
}

#[tokio::test]
async fn input_request_goes_to_the_stream_of_the_session_if_several_calls_run() {
    let mut pair = HttpPair::open().await;
    let stream = Request::get(&pair.session, VERSION);
    let mut stream = Messages::new(pair.client.send(stream).await);
    let (_first, _) = pair.call(1).await;
    let (_second, _) = pair.call(2).await;
    pair.ask("s1").await;
    let asked = stream.next().await;
    assert_eq!(asked["method"], "elicitation/create");
    pair.respond(&asked).await;
    assert_eq!(pair.server.receive().await["id"], "s1");
}

#[tokio::test]
async fn log_message_goes_to_the_only_call() {
    let mut pair = HttpPair::open().await;
    let (response, _) = pair.call(1).await;
    let log = notification(
        "notifications/message",
        json!({"level": "info", "data": "x"}),
    );
    pair.server.send(&log).await;
    let mut response = within(response).await.expect("the response starts");
    assert_eq!(response.next().await, log);
}

#[tokio::test]
async fn input_request_fails_when_the_server_shuts_down() {
    let mut pair = HttpPair::open().await;
    let (response, _) = pair.call(1).await;
    pair.ask("s1").await;
    let mut response = within(response).await.expect("the response starts");
    assert_eq!(response.next().await["method"], "elicitation/create");
    pair.relay.server().shutdown();
    assert_eq!(pair.server.receive().await["id"], "s1");
}
