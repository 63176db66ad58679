//! Servers that answer everything alike, or nothing at all.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server on a port of its own, until it is dropped.
pub(crate) struct FakeHttp {
    address: std::net::SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl FakeHttp {
    /// Answers every request with this and hangs up. That it will is said in the head: a client that is quick might send its
    /// next request on the same connection.
    pub(crate) async fn answering(answer: &str) -> Self {
        let said = answer.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        Self::start(Some(said)).await
    }

    /// Reads and says nothing.
    pub(crate) async fn silent() -> Self {
        Self::start(None).await
    }

    async fn start(answer: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, answer.clone(), Arc::clone(&seen)));
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

    pub(crate) fn first_request(&self) -> String {
        let requests = self.requests.lock().expect("nobody panics with it");
        requests.first().expect("somebody asked").clone()
    }
}

impl Drop for FakeHttp {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut client: TcpStream, answer: Option<String>, requests: Arc<Mutex<Vec<String>>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    // Enough of it to know that it came: a head, or a TLS greeting.
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.first() != Some(&0x16) {
        match client.read(&mut buffer).await {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
    requests
        .lock()
        .expect("nobody panics with it")
        .push(String::from_utf8_lossy(&request).into_owned());
    match answer {
        Some(answer) => {
            let _ = client.write_all(answer.as_bytes()).await;
            let _ = client.shutdown().await;
            // What still comes is read, so that hanging up does not look like a broken connection.
            while matches!(client.read(&mut buffer).await, Ok(length) if length > 0) {}
        }
        None => std::future::pending().await,
    }
}
