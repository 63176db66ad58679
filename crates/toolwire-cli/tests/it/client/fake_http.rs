//! Fake servers that send one response to every request, or no response.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server on its own port, until it is dropped.
pub(crate) struct FakeHttp {
    address: std::net::SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl FakeHttp {
    /// Sends this response to every request and closes the connection. The headers announce the close, because a fast
    /// client might reuse the connection.
    pub(crate) async fn responding(response: &str) -> Self {
        let response = response.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        Self::start(Some(response)).await
    }

    /// Reads requests and never responds.
    pub(crate) async fn silent() -> Self {
        Self::start(None).await
    }

    async fn start(response: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the listener is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, response.clone(), Arc::clone(&recorded)));
            }
        });
        Self {
            address,
            requests,
            serving,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the number of requests so far.
    pub(crate) fn request_count(&self) -> usize {
        let requests = self.requests.lock();
        requests.expect("no thread panics with the lock").len()
    }

    pub(crate) fn first_request(&self) -> String {
        let requests = self
            .requests
            .lock()
            .expect("no thread panics with the lock");
        requests.first().expect("a request arrived").clone()
    }
}

impl Drop for FakeHttp {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut client: TcpStream, response: Option<String>, requests: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    // Reads the headers, or the start of a TLS handshake.
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.first() != Some(&0x16) {
        match client.read(&mut buffer).await {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
    requests
        .lock()
        .expect("no thread panics with the lock")
        .push(String::from_utf8_lossy(&request).into_owned());
    match response {
        Some(response) => {
            let _ = client.write_all(response.as_bytes()).await;
            let _ = client.shutdown().await;
            // Reads the remaining bytes, so that closing does not reset the connection.
            while matches!(client.read(&mut buffer).await, Ok(length) if length > 0) {}
        }
        None => std::future::pending().await,
    }
}
