//! Serves plain HTTP/1.1 requests without hyper.
//!
//! Most MCP requests are a small POST that arrives in one read, and whose response is one small message. For those, a
//! general HTTP implementation is half of the cost. So a connection starts here and stays here as long as all requests
//! are plain. With the first other request, or the first response that is a stream, hyper takes over the rest of the
//! connection. It gets the bytes of that request, and its response if there is one already.

mod date;
mod request;
mod response;

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf as _, Bytes};
use http::HeaderMap;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

use crate::transport::http::listener::read_timeout::RequestCounter;
use crate::transport::http::listener::request_body::{RequestBody, poll_response};
use crate::transport::http::request::body::BodySource;
use crate::transport::http::request::headers::{RequestHeaders, RetainedFields};
use crate::transport::http::request::unread_body::TrackedBody;
use crate::transport::http::response::HttpResponse;
use crate::transport::http::service::HttpService;

/// The maximum length of a request on the fast path. The read buffer is on the stack, so that an idle connection needs
/// no buffer.
const READ: usize = 8 * 1024;

/// The maximum number of bytes that a client may send before it has received the current response.
const MAX_PIPELINED_BYTES: usize = 64 * 1024;

/// The state with which hyper takes over a connection. By default, nothing was received.
#[derive(Debug, Default)]
pub(super) struct Fallback {
    /// The received bytes without a sent response.
    pub(super) unread: Bytes,
    /// The response to the first request of these bytes, if it was already served.
    pub(super) response: Option<HttpResponse>,
    /// Whether the bytes contain a part of a request that was not served.
    pub(super) next_has_started: bool,
}

/// Serves plain requests until another kind of request arrives. Returns `None` if the connection has ended. When
/// `shutdown` is sent or dropped, the connection ends after the current request.
pub(super) async fn serve<S>(
    stream: &mut S,
    service: &HttpService,
    requests: &Arc<RequestCounter>,
    shutdown: &mut oneshot::Receiver<()>,
) -> io::Result<Option<Fallback>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let retained = service.retained_fields();
    let mut parts = request::parts();
    let mut unread = Bytes::new();
    // The waker that is registered with `shutdown`.
    let mut shutdown_waker = None;
    loop {
        if unread.is_empty() {
            unread = match next(stream, shutdown, &mut shutdown_waker).await? {
                Some(bytes) => bytes,
                None => return Ok(None),
            };
        }
        let mut head = RequestHeaders::EMPTY;
        // Which service gets the request is known only after its headers are read.
        let retained = if service.has_further_services() {
            RetainedFields::All
        } else {
            retained
        };
        let Some(body) = request::read(&unread, retained, &mut parts, &mut head) else {
            return Ok(Some(Fallback {
                unread,
                response: None,
                next_has_started: true,
            }));
        };
        let in_progress = requests.begin();
        let mut pipelined = Vec::new();
        let capacity = MAX_PIPELINED_BYTES.saturating_sub(unread.len());
        let length = body.end;
        let response = {
            let body: BodySource<'_, &mut TrackedBody<RequestBody>> =
                BodySource::Complete(&unread[body]);
            // Pinned where it is created. Moving it would reserve its memory twice.
            let mut responding = pin!(service.respond_to(&parts, &head, body));
            poll_fn(|cx| {
                poll_while_connected(stream, responding.as_mut(), &mut pipelined, capacity, cx)
            })
            .await
        };
        if !pipelined.is_empty() {
            unread = [&unread[..], &pipelined].concat().into();
        }
        let Some(response) = response else {
            return Ok(None);
        };
        if !response.body().is_complete() {
            return Ok(Some(Fallback {
                next_has_started: unread.len() > length,
                unread,
                response: Some(response.with_request_guard(in_progress)),
            }));
        }
        let keep_open = !is_shutting_down(shutdown) && response::is_keep_alive(&response);
        response::write(stream, response, keep_open).await?;
        if !keep_open {
            return Ok(None);
        }
        unread.advance(length);
        if parts.headers.capacity() > 0 {
            parts.headers = HeaderMap::new();
        }
        if unread.is_empty() {
            // Frees the buffer of the last request while the connection is idle.
            unread = Bytes::new();
        }
    }
}

