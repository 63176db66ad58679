//! A minimal server for the load that serves one of its streams incorrectly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The behavior of the server towards one stream. The others get one notification each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// The stream is served like the others.
    Correct,
    /// The request is rejected.
    Rejected,
    /// The stream ends when the others get their notification.
    Closed,
    /// The stream gets its notification twice.
    NotifiedTwice,
    /// The stream gets the notification of another subscription and ends.
    WrongSubscription,
    /// The stream gets a notification before the change.
    NotifiedEarly,
}

/// Starts the server and returns its URL. It runs until the task set is dropped.
pub(crate) async fn start(behavior: Behavior) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let url = format!(
        "http://{}/mcp",
        listener.local_addr().expect("the listener is bound")
    );
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        let changed = Arc::new(watch::Sender::new(false));
        let streams = Arc::new(AtomicUsize::new(0));
        let mut connections = JoinSet::new();
        loop {
            let (socket, _) = listener.accept().await.expect("the load connects");
            connections.spawn(serve(
                socket,
                behavior,
                Arc::clone(&changed),
                Arc::clone(&streams),
            ));
        }
    });
    (url, accepting)
}

async fn serve(
    mut socket: TcpStream,
    behavior: Behavior,
    changed: Arc<watch::Sender<bool>>,
    streams: Arc<AtomicUsize>,
) {
    let request = read_request(&mut socket).await;
    if request.contains("Mcp-Method: tools/call\r\n") {
        assert!(request.contains("Mcp-Name: change\r\n"), "{request}");
        changed.send_replace(true);
        let result = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
        respond(&mut socket, "200 OK", result).await;
        return;
    }
    let is_bad = streams.fetch_add(1, Ordering::Relaxed) == 2;
    let behavior = if is_bad { behavior } else { Behavior::Correct };
    if behavior == Behavior::Rejected {
        respond(&mut socket, "503 Service Unavailable", "full").await;
        return;
    }
    let mut opening = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
        Transfer-Encoding: chunked\r\n\r\n"
        .to_owned();
    opening += &notification("subscriptions/acknowledged", 1);
    if behavior == Behavior::NotifiedEarly {
        opening += &notification("tools/list_changed", 1);
    }
    socket
        .write_all(opening.as_bytes())
        .await
        .expect("the load reads");

    let mut change = changed.subscribe();
    change
        .wait_for(|changed| *changed)
        .await
        .expect("the sender is alive");
    let notifications = notification("tools/list_changed", 1);
    let notifications = match behavior {
        Behavior::NotifiedTwice => notifications.repeat(2),
        Behavior::WrongSubscription => notification("tools/list_changed", 2),
        Behavior::Closed => return,
        _ => notifications,
    };
    socket
        .write_all(notifications.as_bytes())
        .await
        .expect("the load reads");
    if behavior != Behavior::WrongSubscription {
        // The stream stays open until the load closes it.
        let _ = socket.read(&mut [0]).await;
    }
}

/// Reads the complete request: its headers, and a body that is complete when it is valid JSON.
async fn read_request(socket: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while body_of(&request).is_none() {
        let length = socket
            .read_buf(&mut request)
            .await
            .expect("the load writes");
        assert_ne!(length, 0, "the load writes whole requests");
    }
    String::from_utf8(request).expect("requests are text")
}

fn body_of(request: &[u8]) -> Option<serde_json::Value> {
    let text = std::str::from_utf8(request).ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}

async fn respond(socket: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let response = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
    socket
        .write_all(response.as_bytes())
        .await
        .expect("the load reads");
}

/// Returns one chunk with one event.
fn notification(method: &str, subscription: u32) -> String {
    let message = serde_json::json!({
        "jsonrpc": "2.0",
        "method": format!("notifications/{method}"),
        "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": subscription } },
    });
    let event = format!("data: {message}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}
