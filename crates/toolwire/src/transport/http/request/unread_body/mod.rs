//! Reads and discards the rest of a request body after the response is known, within limits.
//!
//! Many clients send a whole request before they read the response. A connection that is closed with unread bytes is
//! reset, and the reset can destroy the response on its way. So a request that is rejected by its headers is still
//! read to its end. A body that is too long or too slow is not read, and the response to an HTTP/1.1 request then
//! contains `Connection: close`. Nothing is buffered.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf as _;
use http::header::{CONNECTION, EXPECT};
use http::request::Parts;
use http::{HeaderValue, Version};
use http_body::{Body, Frame, SizeHint};

use crate::engine::boxed_cold;
use crate::transport::http::byte_budget::Reservation;
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::response::HttpResponse;

/// A request body that records how far it was read.
#[derive(Debug)]
pub(crate) struct TrackedBody<B> {
    body: B,
    progress: Progress,
}

/// How far a request body was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    NotStarted,
    Started,
    /// All of it was read.
    Ended,
    /// Reading failed, and there is nothing more to read.
    Failed,
}

/// What happens to a connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterResponse {
    /// The connection can serve the next request.
    KeepAlive,
    /// The connection is closed, because a part of the request was not read. The client may still be sending.
    Close,
}

impl<B: Body + Unpin> TrackedBody<B> {
    pub(crate) fn new(body: B) -> Self {
        Self {
            body,
            progress: Progress::NotStarted,
        }
    }

    fn has_ended(&self) -> bool {
        let is_empty = || self.body.size_hint().upper() == Some(0);
        self.progress == Progress::Ended || self.body.is_end_stream() || is_empty()
    }

    /// Reads at most `limit` bytes. Returns `true` if the end of the body was reached.
    async fn discard(&mut self, limit: usize) -> bool {
        let mut left = limit;
        while !self.has_ended() {
            let Some(frame) = poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await else {
                break;
            };
            let Ok(frame) = frame else {
                return false;
            };
            let length = frame.data_ref().map_or(0, |data| data.remaining());
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return false,
            }
        }
        true
    }
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if self.progress == Progress::NotStarted {
            self.progress = Progress::Started;
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.progress = Progress::Ended,
            Some(Err(_)) => self.progress = Progress::Failed,
            Some(Ok(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Completes a request before its response is sent: discards the rest of the body, or makes the response close the
/// connection.
///
/// At most [`HttpLimits::body_bytes`] are read, for at most [`HttpLimits::discard_deadline`]. In the meantime,
/// `reservation` counts the headers.
pub(crate) async fn finish_request<B: Body + Unpin>(
    parts: &Parts,
    mut body: TrackedBody<B>,
    response: &mut HttpResponse,
    limits: &HttpLimits,
    mut reservation: Reservation,
) -> AfterResponse {
    if body.has_ended() {
        return AfterResponse::KeepAlive;
    }
    let headers = parts.headers.iter();
    let header_bytes = headers.map(|(name, value)| name.as_str().len() + value.len());
    let is_discarded = should_discard(parts, &body, response, limits)
        && reservation.try_grow(header_bytes.sum())
        && boxed_cold(|| {
            let discarding = body.discard(limits.body_bytes);
            tokio::time::timeout(limits.discard_deadline, discarding)
        })
        .await
        .unwrap_or(false);
    if is_discarded || has_streams(parts.version) {
        return AfterResponse::KeepAlive;
    }
    let close = HeaderValue::from_static("close");
    response.fields_mut().insert(CONNECTION, close);
    AfterResponse::Close
}

/// Returns `true` if each request has its own stream, which can end without the connection. HTTP/2 resets the stream
/// with `NO_ERROR` (RFC 9113, section 8.1).
fn has_streams(http: Version) -> bool {
    matches!(http, Version::HTTP_2 | Version::HTTP_3)
}

/// Returns `true` if the rest of a body should be read and discarded.
fn should_discard<B: Body>(
    parts: &Parts,
    body: &TrackedBody<B>,
    response: &HttpResponse,
    limits: &HttpLimits,
) -> bool {
    // RFC 9110, section 10.1.1: a client that waits for `100 Continue` has not sent the body. Reading would request it.
    let is_expected = match body.progress {
        Progress::NotStarted => !parts.headers.contains_key(EXPECT),
        Progress::Started => true,
        Progress::Ended | Progress::Failed => false,
    };
    is_expected && !closes(response) && body.body.size_hint().lower() <= limits.body_bytes as u64
}

/// Returns `true` if a response closes its connection.
fn closes(response: &HttpResponse) -> bool {
    let connection = response.fields().and_then(|fields| fields.get(CONNECTION));
    connection.is_some_and(|value| value == HeaderValue::from_static("close"))
}

#[cfg(test)]
mod tests;
