//! The body of an HTTP response with the faults that the user has switched on.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use serde::Deserialize;
use serde::de::IgnoredAny;
use toolwire::BoxFuture;
use toolwire::transport::http_client::{ClientBody, HttpError, HttpPhase};

/// The longest event that is duplicated, in bytes.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// A body that ends early, or repeats notifications.
pub(super) struct FaultyBody {
    body: ClientBody,
    /// Completes when the user drops all open streams.
    dropped: BoxFuture<'static, ()>,
    /// The bytes after which the body fails.
    left: Option<usize>,
    repeater: Option<NotificationRepeater>,
}

impl FaultyBody {
    pub(super) fn new(body: ClientBody, dropped: BoxFuture<'static, ()>) -> Self {
        Self {
            body,
            dropped,
            left: None,
            repeater: None,
        }
    }

    /// Fails after this many bytes.
    pub(super) fn with_end(mut self, bytes: Option<usize>) -> Self {
        self.left = bytes;
        self
    }

    /// Repeats each notification of an event stream.
    pub(super) fn with_repeated_notifications(mut self) -> Self {
        self.repeater = Some(NotificationRepeater::default());
        self
    }

    fn limited(&mut self, mut data: Bytes) -> Bytes {
        if let Some(left) = &mut self.left {
            data.truncate(*left);
            *left -= data.len();
        }
        data
    }
}

impl Body for FaultyBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let failed = |reason: &'static str| {
            Poll::Ready(Some(Err(HttpError::new(HttpPhase::Receive, reason))))
        };
        if self.left == Some(0) {
            return failed("a fault of the inspector cut the body");
        }
        if self.dropped.as_mut().poll(context).is_ready() {
            self.left = Some(0);
            return failed("a fault of the inspector dropped the stream");
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let data = match (frame, &mut self.repeater) {
            (Some(Ok(frame)), repeater) => match (frame.into_data(), repeater) {
                (Ok(data), Some(repeater)) => repeater.push(&data),
                (Ok(data), None) => data,
                (Err(frame), _) => return Poll::Ready(Some(Ok(frame))),
            },
            // The rest is not a complete event.
            (None, Some(repeater)) if !repeater.rest.is_empty() => {
                std::mem::take(&mut repeater.rest).into()
            }
            (other, _) => return Poll::Ready(other),
        };
        let data = self.limited(data);
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

/// Repeats the notifications of an event stream.
#[derive(Debug)]
struct NotificationRepeater {
    /// The beginning of an event that is not complete.
    rest: Vec<u8>,
    /// The maximum size of `rest` in bytes. A longer event is passed on, and not repeated.
    max_bytes: usize,
}

impl Default for NotificationRepeater {
    fn default() -> Self {
        Self {
            rest: Vec::new(),
            max_bytes: MAX_EVENT_BYTES,
        }
    }
}

impl NotificationRepeater {
    /// Returns the complete events, with each notification twice.
    fn push(&mut self, data: &[u8]) -> Bytes {
        self.rest.extend_from_slice(data);
        let mut repeated = Vec::new();
        while let Some(end) = event_end(&self.rest) {
            let event: Vec<u8> = self.rest.drain(..end).collect();
            repeated.extend_from_slice(&event);
            if is_notification(&event) {
                repeated.extend_from_slice(&event);
            }
        }
        if self.rest.len() > self.max_bytes {
            repeated.append(&mut self.rest);
        }
        repeated.into()
    }
}

/// Returns the position after the first event.
fn event_end(stream: &[u8]) -> Option<usize> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n"].into_iter().filter_map(|end| {
        let start = stream.windows(end.len()).position(|part| part == end)?;
        Some(start + end.len())
    });
    ends.min()
}

/// Returns `true` for an event with a message that has a method and no id.
fn is_notification(event: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct MessageHead {
        #[serde(rename = "method")]
        _method: IgnoredAny,
        id: Option<IgnoredAny>,
    }
    let text = String::from_utf8_lossy(event);
    let data: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .collect();
    serde_json::from_str(&data).is_ok_and(|head: MessageHead| head.id.is_none())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn body(text: &'static str) -> FaultyBody {
        FaultyBody::new(ClientBody::full(text), Box::pin(std::future::pending()))
    }

    #[tokio::test]
    async fn cut_body_fails_after_its_bytes() {
        let mut body = body("abcdef").with_end(Some(4));
        let frame = body.frame().await.expect("a frame").expect("no error yet");
        assert_eq!(frame.into_data().expect("data"), "abcd");
        assert!(body.frame().await.expect("a frame").is_err());
    }

    #[tokio::test]
    async fn dropped_body_fails_at_once() {
        let dropped = Box::pin(std::future::ready(()));
        let mut body = FaultyBody::new(ClientBody::full("abc"), dropped);
        assert!(body.frame().await.expect("a frame").is_err());
        // The future is not polled again.
        assert!(body.frame().await.expect("a frame").is_err());
    }

    #[tokio::test]
    async fn only_notifications_are_repeated() {
        let notification = "data: {\"method\":\"notifications/progress\"}\n\n";
        let response = "data: {\"id\":1,\"result\":{}}\n\n";
        let request = "data: {\"id\":1,\"method\":\"ping\"}\r\n\r\n";
        let stream = format!("{notification}{response}{request}data: {{\"meth");
        let expected = format!("{notification}{stream}");
        let body = body(stream.leak()).with_repeated_notifications();
        let collected = body.collect().await.expect("no error").to_bytes();
        assert_eq!(collected, expected);
    }

    #[test]
    fn events_are_recognized_in_any_pieces() {
        let event = b"data: {\"method\":\"notifications/progress\"}\n\n";
        let mut repeater = NotificationRepeater::default();
        let mut repeated = Vec::new();
        for byte in event {
            repeated.extend_from_slice(&repeater.push(&[*byte]));
        }
        assert_eq!(repeated, event.repeat(2));
    }

    #[test]
    fn long_event_is_passed_on() {
        assert_eq!(NotificationRepeater::default().max_bytes, 16 * 1024 * 1024);
        let mut repeater = NotificationRepeater {
            max_bytes: 8,
            ..NotificationRepeater::default()
        };
        assert_eq!(repeater.push(b"data: {\""), "");
        assert_eq!(repeater.push(b"m"), "data: {\"m");
        assert_eq!(repeater.push(b"\":1}\n\n"), "\":1}\n\n");
    }
}
