//! Connections on a pipe instead of a socket, with a clock that stands still while anything can be done.

use tokio::io::{AsyncReadExt as _, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::server::Server;
use crate::transport::http::options::HttpOptions;

/// A connection that is served, and its client's end.
fn open(leave: oneshot::Receiver<()>) -> (DuplexStream, impl Future<Output = ()>) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let service = HttpService::new(Server::new("demo", "1.0.0"), HttpOptions::new());
    let setup = Setup::new(&HttpLimits::default());
    let served = async move { setup.speak(near, service, leave).await };
    (far, served)
}

/// What the server says to bytes that are there when the connection is told to leave before it was served.
async fn said_in_leaving(bytes: &str) -> String {
    let (stay, leave) = oneshot::channel();
    drop(stay);
    let (mut client, served) = open(leave);
    client.write_all(bytes.as_bytes()).await.unwrap();
    let began = Instant::now();
    served.await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    let mut said = String::new();
    client.read_to_string(&mut said).await.unwrap();
    said
}

#[tokio::test(start_paused = true)]
async fn a_whole_request_is_answered_also_in_leaving() {
    // What is ready together was once chosen from by chance.
    for _ in 0..20 {
        let said = said_in_leaving("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        assert!(said.starts_with("HTTP/1.1 404 "), "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_client_that_has_not_chosen_its_http() {
    for begun in ["", "PRI * HTTP"] {
        assert_eq!(said_in_leaving(begun).await, "");
    }
}
