//! Notifications that are dropped because a queue is full.

use std::collections::BTreeSet;

use serde_json::Value;
use tokio::sync::mpsc;
use toolwire::RequestContext;
use toolwire::middleware::{Middleware as _, NotificationDrop};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::transport::{InProcess, Limits};
use toolwire::types::LoggingLevel;

use super::*;
use crate::metered::Metered;

/// How many notifications of a client wait for the handlers of earlier ones.
const MAX_WAITING: i64 = 256;

/// Returns the value of the metric for each queue.
fn dropped(metered: &Metered) -> BTreeSet<(Option<String>, i64)> {
    let series = metered.series("toolwire.queue.dropped_notifications");
    let series = series.iter();
    series
        .map(|(attributes, count)| (attribute(attributes, "toolwire.queue"), *count))
        .collect()
}

/// Fills the queue of a client, and checks that two further notifications are counted. `started` receives a message when
/// the handler of the first one runs. It never ends.
async fn check_full_queue(client: &Client, metered: &Metered, started: &mut mpsc::Receiver<()>) {
    let notify = async || {
        let params = toolwire::RawJson::from(json!({}));
        let sent = client.notify("com.example/slow", Some(params)).await;
        sent.expect("the transport accepts it");
    };
    notify().await;
    started.recv().await.expect("the handler runs");
    for _ in 0..MAX_WAITING {
        notify().await;
    }
    // The response shows that the server has read the notifications before the request.
    client.ping().await.expect("a response");
    assert!(dropped(metered).is_empty());
    for _ in 0..2 {
        notify().await;
    }
    client.ping().await.expect("a response");
    let expected = (Some("from_client".to_owned()), 2);
    assert_eq!(dropped(metered), BTreeSet::from([expected]));
}

/// Returns a server whose handler of a notification never ends.
fn slow_server(metered: &Metered) -> (Server, mpsc::Receiver<()>) {
    let (sender, started) = mpsc::channel(1);
    let server = server()
        .with_middleware(metered.telemetry.clone())
        .on_notification("com.example/slow", move |_, _: Value| {
            let sender = sender.clone();
            async move {
                let _ = sender.send(()).await;
                std::future::pending::<()>().await;
            }
        });
    (server, started)
}

#[tokio::test]
async fn full_queue_of_a_connection_is_counted() {
    let metered = Metered::new();
    let (server, mut started) = slow_server(&metered);
    let client = connect(Client::builder("agent", "1.0.0"), &server, Era::Legacy).await;
    check_full_queue(&client, &metered, &mut started).await;
}

#[tokio::test]
async fn full_queue_of_a_session_is_counted() {
    let metered = Metered::new();
    let (server, mut started) = slow_server(&metered);
    let options = HttpOptions::new().without_signals().without_start_message();
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await;
    let listener = listener.expect("a listener");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let builder = Client::builder("agent", "1.0.0").with_era(Era::Legacy);
    let client = builder.connect(&url).await.expect("a connection");
    check_full_queue(&client, &metered, &mut started).await;
    serving.abort();
}

/// The number of messages that wait for a client.
const QUEUED: usize = 8;

/// Sends more log messages and more progress than the queue accepts.
#[tool]
async fn chatter(ctx: RequestContext) -> &'static str {
    for number in 0..QUEUED + 3 {
        ctx.log(LoggingLevel::Info, number);
    }
    // The queue is full, so later progress replaces the first one.
    for step in 1..=3 {
        ctx.report_steps(step, 3, None);
    }
    "done"
}

#[tokio::test]
async fn messages_that_a_slow_client_does_not_get_are_counted() {
    let metered = Metered::new();
    let server = server().with_logging().tool(chatter);
    let server = server.with_middleware(metered.telemetry.clone());
    let mut limits = Limits::default();
    limits.queued_messages = QUEUED;
    let mut connection = InProcess::connect_with(&server, limits);
    let meta = json!({
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "debug",
    });
    let params = json!({"name": "chatter", "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let sent = connection.send(&call.to_string()).await;
    sent.expect("the server reads");
    // The client reads nothing until the handler has sent everything, which it does without waiting.
    until("drops", || metered.text().contains("for_client")).await;
    let mut received = Vec::new();
    let response = loop {
        let message = connection.receive().await.expect("the response follows");
        let message: Value = serde_json::from_str(&message).expect("JSON");
        if message["id"] == 1 {
            break message;
        }
        received.push(message["method"].clone());
    };
    assert_eq!(response["result"]["content"][0]["text"], "done");
    let is_progress = |method: &&Value| **method == "notifications/progress";
    assert_eq!(received.iter().filter(is_progress).count(), 1);
    assert_eq!(received.len(), QUEUED + 1);
    let expected = (Some("for_client".to_owned()), 3 + 2);
    assert_eq!(dropped(&metered), BTreeSet::from([expected]));
}

#[test]
fn each_queue_has_a_time_series() {
    let metered = Metered::new();
    let drops = [
        NotificationDrop::FromClient,
        NotificationDrop::ForOtherNodes,
        NotificationDrop::ForClient,
        NotificationDrop::FromClient,
    ];
    for dropped in drops {
        metered.telemetry.notification_dropped(dropped);
    }
    let expected = [
        ("from_client", 2),
        ("for_other_nodes", 1),
        ("for_client", 1),
    ];
    let expected = expected.map(|(queue, count)| (Some(queue.to_owned()), count));
    assert_eq!(dropped(&metered), BTreeSet::from(expected));
}
