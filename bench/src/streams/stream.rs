//! One stream of the load, and the call that causes the change.
//!
//! Thousands of streams wait at once, so a waiting stream owns no buffer: bytes are read into a buffer on the stack
//! when they arrive.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use toolwire_proto::sse::SseDecoder;
use toolwire_proto::subscriptions::subscription_of;
use toolwire_types::{ProtocolVersion, RequestId, meta_key};

use crate::http1::{ResponseDecoder, Target};

/// The id of every request of the load.
const REQUEST_ID: i64 = 1;

/// The longest event that is accepted.
const LONGEST_EVENT: usize = 64 * 1024;

/// An event of a stream, with its time.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) stream: usize,
    pub(crate) at: Instant,
    pub(crate) event: StreamEvent,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// The server has acknowledged the subscription.
    Acknowledged,
    /// The stream received its notification that the list of tools changed.
    Changed,
    /// An unexpected message.
    Unexpected(String),
    /// The stream has ended, for this reason.
    Ended(String),
}

/// Returns the request that opens a stream.
pub(crate) fn listen_request(target: &Target) -> Vec<u8> {
    let params = json!({ "notifications": { "toolsListChanged": true } });
    target.post(
        "subscriptions/listen",
        None,
        &request("subscriptions/listen", params),
    )
}

fn request(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        meta_key::PROTOCOL_VERSION: ProtocolVersion::LATEST.as_str(),
        meta_key::CLIENT_CAPABILITIES: {},
    });
    json!({ "jsonrpc": "2.0", "id": REQUEST_ID, "method": method, "params": params }).to_string()
}

/// Opens a stream when it gets a permit, and reports its observations until it ends.
pub(crate) async fn observe(
    index: usize,
    address: SocketAddr,
    request: Arc<[u8]>,
    permits: Arc<Semaphore>,
    reports: mpsc::Sender<Observation>,
) {
    let reporter = Reporter { index, reports };
    let reason = match listen(address, &request, &permits, &reporter).await {
        Ok(()) => "the server ended the stream".to_owned(),
        Err(error) => error.to_string(),
    };
    reporter.report(StreamEvent::Ended(reason)).await;
}

async fn listen(
    address: SocketAddr,
    request: &[u8],
    permits: &Semaphore,
    reporter: &Reporter,
) -> io::Result<()> {
    let mut permit = Some(permits.acquire().await.map_err(io::Error::other)?);
    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(request).await?;
    let mut reader = StreamReader::new();
    while !reader.response.is_finished() {
        socket.readable().await?;
        for event in reader.take(&socket)? {
            // After the first byte of the server the stream is open, and the permit is released.
            permit = None;
            reporter.report(event).await;
        }
    }
    drop(permit);
    Ok(())
}

struct Reporter {
    index: usize,
    reports: mpsc::Sender<Observation>,
}

impl Reporter {
    async fn report(&self, event: StreamEvent) {
        let observation = Observation {
            stream: self.index,
            at: Instant::now(),
            event,
        };
        // After the run the receiver is dropped, which is not an error.
        let _ = self.reports.send(observation).await;
    }
}

/// A decoder from bytes to stream events.
struct StreamReader {
    response: ResponseDecoder,
    events: SseDecoder,
}

impl StreamReader {
    fn new() -> Self {
        Self {
            response: ResponseDecoder::default(),
            events: SseDecoder::new(LONGEST_EVENT),
        }
    }

    /// Reads the bytes that the socket has, possibly none.
    fn take(&mut self, socket: &TcpStream) -> io::Result<Vec<StreamEvent>> {
        let mut body = Vec::new();
        take_body(socket, &mut self.response, &mut body)?;
        match self.response.status() {
            None => return Ok(Vec::new()),
            Some(200) if self.response.is_event_stream() => {}
            Some(status) => return Err(rejection(status, &body)),
        }
        let mut rest = body.as_slice();
        std::iter::from_fn(|| self.events.next_event(&mut rest))
            .map(|event| event.map(|event| stream_event(&event.data)))
            .collect::<Result<_, _>>()
            .map_err(io::Error::other)
    }
}

/// Reads once, without waiting, and appends the bytes of the body. Returns an error at the end of the connection.
fn take_body(
    socket: &TcpStream,
    response: &mut ResponseDecoder,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    let mut buffer = [0; 4096];
    match socket.try_read(&mut buffer) {
        Ok(0) => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the server closed the connection",
        )),
        Ok(length) => response
            .decode(&buffer[..length], body)
            .map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}

fn rejection(status: u16, body: &[u8]) -> io::Error {
    let body = String::from_utf8_lossy(body);
    io::Error::other(format!(
        "the server responded with status {status}: {body:.300}"
    ))
}

/// Returns the stream event for a message.
fn stream_event(message: &str) -> StreamEvent {
    #[derive(Deserialize)]
    struct Notification<'a> {
        method: &'a str,
        #[serde(borrow)]
        params: &'a RawValue,
    }
    let unexpected = || StreamEvent::Unexpected(message.to_owned());
    let Ok(notification) = serde_json::from_str::<Notification<'_>>(message) else {
        return unexpected();
    };
    if subscription_of(notification.params) != Some(RequestId::from(REQUEST_ID)) {
        return unexpected();
    }
    match notification.method {
        "notifications/subscriptions/acknowledged" => StreamEvent::Acknowledged,
        "notifications/tools/list_changed" => StreamEvent::Changed,
        _ => unexpected(),
    }
}

/// A call of a tool without arguments on its own connection, before its first byte is sent.
pub(crate) struct PendingCall {
    socket: TcpStream,
    request: Vec<u8>,
}

impl PendingCall {
    pub(crate) async fn connect(target: &Target, tool: &str) -> io::Result<Self> {
        let params = json!({ "name": tool, "arguments": {} });
        let request = target.post("tools/call", Some(tool), &request("tools/call", params));
        let socket = TcpStream::connect(target.address).await?;
        Ok(Self { socket, request })
    }

    /// Sends the call and waits for a successful result.
    pub(crate) async fn finish(mut self) -> io::Result<()> {
        self.socket.write_all(&self.request).await?;
        let mut response = ResponseDecoder::default();
        let mut body = Vec::new();
        while !response.is_finished() {
            self.socket.readable().await?;
            take_body(&self.socket, &mut response, &mut body)?;
        }
        let status = response.status().unwrap_or_default();
        let message: Option<Value> = serde_json::from_slice(&body).ok();
        let result = message.as_ref().and_then(|message| message.get("result"));
        match result {
            Some(result) if status == 200 && result["isError"] != true => Ok(()),
            _ => Err(rejection(status, &body)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(method: &str, subscription: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"{}":{subscription}}}}}}}"#,
            meta_key::SUBSCRIPTION_ID
        )
    }

    #[test]
    fn messages_of_other_subscriptions_are_unexpected() {
        let acknowledged = "notifications/subscriptions/acknowledged";
        let changed = "notifications/tools/list_changed";
        let check = |message: String, expected: Option<StreamEvent>| {
            let expected = expected.unwrap_or_else(|| StreamEvent::Unexpected(message.clone()));
            assert_eq!(stream_event(&message), expected);
        };
        check(
            notification(acknowledged, "1"),
            Some(StreamEvent::Acknowledged),
        );
        check(notification(changed, "1"), Some(StreamEvent::Changed));
        check(notification(changed, "2"), None);
        check(notification(changed, "\"1\""), None);
        check(
            notification("notifications/prompts/list_changed", "1"),
            None,
        );
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), None);
        check(format!(r#"{{"jsonrpc":"2.0","method":"{changed}"}}"#), None);
    }
}
