//! Upstream servers that send more notifications than a client reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire::BoxFuture;
use toolwire::middleware::{Middleware, Next, NotificationDrop, Outcome, Request};
use toolwire::transport::Limits;
use toolwire_tests::peer::{Peer, legacy, notification, result_response};

use crate::connections::initialize;
use crate::raw_upstream::raw_upstream;

/// The notifications that the server sends before the client reads.
const MANY: usize = 5_000;

/// The limit of the queue in front of the client.
const QUEUED: usize = 16;

/// The most messages that are beside the queue, such as those in the channel of the server.
const ELSEWHERE: usize = 64;

/// Returns a notification with a number.
type NotificationOf = dyn Fn(usize) -> Value;

/// Counts the notifications that a client does not get because it reads slowly.
#[derive(Clone, Default)]
struct CountDrops(Arc<AtomicUsize>);

impl Middleware for CountDrops {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(next.run(request))
    }

    fn notification_dropped(&self, dropped: NotificationDrop) {
        assert_eq!(dropped, NotificationDrop::ForClient);
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends many notifications during a call, while the client does not read. Returns what it reads afterwards, up to the
/// response, and the number of dropped notifications.
async fn flooded(notification_of: &NotificationOf) -> (Vec<Value>, usize) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let drops = CountDrops::default();
    // The clone is a handle to the same server.
    let _ = relay.server().clone().with_middleware(drops.clone());
    let details = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "resources": {"subscribe": true}, "logging": {}},
        "serverInfo": {"name": "old", "version": "1"},
    });
    let mut limits = Limits::default();
    limits.queued_messages = QUEUED;
    let mut client = Peer::connect_with(relay.server(), limits);
    client.send(initialize(1)).await;
    let (mut server, _) = connections.accept_legacy(&details.to_string()).await;
    client.receive().await;
    let params = json!({"name": "slow", "_meta": {"progressToken": "p"}});
    client.send(legacy(2, "tools/call", params)).await;
    let request = server.receive().await;
    for number in 0..MANY {
        server.send(notification_of(number)).await;
    }
    server.respond(&request, r#"{"content":[]}"#).await;
    let mut messages = Vec::new();
    loop {
        let message = client.receive().await;
        if message == result_response(2, json!({"content": []})) {
            return (messages, drops.0.load(Ordering::Relaxed));
        }
        messages.push(message);
    }
}

fn padded(method: &str, mut params: Value) -> Value {
    params["x-padding"] = json!("x".repeat(512));
    notification(method, params)
}

#[tokio::test]
async fn notifications_of_an_upstream_server_are_bounded_for_a_slow_client() {
    let log = |number: usize| {
        let params = json!({"level": "error", "data": number});
        padded("notifications/message", params)
    };
    let own_progress = |number: usize| {
        let params = json!({"progressToken": "p", "progress": number});
        padded("notifications/progress", params)
    };
    let other_progress = |number: usize| {
        let params = json!({"progressToken": format!("p{number}"), "progress": 1});
        padded("notifications/progress", params)
    };
    let resource = |number: usize| {
        let params = json!({"uri": format!("file:///{number}")});
        padded("notifications/resources/updated", params)
    };
    let unknown = |number: usize| padded("com.example/event", json!({ "number": number }));
    let kinds: [(&str, &NotificationOf); 5] = [
        ("log", &log),
        ("progress", &own_progress),
        ("progress of other requests", &other_progress),
        ("resources", &resource),
        ("unknown", &unknown),
    ];
    for (kind, notification_of) in kinds {
        let (messages, dropped) = flooded(notification_of).await;
        assert!(!messages.is_empty(), "{kind}");
        assert_eq!(messages.len() + dropped, MANY, "{kind}");
        assert!(
            messages.len() <= QUEUED + ELSEWHERE,
            "{kind}: {}",
            messages.len()
        );
        if kind == "progress" {
            let last = messages.last().expect("there is progress");
            assert_eq!(last["params"]["progress"], MANY - 1, "the newest stays");
        }
    }
}
