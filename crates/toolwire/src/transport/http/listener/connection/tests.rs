//! Connections on a pipe instead of a socket, with a clock that stands still while anything can be done.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::transport::http::options::HttpOptions;
use crate::{JsonSchema, RequestContext, Server, ToolHandler};

#[derive(serde::Deserialize, JsonSchema)]
struct Nap {
    seconds: u64,
}

/// A call whose answer takes so many seconds; after five it becomes a stream.
fn sleep(seconds: u64) -> String {
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"sleep","arguments":{{"seconds":{seconds}}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: sleep\r\nContent-Length: {}\r\n\r\n{message}",
        message.len()
    )
}

const GET: &str = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A connection that is served, and its client's end.
fn open(leave: oneshot::Receiver<()>) -> (DuplexStream, impl Future<Output = ()>) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let sleep = ToolHandler::typed("sleep", |_: RequestContext, nap: Nap| async move {
        tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
        "slept"
    });
    let server = Server::new("demo", "1.0.0").tool(sleep);
    let service = HttpService::new(server, HttpOptions::new());
    let setup = ConnectionConfig::new(&HttpLimits::default());
    let served = async move { setup.serve_http(near, service, leave).await };
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

/// A client says things, each a second after the one before, and then nothing: after how many seconds is it given up?
async fn given_up_after(said: &[&str]) -> u64 {
    let (_stay, leave) = oneshot::channel();
    let (mut client, served) = open(leave);
    let began = Instant::now();
    let speaking = async {
        for (turn, piece) in said.iter().enumerate() {
            if turn > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            client.write_all(piece.as_bytes()).await.unwrap();
        }
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        assert!(!answers.starts_with("HTTP/1.1 400 "), "{answers}");
    };
    tokio::join!(served, speaking);
    began.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_not_finished_is_given_up() {
    let limits = HttpLimits::default();
    assert_eq!(limits.header_deadline.as_secs(), 10);
    assert_eq!(limits.idle_connection.as_secs(), 120);
    let (short, long) = (sleep(3), sleep(20));
    let (short_and_next, long_and_next) = (format!("{short}POST /m"), format!("{long}POST /m"));
    for (said, seconds) in [
        // The first, which begins like the preface of HTTP/2.
        (&["PRINT / HTTP/1.1\r\nHost: a\r\nX: "][..], 10),
        // Behind a plain answer, behind one that becomes a stream, and behind one that hyper has from the beginning.
        (&[&short, "POST /m"], 3 + 10),
        (&[&short_and_next], 3 + 10),
        (&[&long, "POST /m"], 20 + 10),
        (&[&long_and_next], 20 + 10),
        (&[GET, &long, "POST /m"], 1 + 20 + 10),
    ] {
        assert_eq!(given_up_after(said).await, seconds, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_rest_after_whole_requests() {
    for seconds in [0, 3, 20] {
        let sleep = sleep(seconds);
        let (head, body) = sleep.split_at(sleep.len() - 5);
        assert_eq!(given_up_after(&[&sleep]).await, seconds + 120);
        assert_eq!(given_up_after(&[head, body]).await, 1 + seconds + 120);
        assert_eq!(given_up_after(&[&sleep, GET]).await, seconds.max(1) + 120);
    }
}

#[cfg(feature = "http2")]
mod http2 {
    use http_body_util::{BodyExt as _, Full};
    use hyper::body::Bytes;
    use hyper::client::conn::http2::SendRequest;
    use hyper_util::rt::{TokioExecutor, TokioTimer};

    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    struct Length {
        bytes: usize,
    }

    /// Serves one connection, and returns its client, whose streams have so small a window.
    async fn connect(window: u32) -> SendRequest<Full<Bytes>> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let text = ToolHandler::typed("text", |_: RequestContext, length: Length| async move {
            "x".repeat(length.bytes)
        });
        let server = Server::new("demo", "1.0.0").tool(text);
        let service = HttpService::new(server, HttpOptions::new());
        let setup = ConnectionConfig::new(&HttpLimits::default());
        tokio::spawn(async move {
            let (_stay, leave) = oneshot::channel();
            setup.serve_http(near, service, leave).await;
        });
        let (client, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(window)
            .handshake(TokioIo::new(far))
            .await
            .unwrap();
        tokio::spawn(connection);
        client
    }

    /// Calls the tool, and returns the body of the response before any of it is read.
    async fn call(client: &SendRequest<Full<Bytes>>, bytes: usize) -> hyper::body::Incoming {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"text","arguments":{{"bytes":{bytes}}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let request = Request::post("http://localhost/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "text")
            .body(Full::from(message))
            .unwrap();
        let response = client.clone().send_request(request).await.unwrap();
        assert_eq!(response.status(), 200);
        response.into_body()
    }

    #[tokio::test(start_paused = true)]
    async fn stream_with_a_closed_window_is_reset_and_others_continue() {
        let stall = HttpLimits::default().write_stall;
        // The response of the first waits in our body, that of the second inside hyper.
        for (window, bytes) in [(1000, 200_000), (10, 100)] {
            let client = connect(window).await;
            let stalled = call(&client, bytes).await;
            let began = Instant::now();
            while began.elapsed() < stall + Duration::from_secs(2) {
                let read = call(&client, 5000).await.collect().await.unwrap();
                assert!(read.to_bytes().len() > 5000);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let error = stalled.collect().await.unwrap_err();
            assert!(format!("{error:?}").contains("CANCEL"), "{error:?}");
            // The connection is as good as before.
            assert!(call(&client, 5000).await.collect().await.is_ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_is_not_stalled() {
        let stall = HttpLimits::default().write_stall;
        let client = connect(16 * 1024).await;
        let mut body = call(&client, 200_000).await;
        let began = Instant::now();
        let mut read = 0;
        while let Some(frame) = body.frame().await {
            read += frame.unwrap().into_data().unwrap().len();
            tokio::time::sleep(stall / 2).await;
        }
        assert!(read > 200_000);
        assert!(began.elapsed() > 3 * stall);
    }
}
