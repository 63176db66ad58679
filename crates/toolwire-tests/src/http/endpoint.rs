//! An HTTP server on a local port.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use toolwire::transport::http::{HttpLimits, HttpListener, HttpLoad, HttpOptions, HttpService};
use toolwire::{Error, Server};

use crate::http::events::Events;
use crate::http::request::Request;
use crate::http::socket::{Connection, Response};
use crate::peer::within;

/// An HTTP server that runs until it is dropped.
#[derive(Debug)]
pub struct Endpoint {
    /// The address of the server.
    pub address: SocketAddr,
    /// The server.
    pub server: Server,
    /// The HTTP service of the server.
    pub service: HttpService,
    running: JoinHandle<Result<(), Error>>,
}

impl Endpoint {
    /// Starts a server with default options.
    pub async fn serve(server: &Server) -> Self {
        Self::serve_with(server, HttpOptions::new()).await
    }

    /// Starts a server with these limits.
    pub async fn serve_within(server: &Server, limits: HttpLimits) -> Self {
        Self::serve_with(server, HttpOptions::new().with_limits(limits)).await
    }

    /// Starts a server with these options.
    pub async fn serve_with(server: &Server, options: HttpOptions) -> Self {
        let options = options.without_signals();
        let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options)
            .await
            .unwrap();
        Self {
            address: listener.local_addr(),
            server: server.clone(),
            service: listener.service().clone(),
            running: tokio::spawn(listener.run()),
        }
    }

    /// Opens a connection.
    pub async fn connect(&self) -> Connection {
        Connection::connect(self.address).await
    }

    /// Sends a request on a new connection and returns the complete response.
    pub async fn request(&self, request: &Request) -> Response {
        let mut connection = self.connect().await;
        connection.send(request.bytes()).await;
        connection.response().await
    }

    /// Sends a 2026-07-28 message and returns the single message of the response.
    pub async fn call(&self, message: Value) -> Value {
        let response = self.request(&Request::modern(&message)).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        response.message()
    }

    /// Sends a request on a new connection and returns the response, which must be an event stream.
    pub async fn open(&self, request: &Request) -> Events {
        let mut connection = self.connect().await;
        connection.send(request.bytes()).await;
        let headers = connection.headers().await;
        if !headers.is_event_stream() {
            panic!("no stream: {headers:?}");
        }
        Events::new(connection, headers)
    }

    /// Waits until the load of the service is zero.
    pub async fn wait_until_idle(&self) {
        self.wait_for_load(HttpLoad::default()).await;
    }

    /// Waits until the service has exactly this load. Bytes are compared only if the expected load is zero.
    pub async fn wait_for_load(&self, expected: HttpLoad) {
        let load = || {
            if expected == HttpLoad::default() {
                self.service.load()
            } else {
                self.counts()
            }
        };
        let reached = async {
            while load() != expected {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), reached).await;
        let load = self.service.load();
        assert!(waited.is_ok(), "{load:?} instead of {expected:?}");
    }

    /// Returns the load of the service without the byte counts.
    pub fn counts(&self) -> HttpLoad {
        let mut load = self.service.load();
        (load.request_bytes, load.stream_bytes) = (0, 0);
        load
    }

    /// Waits until this many requests run.
    pub async fn wait_for_requests(&self, expected: usize) {
        let reached = async {
            while self.service.load().requests != expected {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        within(reached).await;
    }

    /// Waits until the server accepts no new connections after a shutdown.
    pub async fn expect_no_more_connections(&self) {
        let closed = async { while TcpStream::connect(self.address).await.is_ok() {} };
        within(closed).await;
    }

    /// Shuts the server down and waits until it has ended.
    pub async fn end(mut self) {
        self.server.shutdown();
        within(&mut self.running).await.unwrap().unwrap();
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.running.abort();
    }
}
