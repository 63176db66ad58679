//! What the HTTP listener does outside of the service: connections, header limits, and shutdown.
//!
//! Requests name an unknown path, because the response of the service does not matter here.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use toolwire::transport::http::{HttpLimits, HttpListener, HttpOptions, HttpService};
use toolwire::{Error, Server};
use toolwire_tests::peer::{modern, plain, server, within};

/// A running listener.
pub(crate) struct RunningListener {
    pub(crate) address: SocketAddr,
    server: Server,
    task: JoinHandle<Result<(), Error>>,
}

impl RunningListener {
    pub(crate) async fn start(options: HttpOptions) -> Self {
        let server = server();
        let options = options.without_signals();
        let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options)
            .await
            .expect("there is a free port");
        Self {
            address: listener.local_addr(),
            server,
            task: tokio::spawn(listener.run()),
        }
    }

    async fn start_with(change: impl FnOnce(&mut HttpLimits)) -> Self {
        let mut limits = HttpLimits::default();
        change(&mut limits);
        Self::start(HttpOptions::new().with_limits(limits)).await
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        within(TcpStream::connect(self.address))
            .await
            .expect("the server listens")
    }

    fn get(&self) -> String {
        format!("GET /nowhere HTTP/1.1\r\nHost: {}\r\n\r\n", self.address)
    }

    /// Sends bytes on a new connection and returns the status of the response.
    async fn status(&self, request: impl AsRef<[u8]>) -> u16 {
        let mut client = self.connect().await;
        client
            .write_all(request.as_ref())
            .await
            .expect("the server reads");
        status(&mut client).await
    }

    async fn expect_served(&self) {
        assert_eq!(self.status(self.get()).await, 404);
    }

    /// Shuts the server down and waits until it has ended.
    pub(crate) async fn end(self) {
        self.server.shutdown();
        let outcome = within(self.task)
            .await
            .expect("the listener does not panic");
        outcome.expect("the listener ends without an error");
    }
}

/// Reads exactly one response and returns its status.
pub(crate) async fn status(client: &mut TcpStream) -> u16 {
    let mut headers = Vec::new();
    while !headers.ends_with(b"\r\n\r\n") {
        headers.push(within(client.read_u8()).await.expect("the server responds"));
    }
    let headers = String::from_utf8(headers)
        .expect("headers are UTF-8")
        .to_lowercase();
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().expect("a number"));
    within(client.read_exact(&mut vec![0; length]))
        .await
        .expect("the body is complete");
    let code = headers
        .strip_prefix("http/1.1 ")
        .and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no status: {headers}"))
}

/// Waits until the server closes or resets the connection, and returns the remaining bytes.
pub(crate) async fn closed(mut client: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = within(client.read_to_end(&mut rest)).await;
    rest
}

#[tokio::test]
async fn existing_socket_is_served() {
    let socket = TcpListener::bind("127.0.0.1:0").await;
    let socket = socket.expect("there is a free port");
    let address = socket.local_addr().expect("the socket is bound");
    let server = server();
    let options = HttpOptions::new().without_signals();
    let listener =
        HttpListener::from_listener(server.clone(), socket, options).expect("the server listens");
    assert_eq!(listener.local_addr(), address);
    let running = RunningListener {
        address,
        server,
        task: tokio::spawn(listener.run()),
    };
    running.expect_served().await;
    running.end().await;
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let running = RunningListener::start(HttpOptions::new()).await;
    let mut client = running.connect().await;
    for _ in 0..3 {
        client.write_all(running.get().as_bytes()).await.unwrap();
        assert_eq!(status(&mut client).await, 404);
    }
    running.end().await;
}

#[tokio::test]
async fn http_2_is_detected_by_its_preface() {
    let running = RunningListener::start(HttpOptions::new()).await;
    let stream = TokioIo::new(running.connect().await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream)
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let url = format!("http://{}/nowhere", running.address);
    let request = |value: String| {
        Request::get(&url)
            .header("x-filler", value)
            .body(Empty::<Bytes>::new())
            .unwrap()
    };
    let response = within(client.send_request(request("short".to_owned()))).await;
    assert_eq!(response.unwrap().status(), 404);
    let response = within(client.send_request(request("x".repeat(64 * 1024)))).await;
    assert_eq!(response.unwrap().status(), 431);
    // The rejection does not close the connection; the shutdown of the server does.
    let response = within(client.send_request(request("short".to_owned()))).await;
    assert_eq!(response.unwrap().status(), 404);
    running.end().await;
    within(connection).await.unwrap().unwrap();
}

#[tokio::test]
async fn incomplete_headers_close_the_connection_after_the_deadline() {
    let running = RunningListener::start_with(|limits| {
        limits.header_deadline = Duration::from_millis(100);
    })
    .await;
    for beginning in [
        "",
        "P",
        "PRI * HTTP/2.0\r\n",
        // As long as the preface of HTTP/2, with the same first bytes.
        "PRINT / HTTP/1.1\r\nHost: a\r\nX-Slow: ",
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    ] {
        let mut client = running.connect().await;
        client.write_all(beginning.as_bytes()).await.unwrap();
        assert_eq!(closed(client).await, b"", "{beginning:?}");
    }
    running.end().await;
}

