//! What the listener does before a request reaches the service, and around it.
//!
//! Requests ask for a path that is not there, so that what the service answers does not matter here.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use toolwire::transport::http::{HttpLimits, HttpListener, HttpOptions};
use toolwire::{Error, Server};

use crate::peer::{server, within};

/// A listener that runs.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    server: Server,
    task: JoinHandle<Result<(), Error>>,
}

impl Running {
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
            .expect("it listens")
    }

    fn get(&self) -> String {
        format!("GET /nowhere HTTP/1.1\r\nHost: {}\r\n\r\n", self.address)
    }

    /// Sends bytes on a connection of their own and reads the status.
    async fn status(&self, request: impl AsRef<[u8]>) -> u16 {
        let mut client = self.connect().await;
        client.write_all(request.as_ref()).await.expect("it reads");
        status(&mut client).await
    }

    async fn still_serves(&self) {
        assert_eq!(self.status(self.get()).await, 404);
    }

    /// Shuts the server down and waits for its end.
    pub(crate) async fn end(self) {
        self.server.shutdown();
        let outcome = within(self.task).await.expect("it does not panic");
        outcome.expect("it ends well");
    }
}

/// Reads one answer, and no byte more.
pub(crate) async fn status(client: &mut TcpStream) -> u16 {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(within(client.read_u8()).await.expect("it answers"));
    }
    let head = String::from_utf8(head)
        .expect("heads are text")
        .to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().expect("a number"));
    within(client.read_exact(&mut vec![0; length]))
        .await
        .expect("the body is whole");
    let code = head
        .strip_prefix("http/1.1 ")
        .and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no status: {head}"))
}

/// Waits until the server closes the connection, however it does.
pub(crate) async fn closed(mut client: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = within(client.read_to_end(&mut rest)).await;
    rest
}

#[tokio::test]
async fn a_socket_that_listens_already_is_served() {
    let socket = TcpListener::bind("127.0.0.1:0").await;
    let socket = socket.expect("there is a free port");
    let address = socket.local_addr().expect("it is bound");
    let server = server();
    let options = HttpOptions::new().without_signals();
    let listener =
        HttpListener::from_listener(server.clone(), socket, options).expect("it listens");
    assert_eq!(listener.local_addr(), address);
    let running = Running {
        address,
        server,
        task: tokio::spawn(listener.run()),
    };
    running.still_serves().await;
    running.end().await;
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let running = Running::start(HttpOptions::new()).await;
    let mut client = running.connect().await;
    for _ in 0..3 {
        client.write_all(running.get().as_bytes()).await.unwrap();
        assert_eq!(status(&mut client).await, 404);
    }
    running.end().await;
}

#[tokio::test]
async fn http_2_is_spoken_with_those_who_begin_with_it() {
    let running = Running::start(HttpOptions::new()).await;
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
    let answer = within(client.send_request(request("short".to_owned()))).await;
    assert_eq!(answer.unwrap().status(), 404);
    let answer = within(client.send_request(request("x".repeat(64 * 1024)))).await;
    assert_eq!(answer.unwrap().status(), 431);
    // The connection survives the refusal, and ends when the server is told to leave.
    let answer = within(client.send_request(request("short".to_owned()))).await;
    assert_eq!(answer.unwrap().status(), 404);
    running.end().await;
    within(connection).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_head_is_closed() {
    let running = Running::start_with(|limits| {
        limits.header_deadline = Duration::from_millis(100);
    })
    .await;
    for beginning in [
        "",
        "P",
        "PRI * HTTP/2.0\r\n",
        // As long as the preface of HTTP/2, and begins like it.
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
async fn heads_far_beyond_the_bounds_are_refused() {
    let running = Running::start(HttpOptions::new()).await;
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

/// H37, H38
#[tokio::test]
async fn heads_that_could_be_read_in_two_ways_are_refused() {
    let running = Running::start(HttpOptions::new()).await;
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
    running.still_serves().await;
    running.end().await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_closed() {
    let running = Running::start_with(|limits| {
        limits.write_stall = Duration::from_millis(100);
        limits.header_deadline = Duration::from_secs(3600);
    })
    .await;
    let mut client = running.connect().await;
    let requests = running.get().repeat(1000);
    // Nobody reads the answers. When the server has filled all buffers with them it gives up, and writing fails.
    within(async { while client.write_all(requests.as_bytes()).await.is_ok() {} }).await;
    running.still_serves().await;
    running.end().await;
}

#[tokio::test]
async fn clients_that_vanish_do_no_harm() {
    let running = Running::start(HttpOptions::new()).await;
    for _ in 0..50 {
        let client = running.connect().await;
        // Closing then resets the connection, perhaps before it was accepted.
        client.set_zero_linger().unwrap();
    }
    running.still_serves().await;
    running.end().await;
}

#[tokio::test]
async fn shutting_down_closes_idle_connections_at_once() {
    let running = Running::start_with(|limits| {
        limits.drain = Duration::from_secs(3600);
        limits.header_deadline = Duration::from_secs(3600);
    })
    .await;
    let silent = running.connect().await;
    let mut idle = running.connect().await;
    idle.write_all(running.get().as_bytes()).await.unwrap();
    assert_eq!(status(&mut idle).await, 404);
    // It was accepted after the silent one, so that one has been, too.
    let address = running.address;
    running.end().await;
    closed(silent).await;
    closed(idle).await;
    within(TcpStream::connect(address)).await.unwrap_err();
}

#[tokio::test]
async fn shutting_down_does_not_wait_for_ever() {
    let running = Running::start_with(|limits| {
        limits.drain = Duration::from_millis(50);
        limits.header_deadline = Duration::from_secs(3600);
    })
    .await;
    let mut hanging = running.connect().await;
    hanging
        .write_all(b"POST /mcp HTTP/1.1\r\nX-Never-Ends: ")
        .await
        .unwrap();
    running.still_serves().await;
    running.end().await;
    closed(hanging).await;
}

#[tokio::test]
async fn dropping_the_future_cuts_connections_off() {
    let running = Running::start(HttpOptions::new()).await;
    let mut client = running.connect().await;
    client.write_all(running.get().as_bytes()).await.unwrap();
    assert_eq!(status(&mut client).await, 404);
    running.task.abort();
    closed(client).await;
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let running = Running::start(HttpOptions::new()).await;
    let refused = server().serve_http(running.address).await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains(&running.address.to_string()), "{text}");
    assert!(text.contains("choose another port"), "{text}");
    running.end().await;
}

#[tokio::test]
async fn the_url_names_the_port_that_was_chosen() {
    let options = HttpOptions::new().with_path("/elsewhere");
    let listener = HttpListener::bind(server(), "127.0.0.1:0", options)
        .await
        .unwrap();
    let port = listener.local_addr().port();
    assert_ne!(port, 0);
    let url = format!("http://127.0.0.1:{port}/elsewhere");
    assert_eq!(listener.url(), url);
}
