//! Connections on a pipe instead of a socket, with a clock that stands still while anything can be done.

use tokio::io::{AsyncReadExt as _, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::transport::http::options::HttpOptions;
use crate::{JsonSchema, RequestContext, ServedTool, Server};

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
    let sleep = ServedTool::typed("sleep", |_: RequestContext, nap: Nap| async move {
        tokio::time::sleep(Duration::from_secs(nap.seconds)).await;
        "slept"
    });
    let server = Server::new("demo", "1.0.0").tool(sleep);
    let service = HttpService::new(server, HttpOptions::new());
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