/// Returns the next bytes, or `None` if the client has closed the connection or the server shuts down.
///
/// `shutdown_waker` is the waker that is registered with `shutdown`. While the task has the same waker, `shutdown` need
/// not be polled again.
async fn next<S>(
    stream: &mut S,
    shutdown: &mut oneshot::Receiver<()>,
    shutdown_waker: &mut Option<Waker>,
) -> io::Result<Option<Bytes>>
where
    S: AsyncRead + Unpin,
{
    poll_fn(|cx| {
        if let Poll::Ready(bytes) = poll_read(stream, cx) {
            return Poll::Ready(bytes.map(|bytes| Some(bytes).filter(|bytes| !bytes.is_empty())));
        }
        let is_registered = shutdown_waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()));
        if !is_registered {
            *shutdown_waker = Some(cx.waker().clone());
            return Pin::new(&mut *shutdown).poll(cx).map(|_| Ok(None));
        }
        if is_shutting_down(shutdown) {
            Poll::Ready(Ok(None))
        } else {
            Poll::Pending
        }
    })
    .await
}

/// Returns `true` if the connection should end after the current request.
fn is_shutting_down(shutdown: &mut oneshot::Receiver<()>) -> bool {
    shutdown.try_recv() != Err(oneshot::error::TryRecvError::Empty)
}

/// Polls the response and reads from the client in the meantime. Returns `None` if the client has disconnected. Appends
/// pipelined bytes to `pipelined`, up to `capacity`.
fn poll_while_connected<S>(
    stream: &mut S,
    responding: Pin<&mut impl Future<Output = HttpResponse>>,
    pipelined: &mut Vec<u8>,
    capacity: usize,
    cx: &mut Context<'_>,
) -> Poll<Option<HttpResponse>>
where
    S: AsyncRead + Unpin,
{
    if let Poll::Ready(response) = poll_response(responding, cx) {
        return Poll::Ready(Some(response));
    }
    while pipelined.len() < capacity {
        match ready!(poll_read(stream, cx)) {
            Ok(bytes) if !bytes.is_empty() => pipelined.extend_from_slice(&bytes),
            _ => return Poll::Ready(None),
        }
    }
    Poll::Pending
}

