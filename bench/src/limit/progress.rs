//! Progress as the simplest stream would send it: every notification is its own frame, created when it is polled.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: Params<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    progress_token: &'a RawValue,
    progress: f64,
    total: f64,
}

/// The body of the response.
pub(crate) struct ProgressBody {
    token: Box<RawValue>,
    total: usize,
    sent: usize,
    /// The result, which is sent last.
    last: Option<Bytes>,
}

impl ProgressBody {
    /// Creates the body with `token` unchanged. Returns `None` if it is not JSON.
    pub(crate) fn new(token: &str, total: usize, result: &[u8]) -> Option<Self> {
        Some(Self {
            token: RawValue::from_string(token.to_owned()).ok()?,
            total,
            sent: 0,
            last: Some(event(result)),
        })
    }

    fn next(&mut self) -> Option<Bytes> {
        if self.sent == self.total {
            return self.last.take();
        }
        self.sent += 1;
        let notification = Notification {
            jsonrpc: "2.0",
            method: "notifications/progress",
            params: Params {
                progress_token: &self.token,
                progress: self.sent as f64,
                total: self.total as f64,
            },
        };
        serde_json::to_vec(&notification)
            .ok()
            .map(|bytes| event(&bytes))
    }
}

impl Body for ProgressBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Returns one event of a stream.
pub(crate) fn event(message: &[u8]) -> Bytes {
    [b"data: ", message, b"\n\n"].concat().into()
}
