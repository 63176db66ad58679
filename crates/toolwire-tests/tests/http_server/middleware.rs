//! Middleware around the exchanges of HTTP requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::events::Emitter;
use toolwire::middleware::{Middleware, Next, Outcome, Request as Exchange};
use toolwire::{BoxFuture, ErrorObject, ProtocolVersion, Server};
use toolwire_proto::methods;
use toolwire_tests::every_method::{
    MethodRequest, capabilities_of_every_method, request_of, server_of_every_method,
};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{REVISIONS, Session};
use toolwire_tests::legacy_server::rich_server;
use toolwire_tests::peer::{legacy, modern, modern_with, notification};

/// Records the methods that it sees. With `waits`, it is not ready at its first poll.
#[derive(Clone, Default)]
struct Seen {
    methods: Arc<Mutex<Vec<String>>>,
    waits: bool,
}

impl Seen {
    fn record(&self, request: &Exchange) {
        let mut methods = self.methods.lock().expect("not poisoned");
        methods.push(request.method().to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.methods.lock().expect("not poisoned"))
    }
}

impl Middleware for Seen {
    fn handle<'a>(&'a self, request: &'a mut Exchange, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            self.record(request);
            if self.waits {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            next.run(request).await
        })
    }
}

fn observed(waits: bool) -> (Server, Seen) {
    let seen = Seen {
        waits,
        ..Seen::default()
    };
    (
        server_of_every_method(&Emitter::new()).with_middleware(seen.clone()),
        seen,
    )
}

#[tokio::test]
async fn middleware_gets_requests_of_sessions_once() {
    for waits in [false, true] {
        let (server, seen) = observed(waits);
        let endpoint = Endpoint::serve(&server).await;
        for version in REVISIONS {
            let session = Session::initialize(&endpoint, version).await;
            assert!(seen.take().contains(&"initialize".to_owned()));
            let version: ProtocolVersion = version.parse().unwrap();
            for (id, row) in methods::all().iter().enumerate() {
                if !row.is_client_request(version) {
                    continue;
                }
                let Some(MethodRequest::Response(params)) = request_of(row.name) else {
                    assert_eq!(row.name, "initialize", "a legacy method has no request");
                    continue;
                };
                let answered = session.call(legacy(id, row.name, params)).await;
                assert_eq!(answered["id"], id, "{}: {answered}", row.name);
                assert_eq!(seen.take(), [row.name]);
            }
        }
    }
}

#[tokio::test]
async fn subscription_behind_a_waiting_middleware_is_stored() {
    let (server, _) = observed(true);
    let endpoint = Endpoint::serve(&server).await;
    let session = Session::initialize(&endpoint, "2025-06-18").await;
    session
        .send(notification("notifications/initialized", json!({})))
        .await;
    let stream = Request::get(&session.id, "2025-06-18");
    let mut events = endpoint.open(&stream).await;
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "notes://one"}));
    session.call(subscribe).await;
    server.resource_updated("notes://one");
    let updated = events.message().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
}

#[tokio::test]
async fn middleware_gets_stateless_requests_once() {
    let (server, seen) = observed(true);
    let endpoint = Endpoint::serve(&server).await;
    let rows = methods::all().iter();
    for row in rows.filter(|row| row.is_client_request(ProtocolVersion::LATEST)) {
        let name = row.name;
        let request = |params| modern_with(1, name, params, capabilities_of_every_method());
        match request_of(name) {
            Some(MethodRequest::Response(params)) => {
                let response = endpoint.request(&Request::modern(&request(params))).await;
                assert_eq!(response.message()["id"], 1, "{name}: {}", response.text());
            }
            Some(MethodRequest::Stream(params)) => {
                let mut events = endpoint.open(&Request::modern(&request(params))).await;
                events.message().await;
                events.disconnect();
                endpoint.wait_until_idle().await;
            }
            Some(MethodRequest::Handshake) | None => panic!("no request of `{name}`"),
        }
        assert_eq!(seen.take(), [name]);
    }
}

#[tokio::test]
async fn listen_stream_is_an_exchange() {
    let (server, seen) = observed(false);
    let endpoint = Endpoint::serve(&server).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = Request::modern(&modern("s", "subscriptions/listen", filter));
    let mut events = endpoint.open(&listen).await;
    let method = |message: Value| message["method"].as_str().unwrap().to_owned();
    let acknowledged = method(events.message().await);
    assert_eq!(acknowledged, "notifications/subscriptions/acknowledged");
    assert_eq!(seen.take(), ["subscriptions/listen"]);
    server.tools_changed();
    let changed = method(events.message().await);
    assert_eq!(changed, "notifications/tools/list_changed");
    events.disconnect();
    endpoint.wait_until_idle().await;
    assert_eq!(server.tools_changed(), 0, "the stream has ended");

    let mut events = endpoint.open(&listen).await;
    events.message().await;
    server.shutdown();
    let result = events.message().await;
    assert_eq!(result["id"], "s", "{result}");
}

#[tokio::test]
async fn rejected_initialize_opens_no_session() {
    struct Rejects;
    impl Middleware for Rejects {
        fn handle<'a>(&'a self, _: &'a mut Exchange, _: Next<'a>) -> BoxFuture<'a, Outcome> {
            Box::pin(async { ErrorObject::invalid_request("closed").into() })
        }
    }
    let endpoint = Endpoint::serve(&rich_server().with_middleware(Rejects)).await;
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    });
    let response = endpoint
        .request(&Request::post(&legacy(1, "initialize", params)))
        .await;
    assert_eq!(response.message()["error"]["message"], "closed");
    assert_eq!(endpoint.counts().sessions, 0);
}

/// Records the sessions that have ended.
#[derive(Clone, Default)]
struct ClosedSessions(Arc<Mutex<Vec<String>>>);

impl Middleware for ClosedSessions {
    fn handle<'a>(&'a self, request: &'a mut Exchange, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(next.run(request))
    }

    fn session_closed(&self, session: &str) {
        let mut closed = self.0.lock().expect("not poisoned");
        closed.push(session.to_owned());
    }
}

#[tokio::test]
async fn middleware_learns_once_that_a_session_was_deleted() {
    let closed = ClosedSessions::default();
    let endpoint = Endpoint::serve(&rich_server().with_middleware(closed.clone())).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    assert_eq!(session.end().await.status(), 204);
    assert_eq!(*closed.0.lock().unwrap(), [session.id]);
}