/// Returns the received bytes, or no bytes if the client has closed its side.
fn poll_read<S>(stream: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>>
where
    S: AsyncRead + Unpin,
{
    let mut storage = [const { MaybeUninit::uninit() }; READ];
    let mut buffer = ReadBuf::uninit(&mut storage);
    Pin::new(stream)
        .poll_read(cx, &mut buffer)
        .map_ok(|()| Bytes::copy_from_slice(buffer.filled()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::*;
    use crate::transport::http::options::HttpOptions;
    use crate::{JsonSchema, RequestContext, Server, ToolHandler};

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    const LISTEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    const GET: &str = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";

    fn post(method: &str, message: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n\
             Content-Length: {}\r\n\r\n{message}",
            message.len()
        )
    }

    fn ping() -> String {
        post("server/discover", PING)
    }

    /// The result of one connection and the output of the server.
    struct Served {
        outcome: Option<Fallback>,
        output: String,
        requests: Arc<RequestCounter>,
    }

    async fn served(input: &str) -> Served {
        let (mut local, mut peer): (DuplexStream, DuplexStream) = tokio::io::duplex(64 * 1024);
        peer.write_all(input.as_bytes()).await.unwrap();
        peer.shutdown().await.unwrap();
        let service = HttpService::new(Server::new("demo", "1.0.0"), HttpOptions::new());
        let requests = Arc::new(RequestCounter::default());
        let (_sender, mut shutdown) = oneshot::channel();
        let outcome = serve(&mut local, &service, &requests, &mut shutdown).await;
        drop(local);
        let mut output = String::new();
        peer.read_to_string(&mut output).await.unwrap();
        Served {
            outcome: outcome.unwrap(),
            output,
            requests,
        }
    }

    #[tokio::test]
    async fn plain_requests_are_served_until_another_kind_arrives() {
        let after = served(&(ping() + &ping() + GET)).await;
        assert_eq!(after.output.matches("HTTP/1.1 200 OK\r\n").count(), 2);
        assert_eq!(after.output.matches("\"supportedVersions\"").count(), 2);
        let fallback = after.outcome.unwrap();
        assert_eq!(fallback.unread, GET);
        assert!(fallback.response.is_none());
        assert!(fallback.next_has_started);
    }

    #[tokio::test]
    async fn connection_closed_between_requests_ends() {
        let after = served(&ping()).await;
        assert!(after.output.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(after.outcome.is_none());
        assert!(after.requests.is_idle());
    }

    #[tokio::test]
    async fn stream_response_is_passed_to_hyper_with_its_request() {
        for next in ["", "G", GET] {
            let listen = post("subscriptions/listen", LISTEN) + next;
            let after = served(&listen).await;
            assert_eq!(after.output, "");
            let fallback = after.outcome.unwrap();
            assert_eq!(fallback.unread, listen);
            assert_eq!(fallback.next_has_started, !next.is_empty());
            let response = fallback.response.unwrap();
            let fields = response.fields().unwrap();
            assert_eq!(fields["content-type"], "text/event-stream");
            // The body contains the guard of the request.
            assert!(!after.requests.is_idle());
            drop(response);
            assert!(after.requests.is_idle());
        }
    }

    #[tokio::test]
    async fn response_with_connection_close_ends_the_connection() {
        let without_host = ping().replace("Host: localhost\r\n", "");
        let after = served(&(without_host + &ping())).await;
        assert!(after.output.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        assert!(after.output.contains("\r\nconnection: close\r\n"));
        assert_eq!(after.output.matches("HTTP/1.1 ").count(), 1);
        assert!(after.outcome.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn connection_finishes_writing_its_response_before_shutdown() {
        let response_length = served(&ping()).await.output.len();
        // The second response does not fit before the client has read the first.
        let (mut local, mut peer) = tokio::io::duplex(response_length + 10);
        let (sender, mut shutdown) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let service = HttpService::new(Server::new("demo", "1.0.0"), HttpOptions::new());
            let requests = Arc::new(RequestCounter::default());
            serve(&mut local, &service, &requests, &mut shutdown).await
        });
        let second = std::time::Duration::from_secs(1);
        for _ in 0..2 {
            peer.write_all(ping().as_bytes()).await.unwrap();
            tokio::time::sleep(second).await;
        }
        drop(sender);
        tokio::time::sleep(second).await;
        assert!(!serving.is_finished());
        let mut output = String::new();
        let reading = tokio::time::timeout(second, peer.read_to_string(&mut output));
        reading.await.unwrap().unwrap();
        assert_eq!(output.matches("HTTP/1.1 200 OK\r\n").count(), 2);
        assert!(serving.await.unwrap().unwrap().is_none());
    }

    #[derive(serde::Deserialize, JsonSchema)]
    struct Nothing {}

    #[tokio::test(start_paused = true)]
    async fn pipelined_bytes_are_limited() {
        let wait = ToolHandler::typed("wait", |_: RequestContext, _: Nothing| {
            std::future::pending::<&'static str>()
        });
        let server = Server::new("demo", "1.0.0").tool(wait);
        let service = HttpService::new(server, HttpOptions::new());
        let requests = Arc::new(RequestCounter::default());
        let (_sender, mut shutdown) = oneshot::channel();
        const BUFFER: usize = 1024;
        let (mut local, mut peer) = tokio::io::duplex(BUFFER);
        let message = PING
            .replace("server/discover", "tools/call")
            .replace(r#""_meta""#, r#""name":"wait","_meta""#);
        let call = post("tools/call\r\nMcp-Name: wait", &message);
        let sending = async {
            peer.write_all(call.as_bytes()).await.unwrap();
            let mut pipelined = 0;
            let chunk = [b' '; 1000];
            let timeout = std::time::Duration::from_secs(1);
            while let Ok(sent) = tokio::time::timeout(timeout, peer.write(&chunk)).await {
                pipelined += sent.unwrap();
            }
            pipelined
        };
        tokio::select! {
            outcome = serve(&mut local, &service, &requests, &mut shutdown) => panic!("{outcome:?}"),
            pipelined = sending => {
                let read = call.len() + pipelined - BUFFER;
                assert!((MAX_PIPELINED_BYTES..MAX_PIPELINED_BYTES + READ).contains(&read), "{read}");
            }
        }
    }
}
