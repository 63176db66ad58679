//! Concurrent calls over HTTP to a server that drops, delays and duplicates responses, and closes connections.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use toolwire::ProtocolVersion;
use toolwire_tests::peer::within;

use super::stress::{CallCounts, Rng, call_repeatedly};
use super::{LEGACY, MODERN, builder, text};

const CALLS: usize = 10_000;
const CONCURRENT_CALLS: usize = 64;

/// A server that violates the protocol at random, with one task per connection.
#[derive(Debug, Clone)]
struct Hostile {
    rng: Arc<Mutex<Rng>>,
    /// The number of open connections. Each uses a file descriptor on both sides.
    open: watch::Sender<usize>,
}

impl Hostile {
    async fn listen(self) -> (SocketAddr, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let listening = tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.expect("a connection");
                let hostile = self.clone();
                self.open.send_modify(|open| *open += 1);
                tokio::spawn(async move {
                    // An error only means that the client has disconnected.
                    drop(hostile.serve(BufReader::new(socket)).await);
                    hostile.open.send_modify(|open| *open -= 1);
                });
            }
        });
        (address, listening)
    }

    async fn serve(&self, mut socket: BufReader<TcpStream>) -> std::io::Result<()> {
        while let Some((http_method, message)) = read_request(&mut socket).await? {
            let reaction = match http_method.as_str() {
                "POST" => self.react(&message),
                "GET" => Reaction::Status(405),
                _ => Reaction::Status(200),
            };
            match reaction {
                Reaction::Status(status) => {
                    let head = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 0\r\n\r\n");
                    socket.write_all(head.as_bytes()).await?;
                }
                Reaction::Json(response, session) => {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{session}content-length: {}\r\n\r\n",
                        response.len()
                    );
                    socket.write_all((head + &response).as_bytes()).await?;
                }
                Reaction::Later(delay, response) => {
                    tokio::time::sleep(delay).await;
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        response.len()
                    );
                    socket.write_all((head + &response).as_bytes()).await?;
                }
                Reaction::Events(messages) => {
                    let mut body = String::new();
                    for message in messages {
                        body += &format!("data: {message}\n\n");
                    }
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                        body.len()
                    );
                    socket.write_all(head.as_bytes()).await?;
                }
                Reaction::Cut => return Ok(()),
                // Sends nothing until the client disconnects.
                Reaction::Silence => {
                    let mut rest = Vec::new();
                    socket.read_to_end(&mut rest).await?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn react(&self, message: &Value) -> Reaction {
        let id = &message["id"];
        let response =
            |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let result = json!({
                    "protocolVersion": LEGACY,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "hostile", "version": "1"},
                });
                return Reaction::Json(response(result), "mcp-session-id: hostile\r\n");
            }
            "server/discover" => {
                let result = json!({"supportedVersions": [MODERN], "capabilities": {"tools": {}}});
                return Reaction::Json(response(result), "");
            }
            "tools/call" => {}
            _ => return Reaction::Status(202),
        }
        let number = &message["params"]["arguments"]["number"];
        let response = response(text(&number.to_string()));
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1},
        });
        let mut rng = self.rng.lock().expect("no panic");
        match rng.below(20) {
            0 => Reaction::Cut,
            1 => Reaction::Silence,
            2 | 3 => Reaction::Later(Duration::from_millis(rng.below(600)), response),
            4 | 5 => Reaction::Events(vec![response.clone(), response.clone(), response]),
            6 => {
                let error = json!({"code": -32603, "message": "no"});
                let rejection = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
                Reaction::Json(rejection, "")
            }
            7 => Reaction::Status(503),
            // The stream ends without a response.
            8 => Reaction::Events(vec![progress.to_string()]),
            9 => Reaction::Json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#), ""),
            10 | 11 => {
                let messages = ["not a message", &progress.to_string(), &response];
                Reaction::Events(messages.map(str::to_owned).to_vec())
            }
            _ => Reaction::Json(response, ""),
        }
    }
}

#[derive(Debug)]
enum Reaction {
    Status(u16),
    /// A message and an additional header.
    Json(String, &'static str),
    Later(Duration, String),
    Events(Vec<String>),
    Cut,
    Silence,
}

/// Reads the next request. Returns `None` if the client has closed the connection.
async fn read_request(
    socket: &mut BufReader<TcpStream>,
) -> std::io::Result<Option<(String, Value)>> {
    let mut http_method = None;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if http_method.is_none() {
            http_method = line.split(' ').next().map(str::to_ascii_uppercase);
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    let message = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some((http_method.unwrap_or_default(), message)))
}

async fn ten_thousand_calls(version: ProtocolVersion) {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let hostile = Hostile {
        rng: Arc::new(Mutex::new(Rng(0x2545_f491_4f6c_dd1d))),
        open: watch::Sender::new(0),
    };
    let mut open = hostile.open.subscribe();
    let (address, listening) = hostile.listen().await;
    let client = builder()
        .with_versions([version])
        .with_timeout(Duration::from_millis(300))
        .connect(format!("http://{address}/mcp"))
        .await
        .expect("connected");
    let counts: CallCounts = call_repeatedly(&client, CALLS, CONCURRENT_CALLS).await;
    assert_eq!(counts.total(), CALLS, "{counts:?}");
    let kinds = [
        counts.responses,
        counts.timeouts,
        counts.rejections,
        counts.malformed,
        counts.lost,
        counts.progress,
    ];
    for count in kinds {
        assert!(count > CALLS / 100, "{counts:?}");
    }
    within(async {
        while client.pending_operations() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    client.close().await;
    drop(client);
    // All connections are closed and their tasks have ended.
    within(open.wait_for(|open| *open == 0))
        .await
        .expect("a running server");
    listening.abort();
    within(async {
        while metrics.num_alive_tasks() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn ten_thousand_calls_over_http_to_a_hostile_modern_server_leave_no_resources() {
    ten_thousand_calls(MODERN).await;
}

#[tokio::test]
async fn ten_thousand_calls_over_http_to_a_hostile_legacy_server_leave_no_resources() {
    ten_thousand_calls(LEGACY).await;
}
