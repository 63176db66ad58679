//! Plain requests of HTTP/1.1, served without hyper.
//!
//! Most requests of MCP are one small POST that comes in one piece and whose answer is one small message. For those, a
//! general HTTP machine is half of the cost. So a connection begins here, and stays as long as nothing but such requests
//! come; with the first that is anything else, or whose answer is a stream, hyper takes over for the rest of the
//! connection. It gets the bytes of that request, and where there is an answer already, gives that.

mod date;
mod request;
pub(crate) mod response;

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
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::unread_body::TrackedBody;
use crate::transport::http::response::HttpResponse;
use crate::transport::http::service::HttpService;

/// How long a request may be to be served here. Read on the stack: a connection that rests needs no buffer.
const READ: usize = 8 * 1024;

/// How much a client may send ahead while it waits for an answer.
const MAX_PIPELINED_BYTES: usize = 64 * 1024;

/// What hyper goes on with.
#[derive(Debug)]
pub(super) struct Fallback {
    /// What has come and is not answered.
    pub(super) unread: Bytes,
    /// The answer to the request the bytes begin with, if it was served already.
    pub(super) answer: Option<HttpResponse>,
    /// Whether some of the bytes belong to a request that was not served.
    pub(super) next_has_begun: bool,
}

/// Serves plain requests, until the connection is over (`None`), or something else comes. Ends after the request at hand
/// when `leave` is sent or dropped.
pub(super) async fn serve<S>(
    stream: &mut S,
    service: &HttpService,
    requests: &Arc<RequestCounter>,
    leave: &mut oneshot::Receiver<()>,
) -> io::Result<Option<Fallback>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let all_fields = service.needs_all_fields();
    let mut parts = request::parts();
    let mut unread = Bytes::new();
    // Whom `leave` wakes.
    let mut told = None;
    loop {
        if unread.is_empty() {
            unread = match next(stream, leave, &mut told).await? {
                Some(bytes) => bytes,
                None => return Ok(None),
            };
        }
        let mut head = RequestHeaders::EMPTY;
        let Some(body) = request::read(&unread, all_fields, &mut parts, &mut head) else {
            return Ok(Some(Fallback {
                unread,
                answer: None,
                next_has_begun: true,
            }));
        };
        let in_progress = requests.begin();
        let mut ahead = Vec::new();
        let room = MAX_PIPELINED_BYTES.saturating_sub(unread.len());
        let length = body.end;
        let answer = {
            let body: BodySource<'_, &mut TrackedBody<RequestBody>> =
                BodySource::Whole(&unread[body]);
            // Pinned where it is made: handed on, it would have room twice.
            let mut answer = pin!(service.respond_to(&parts, &head, body));
            poll_fn(|cx| poll_while_connected(stream, answer.as_mut(), &mut ahead, room, cx)).await
        };
        if !ahead.is_empty() {
            unread = [&unread[..], &ahead].concat().into();
        }
        let Some(answer) = answer else {
            return Ok(None);
        };
        if !answer.body().is_complete() {
            return Ok(Some(Fallback {
                next_has_begun: unread.len() > length,
                unread,
                answer: Some(answer.with_request_guard(in_progress)),
            }));
        }
        let keep_open = !is_shutting_down(leave) && response::is_keep_alive(&answer);
        response::write(stream, answer, keep_open).await?;
        if !keep_open {
            return Ok(None);
        }
        unread.advance(length);
        if parts.headers.capacity() > 0 {
            parts.headers = HeaderMap::new();
        }
        if unread.is_empty() {
            // A connection that rests holds no memory of its last request.
            unread = Bytes::new();
        }
    }
}

/// The next bytes; `None` when none will come, or none are wanted any more.
///
/// `told` is whom `leave` wakes. That holds until it happens, so for the same task it is enough to look whether it has.
async fn next<S>(
    stream: &mut S,
    leave: &mut oneshot::Receiver<()>,
    told: &mut Option<Waker>,
) -> io::Result<Option<Bytes>>
where
    S: AsyncRead + Unpin,
{
    poll_fn(|cx| {
        if let Poll::Ready(bytes) = poll_read(stream, cx) {
            return Poll::Ready(bytes.map(|bytes| Some(bytes).filter(|bytes| !bytes.is_empty())));
        }
        let wakes_us = told.as_ref().is_some_and(|told| told.will_wake(cx.waker()));
        if !wakes_us {
            *told = Some(cx.waker().clone());
            return Pin::new(&mut *leave).poll(cx).map(|_| Ok(None));
        }
        match is_shutting_down(leave) {
            true => Poll::Ready(Ok(None)),
            false => Poll::Pending,
        }
    })
    .await
}

/// Whether a connection should end after the request at hand.
fn is_shutting_down(leave: &mut oneshot::Receiver<()>) -> bool {
    leave.try_recv() != Err(oneshot::error::TryRecvError::Empty)
}

/// Waits for an answer, and keeps an eye on the client meanwhile; `None` when it has gone. What it sends ahead is kept until
/// there is as much as there is room for.
fn poll_while_connected<S>(
    stream: &mut S,
    answer: Pin<&mut impl Future<Output = HttpResponse>>,
    ahead: &mut Vec<u8>,
    room: usize,
    cx: &mut Context<'_>,
) -> Poll<Option<HttpResponse>>
where
    S: AsyncRead + Unpin,
{
    if let Poll::Ready(answer) = poll_response(answer, cx) {
        return Poll::Ready(Some(answer));
    }
    while ahead.len() < room {
        match ready!(poll_read(stream, cx)) {
            Ok(bytes) if !bytes.is_empty() => ahead.extend_from_slice(&bytes),
            _ => return Poll::Ready(None),
        }
    }
    Poll::Pending
}

