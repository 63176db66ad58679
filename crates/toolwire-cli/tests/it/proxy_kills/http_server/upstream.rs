//! A server over HTTP that is killed and started again. It keeps its address, at which this process forwards to it.
//!
//! The requests are recorded on the way, and responses can be withheld, so that a phase of a request lasts until the kill.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Deserializer, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::http::HttpDemo;
use crate::process::{Era, within};
use crate::proxy_kills::{kill, poll};

/// The server, with the address in front of it.
pub(super) struct HttpUpstream {
    era: Era,
    address: SocketAddr,
    server: HttpDemo,
    forwarding: JoinHandle<()>,
    state: Arc<Mutex<ForwardState>>,
}

#[derive(Default)]
struct ForwardState {
    /// The bytes of the proxy on each connection.
    requests: Vec<Vec<u8>>,
    /// The number of connections to the server that are open.
    open: usize,
    withheld: Option<Withheld>,
    /// The number of responses that have been withheld.
    withheld_count: usize,
}

/// Responses that are not forwarded, until another value is set.
#[derive(Clone, Copy)]
pub(super) struct Withheld {
    /// A text in the body of their requests.
    pub(super) of_requests_with: &'static str,
    /// Whether their headers are forwarded.
    pub(super) forwards_headers: bool,
}

impl HttpUpstream {
    pub(super) async fn start(era: Era) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let server = start_server(era).await;
        let state = Arc::default();
        let forwarding = forward(listener, server.address(), &state);
        Self {
            era,
            address,
            server,
            forwarding,
            state,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Kills the server, and waits until its connections are closed. Its address refuses further ones.
    pub(super) async fn kill(&mut self) {
        self.forwarding.abort();
        // The listener is closed when the task has ended.
        let _ = (&mut self.forwarding).await;
        kill(self.server.process_id());
        within(poll(|| lock(&self.state).open == 0)).await;
    }

    /// Starts another server at the same address.
    pub(super) async fn restart(&mut self) {
        self.withhold(None);
        self.server = start_server(self.era).await;
        let listener = TcpListener::bind(self.address).await;
        let listener = listener.expect("no other program uses the address");
        self.forwarding = forward(listener, self.server.address(), &self.state);
    }

    /// Sets which responses are withheld from now on.
    pub(super) fn withhold(&self, withheld: Option<Withheld>) {
        let mut state = lock(&self.state);
        (state.withheld, state.withheld_count) = (withheld, 0);
    }

    /// Waits until this many responses have been withheld.
    pub(super) async fn expect_withheld(&self, count: usize) {
        within(poll(|| lock(&self.state).withheld_count >= count)).await;
    }

    /// Returns the number of calls that the servers got, without further rounds and without those of tools that only read.
    pub(super) fn calls(&self) -> usize {
        let state = lock(&self.state);
        let messages = state.requests.iter().flat_map(|bytes| messages(bytes));
        let calls = messages.filter(|message| {
            let params = &message["params"];
            let is_counted = params["name"] == "countdown" || params["name"] == "approve";
            message["method"] == "tools/call" && is_counted && params.get("requestState").is_none()
        });
        calls.count()
    }
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        self.forwarding.abort();
    }
}

async fn start_server(era: Era) -> HttpDemo {
    let version = match era {
        Era::Modern => "--protocol-version=2026-07-28",
        Era::Legacy => "--protocol-version=2025-11-25",
    };
    HttpDemo::start(&[version]).await
}

fn lock(state: &Mutex<ForwardState>) -> MutexGuard<'_, ForwardState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the bodies of all requests on a connection.
fn messages(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    // Each part but the first one begins with a body, and ends with the headers of the next request.
    let bodies = text.split("\r\n\r\n").skip(1);
    let first_value = |body| Deserializer::from_str(body).into_iter().next();
    bodies.filter_map(|body| first_value(body)?.ok()).collect()
}

/// Forwards the connections of a listener, until the task is aborted.
fn forward(
    listener: TcpListener,
    server: &str,
    state: &Arc<Mutex<ForwardState>>,
) -> JoinHandle<()> {
    let (server, state) = (server.to_owned(), Arc::clone(state));
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.expect("it accepts");
            let (server, state) = (server.clone(), Arc::clone(&state));
            tokio::spawn(async move {
                // The server may have been killed. Then the connection closes.
                if let Ok(server) = TcpStream::connect(server).await {
                    forward_connection(client, server, &state).await;
                }
            });
        }
    })
}

/// Forwards both directions until one of them ends.
async fn forward_connection(client: TcpStream, server: TcpStream, state: &Mutex<ForwardState>) {
    let number = {
        let mut state = lock(state);
        state.requests.push(Vec::new());
        state.open += 1;
        state.requests.len() - 1
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = forward_requests(from_client, to_server, state, number) => {}
        () = forward_responses(from_server, to_client, state, number) => {}
    }
    lock(state).open -= 1;
}

async fn forward_requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &Mutex<ForwardState>,
    number: usize,
) {
    let mut chunk = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        lock(state).requests[number].extend_from_slice(&chunk[..length]);
        if to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
}

async fn forward_responses(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &Mutex<ForwardState>,
    number: usize,
) {
    let mut chunk = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        let bytes = &chunk[..length];
        let withheld = lock(state).withheld_on(number);
        if let Some(withheld) = withheld {
            return withhold(withheld, bytes.to_vec(), from, to, state).await;
        }
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
}

/// Forwards at most the headers of a response, and discards the rest until the server ends.
async fn withhold(
    withheld: Withheld,
    mut response: Vec<u8>,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &Mutex<ForwardState>,
) {
    let mut chunk = [0; 16 * 1024];
    if withheld.forwards_headers {
        let end = loop {
            if let Some(end) = end_of_headers(&response) {
                break end;
            }
            let Ok(length @ 1..) = from.read(&mut chunk).await else {
                return;
            };
            response.extend_from_slice(&chunk[..length]);
        };
        let written = to.write_all(&response[..end]).await;
        written.expect("the proxy reads");
    }
    lock(state).withheld_count += 1;
    while let Ok(1..) = from.read(&mut chunk).await {}
}

fn end_of_headers(bytes: &[u8]) -> Option<usize> {
    let at = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    at.map(|at| at + 4)
}

impl ForwardState {
    /// Returns what is withheld of the response to the last request on a connection.
    fn withheld_on(&self, number: usize) -> Option<Withheld> {
        let text = String::from_utf8_lossy(&self.requests[number]);
        let (_, body) = text.rsplit_once("\r\n\r\n")?;
        self.withheld
            .filter(|withheld| body.contains(withheld.of_requests_with))
    }
}
