//! A minimal server for the load that treats one of its streams incorrectly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The treatment of the bad stream. The others get one notification each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// The same as the others.
    Fair,
    /// Its request is rejected.
    Refused,
    /// It ends when the others get their notification.
    HungUpOn,
    /// It gets its notification twice.
    ToldTwice,
    /// It gets the notification of another stream and ends.
    ToldOfAnother,
    /// It gets a notification although nothing has changed.
    ToldEarly,
}

/// Runs until the test ends, and returns the URL.
pub(crate) async fn start(treatment: Treatment) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("it is bound"));
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        let changed = Arc::new(watch::Sender::new(false));
        let streams = Arc::new(AtomicUsize::new(0));
        let mut connections = JoinSet::new();
        loop {
            let (socket, _) = listener.accept().await.expect("the load connects");
            connections.spawn(serve(
                socket,
                treatment,
                Arc::clone(&changed),
                Arc::clone(&streams),
            ));
        }
    });
    (url, accepting)
}

async fn serve(
    mut socket: TcpStream,
    treatment: Treatment,
    changed: Arc<watch::Sender<bool>>,
    streams: Arc<AtomicUsize>,
) {
    let request = read_request(&mut socket).await;
    if request.contains("Mcp-Method: tools/call\r\n") {
        assert!(request.contains("Mcp-Name: change\r\n"), "{request}");
        changed.send_replace(true);
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
        respond(&mut socket, "200 OK", answer).await;
        return;
    }
    let is_bad = streams.fetch_add(1, Ordering::Relaxed) == 2;
    let treatment = if is_bad { treatment } else { Treatment::Fair };
    if treatment == Treatment::Refused {
        respond(&mut socket, "503 Service Unavailable", "full").await;
        return;
    }
    let mut opening = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
        Transfer-Encoding: chunked\r\n\r\n"
        .to_owned();
    opening += &notification("subscriptions/acknowledged", 1);
    if treatment == Treatment::ToldEarly {
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
        .expect("the sender is held here");
    let news = notification("tools/list_changed", 1);
    let news = match treatment {
        Treatment::ToldTwice => news.repeat(2),
        Treatment::ToldOfAnother => notification("tools/list_changed", 2),
        Treatment::HungUpOn => return,
        _ => news,
    };
    socket
        .write_all(news.as_bytes())
        .await
        .expect("the load reads");
    if treatment != Treatment::ToldOfAnother {
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