#[tokio::test]
async fn headers_beyond_the_limits_are_rejected_with_431() {
    let running = RunningListener::start(HttpOptions::new()).await;
    let fields = "X-Filler: x\r\n".repeat(101);
    let many = format!("GET /nowhere HTTP/1.1\r\n{fields}\r\n");
    assert_eq!(running.status(many).await, 431);
    // Also far longer than the buffer: the rest is discarded until the client has read the response.
    for length in [64 * 1024, 1024 * 1024] {
        let mut long = b"GET /nowhere HTTP/1.1\r\nX-Filler: ".to_vec();
        long.resize(length, b'x');
        assert_eq!(running.status(long).await, 431, "{length} bytes");
    }
    running.end().await;
}

#[tokio::test]
async fn ambiguous_headers_are_rejected() {
    let running = RunningListener::start(HttpOptions::new()).await;
    for field in [
        "X-Value: a\0b",
        "X-Value: a\rb",
        "X-Value: a\nb",
        "X-Value: a\x01b",
        "X Name: value",
        ": value",
        "X-Value : value",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: -1",
    ] {
        let address = running.address;
        let request = format!("POST /nowhere HTTP/1.1\r\nHost: {address}\r\n{field}\r\n\r\n");
        assert_eq!(running.status(request).await, 400, "{field:?}");
    }
    running.expect_served().await;
    running.end().await;
}

#[tokio::test]
async fn client_that_reads_nothing_is_disconnected() {
    let running = RunningListener::start_with(|limits| {
        limits.write_stall = Duration::from_millis(100);
        limits.header_deadline = Duration::from_secs(3600);
    })
    .await;
    let mut client = running.connect().await;
    let requests = running.get().repeat(1000);
    // The client reads no responses. When all buffers are full, the server closes the connection and writing fails.
    within(async { while client.write_all(requests.as_bytes()).await.is_ok() {} }).await;
    running.expect_served().await;
    running.end().await;
}

#[tokio::test]
async fn reset_connections_do_not_affect_the_server() {
    let running = RunningListener::start(HttpOptions::new()).await;
    for _ in 0..50 {
        let client = running.connect().await;
        // Dropping the socket then resets the connection, perhaps before the server accepts it.
        client.set_zero_linger().unwrap();
    }
    running.expect_served().await;
    running.end().await;
}

#[tokio::test]
async fn shutdown_closes_idle_connections_immediately() {
    let running = RunningListener::start_with(|limits| {
        limits.drain = Duration::from_secs(3600);
        limits.header_deadline = Duration::from_secs(3600);
    })
    .await;
    let silent = running.connect().await;
    let mut idle = running.connect().await;
    idle.write_all(running.get().as_bytes()).await.unwrap();
    assert_eq!(status(&mut idle).await, 404);
    // Connections are accepted in order, so the silent one has been accepted as well.
    let address = running.address;
    running.end().await;
    closed(silent).await;
    closed(idle).await;
    within(TcpStream::connect(address)).await.unwrap_err();
}

#[tokio::test]
async fn shutdown_ends_the_streams_of_further_services() {
    let mut limits = HttpLimits::default();
    limits.drain = Duration::from_secs(3600);
    let options = || {
        HttpOptions::new()
            .with_limits(limits.clone())
            .without_signals()
    };
    let main = server();
    let listener = HttpListener::bind(main.clone(), "127.0.0.1:0", options())
        .await
        .unwrap();
    let notes = server().tool(plain("t", |_| async { "t" }));
    let further = HttpService::new(notes, options().with_path("/mcp/notes"));
    listener.service().add_service(further);
    let address = listener.local_addr();
    let running = tokio::spawn(listener.run());
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let body = modern("l", "subscriptions/listen", filter).to_string();
    let request = format!(
        "POST /mcp/notes HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = within(TcpStream::connect(address)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(status(&mut stream).await, 200);
    main.shutdown();
    within(running).await.unwrap().unwrap();
    let rest = String::from_utf8(closed(stream).await).unwrap();
    assert!(rest.contains(r#""id":"l","result""#), "{rest}");
}

#[tokio::test]
async fn shutdown_closes_open_connections_after_the_drain_timeout() {
    let running = RunningListener::start_with(|limits| {
        limits.drain = Duration::from_millis(50);
        limits.header_deadline = Duration::from_secs(3600);
    })
    .await;
    let mut incomplete = running.connect().await;
    incomplete
        .write_all(b"POST /mcp HTTP/1.1\r\nX-Never-Ends: ")
        .await
        .unwrap();
    running.expect_served().await;
    running.end().await;
    closed(incomplete).await;
}

#[tokio::test]
async fn dropping_the_listener_future_closes_connections() {
    let running = RunningListener::start(HttpOptions::new()).await;
    let mut client = running.connect().await;
    client.write_all(running.get().as_bytes()).await.unwrap();
    assert_eq!(status(&mut client).await, 404);
    running.task.abort();
    closed(client).await;
}

#[tokio::test]
async fn error_names_the_port_in_use() {
    let running = RunningListener::start(HttpOptions::new()).await;
    let error = server().serve_http(running.address).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&running.address.to_string()), "{text}");
    assert!(text.contains("choose another port"), "{text}");
    running.end().await;
}

#[tokio::test]
async fn url_contains_the_assigned_port() {
    let options = HttpOptions::new().with_path("/custom");
    let listener = HttpListener::bind(server(), "127.0.0.1:0", options)
        .await
        .unwrap();
    let port = listener.local_addr().port();
    assert_ne!(port, 0);
    let url = format!("http://127.0.0.1:{port}/custom");
    assert_eq!(listener.url(), url);
}
