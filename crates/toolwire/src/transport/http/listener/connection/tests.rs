//! Tests of connections over in-memory streams with paused time.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::{JsonSchema, RequestContext, Server, ToolHandler};

#[derive(serde::Deserialize, JsonSchema)]
struct SleepArguments {
    seconds: u64,
}

/// Returns a call whose response takes `seconds` seconds. After five seconds, the response becomes a stream.
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

/// Returns options with and without the fast path.
fn both_paths() -> [HttpOptions; 2] {
    [HttpOptions::new(), HttpOptions::new().without_fast_path()]
}

/// Returns the client side of a connection and the future that serves it.
fn open(
    options: HttpOptions,
    shutdown: oneshot::Receiver<()>,
) -> (DuplexStream, impl Future<Output = ()>) {
    let (local, peer) = tokio::io::duplex(64 * 1024);
    let sleep = ToolHandler::typed(
        "sleep",
        |_: RequestContext, arguments: SleepArguments| async move {
            tokio::time::sleep(Duration::from_secs(arguments.seconds)).await;
            "slept"
        },
    );
    let server = Server::new("demo", "1.0.0").tool(sleep);
    let config = ConnectionConfig::new(&options);
    let service = HttpService::new(server, options);
    let served = async move { config.serve_http(local, service, shutdown).await };
    (peer, served)
}

/// Returns the output of a connection that shuts down before it is served, and whose input has already arrived.
async fn output_during_shutdown(options: HttpOptions, bytes: &str) -> String {
    let (sender, shutdown) = oneshot::channel();
    drop(sender);
    let (mut client, served) = open(options, shutdown);
    client.write_all(bytes.as_bytes()).await.unwrap();
    let start = Instant::now();
    served.await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    let mut output = String::new();
    client.read_to_string(&mut output).await.unwrap();
    output
}

#[tokio::test(start_paused = true)]
async fn complete_request_is_served_during_shutdown() {
    // Repeated, because an unbiased `select!` would choose randomly between the request and the shutdown.
    for _ in 0..20 {
        for options in both_paths() {
            let output = output_during_shutdown(options, GET).await;
            assert!(output.starts_with("HTTP/1.1 404 "), "{output:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_for_the_http_version() {
    for input in ["", "PRI * HTTP"] {
        for options in both_paths() {
            assert_eq!(output_during_shutdown(options, input).await, "");
        }
    }
}

/// Sends the parts of `input`, one every second. Returns the number of seconds after which the connection is closed,
/// with and without the fast path.
async fn closed_after(input: &[&str]) -> [u64; 2] {
    let [with, without] = both_paths();
    [
        closed_after_with(with, input).await,
        closed_after_with(without, input).await,
    ]
}

async fn closed_after_with(options: HttpOptions, input: &[&str]) -> u64 {
    let (_sender, shutdown) = oneshot::channel();
    let (mut client, served) = open(options, shutdown);
    let start = Instant::now();
    let sending = async {
        for (index, part) in input.iter().enumerate() {
            if index > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            client.write_all(part.as_bytes()).await.unwrap();
        }
        let mut output = String::new();
        client.read_to_string(&mut output).await.unwrap();
        assert!(!output.starts_with("HTTP/1.1 400 "), "{output}");
    };
    tokio::join!(served, sending);
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn incomplete_headers_close_the_connection() {
    let limits = HttpLimits::default();
    assert_eq!(limits.header_deadline.as_secs(), 10);
    assert_eq!(limits.idle_connection.as_secs(), 120);
    let (short, long) = (sleep(3), sleep(20));
    let (short_and_next, long_and_next) = (format!("{short}POST /m"), format!("{long}POST /m"));
    for (input, seconds) in [
        // The first request, which starts like the HTTP/2 preface.
        (&["PRINT / HTTP/1.1\r\nHost: a\r\nX: "][..], 10),
        // After a plain response, after a response that becomes a stream, and after a request that hyper serves.
        (&[&short, "POST /m"], 3 + 10),
        (&[&long, "POST /m"], 20 + 10),
        (&[GET, &long, "POST /m"], 1 + 20 + 10),
    ] {
        assert_eq!(closed_after(input).await, [seconds; 2], "{input:?}");
    }
    // hyper does not tell whether bytes of the next request arrived in the same read. Then the idle timeout applies.
    for (input, seconds) in [
        (&short_and_next, [3 + 10, 3 + 120]),
        (&long_and_next, [20 + 10, 20 + 120]),
    ] {
        assert_eq!(closed_after(&[input]).await, seconds, "{input:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn idle_timeout_applies_after_complete_requests() {
    for seconds in [0, 3, 20] {
        let sleep = sleep(seconds);
        let (head, body) = sleep.split_at(sleep.len() - 5);
        for (input, end) in [
            (&[&sleep[..]][..], seconds),
            (&[head, body], 1 + seconds),
            (&[&sleep, GET], seconds.max(1)),
        ] {
            assert_eq!(closed_after(input).await, [end + 120; 2], "{input:?}");
        }
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

    /// Serves one connection and returns its client, whose streams have a window of `window` bytes.
    async fn connect(window: u32) -> SendRequest<Full<Bytes>> {
        let (local, peer) = tokio::io::duplex(64 * 1024);
        let text = ToolHandler::typed("text", |_: RequestContext, length: Length| async move {
            "x".repeat(length.bytes)
        });
        let server = Server::new("demo", "1.0.0").tool(text);
        let service = HttpService::new(server, HttpOptions::new());
        let config = ConnectionConfig::new(&HttpOptions::new());
        tokio::spawn(async move {
            let (_sender, shutdown) = oneshot::channel();
            config.serve_http(local, service, shutdown).await;
        });
        let (client, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(window)
            .handshake(TokioIo::new(peer))
            .await
            .unwrap();
        tokio::spawn(connection);
        client
    }

    /// Calls the tool and returns the unread body of the response.
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
        // The first response waits in the body of toolwire, the second inside hyper.
        for (window, bytes) in [(1000, 200_000), (10, 100)] {
            let client = connect(window).await;
            let stalled = call(&client, bytes).await;
            let start = Instant::now();
            while start.elapsed() < stall + Duration::from_secs(2) {
                let read = call(&client, 5000).await.collect().await.unwrap();
                assert!(read.to_bytes().len() > 5000);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let error = stalled.collect().await.unwrap_err();
            assert!(format!("{error:?}").contains("CANCEL"), "{error:?}");
            // The connection still serves requests.
            assert!(call(&client, 5000).await.collect().await.is_ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_is_not_stalled() {
        let stall = HttpLimits::default().write_stall;
        let client = connect(16 * 1024).await;
        let mut body = call(&client, 200_000).await;
        let start = Instant::now();
        let mut read = 0;
        while let Some(frame) = body.frame().await {
            read += frame.unwrap().into_data().unwrap().len();
            tokio::time::sleep(stall / 2).await;
        }
        assert!(read > 200_000);
        assert!(start.elapsed() > 3 * stall);
    }
}