/// Whatever has come; nothing when the client has closed its end.
fn poll_read<S>(stream: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>>
where
    S: AsyncRead + Unpin,
{
    let mut space = [const { MaybeUninit::uninit() }; READ];
    let mut buffer = ReadBuf::uninit(&mut space);
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

    /// One connection after the client has said something, and what the server has said to it.
    struct Served {
        outcome: Option<Fallback>,
        said: String,
        requests: Arc<RequestCounter>,
    }

    async fn served(said: &str) -> Served {
        let (mut near, mut far): (DuplexStream, DuplexStream) = tokio::io::duplex(64 * 1024);
        far.write_all(said.as_bytes()).await.unwrap();
        far.shutdown().await.unwrap();
        let service = HttpService::new(Server::new("demo", "1.0.0"), HttpOptions::new());
        let requests = Arc::new(RequestCounter::default());
        let (_stay, mut leave) = oneshot::channel();
        let outcome = serve(&mut near, &service, &requests, &mut leave).await;
        drop(near);
        let mut said = String::new();
        far.read_to_string(&mut said).await.unwrap();
        Served {
            outcome: outcome.unwrap(),
            said,
            requests,
        }
    }

    #[tokio::test]
    async fn plain_requests_are_served_here_until_something_else_comes() {
        let after = served(&(ping() + &ping() + GET)).await;
        assert_eq!(after.said.matches("HTTP/1.1 200 OK\r\n").count(), 2);
        assert_eq!(after.said.matches("\"supportedVersions\"").count(), 2);
        let handover = after.outcome.unwrap();
        assert_eq!(handover.unread, GET);
        assert!(handover.answer.is_none());
        assert!(handover.next_has_begun);
    }

    #[tokio::test]
    async fn a_connection_that_is_closed_between_requests_is_over() {
        let after = served(&ping()).await;
        assert!(after.said.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(after.outcome.is_none());
        assert!(after.requests.is_idle());
    }

    #[tokio::test]
    async fn an_answer_that_is_a_stream_goes_to_hyper_with_its_request() {
        for next in ["", "G", GET] {
            let listen = post("subscriptions/listen", LISTEN) + next;
            let after = served(&listen).await;
            assert_eq!(after.said, "");
            let handover = after.outcome.unwrap();
            assert_eq!(handover.unread, listen);
            assert_eq!(handover.next_has_begun, !next.is_empty());
            let answer = handover.answer.unwrap();
            let fields = answer.fields().unwrap();
            assert_eq!(fields["content-type"], "text/event-stream");
            // Its body is the request in progress.
            assert!(!after.requests.is_idle());
            drop(answer);
            assert!(after.requests.is_idle());
        }
    }

    #[tokio::test]
    async fn an_answer_after_which_nothing_is_wanted_ends_the_connection() {
        let foreign = ping().replace("Host: localhost\r\n", "");
        let after = served(&(foreign + &ping())).await;
        assert!(after.said.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        assert!(after.said.contains("\r\nconnection: close\r\n"));
        assert_eq!(after.said.matches("HTTP/1.1 ").count(), 1);
        assert!(after.outcome.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_told_to_leave_while_an_answer_is_written_does_so_after_it() {
        let one_answer = served(&ping()).await.said.len();
        // The second answer has to wait for somebody who reads the first.
        let (mut near, mut far) = tokio::io::duplex(one_answer + 10);
        let (stay, mut leave) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let service = HttpService::new(Server::new("demo", "1.0.0"), HttpOptions::new());
            let requests = Arc::new(RequestCounter::default());
            serve(&mut near, &service, &requests, &mut leave).await
        });
        let a_while = std::time::Duration::from_secs(1);
        for _ in 0..2 {
            far.write_all(ping().as_bytes()).await.unwrap();
            tokio::time::sleep(a_while).await;
        }
        drop(stay);
        tokio::time::sleep(a_while).await;
        assert!(!serving.is_finished());
        let mut said = String::new();
        let reading = tokio::time::timeout(a_while, far.read_to_string(&mut said));
        reading.await.unwrap().unwrap();
        assert_eq!(said.matches("HTTP/1.1 200 OK\r\n").count(), 2);
        assert!(serving.await.unwrap().unwrap().is_none());
    }

    #[derive(serde::Deserialize, JsonSchema)]
    struct Nothing {}

    #[tokio::test(start_paused = true)]
    async fn only_so_much_is_read_ahead() {
        let wait = ToolHandler::typed("wait", |_: RequestContext, _: Nothing| {
            std::future::pending::<&'static str>()
        });
        let server = Server::new("demo", "1.0.0").tool(wait);
        let service = HttpService::new(server, HttpOptions::new());
        let requests = Arc::new(RequestCounter::default());
        let (_stay, mut leave) = oneshot::channel();
        const PIPE: usize = 1024;
        let (mut near, mut far) = tokio::io::duplex(PIPE);
        let message = PING
            .replace("server/discover", "tools/call")
            .replace(r#""_meta""#, r#""name":"wait","_meta""#);
        let call = post("tools/call\r\nMcp-Name: wait", &message);
        let sending = async {
            far.write_all(call.as_bytes()).await.unwrap();
            let mut ahead = 0;
            let piece = [b' '; 1000];
            let patience = std::time::Duration::from_secs(1);
            while let Ok(sent) = tokio::time::timeout(patience, far.write(&piece)).await {
                ahead += sent.unwrap();
            }
            ahead
        };
        tokio::select! {
            outcome = serve(&mut near, &service, &requests, &mut leave) => panic!("{outcome:?}"),
            ahead = sending => {
                let read = call.len() + ahead - PIPE;
                assert!((MAX_PIPELINED_BYTES..MAX_PIPELINED_BYTES + READ).contains(&read), "{read}");
            }
        }
    }
}
