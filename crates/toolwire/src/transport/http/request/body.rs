//! Reads request bodies within a size limit, a timeout, and the byte budget of all requests.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::{Buf, Bytes};
use http::StatusCode;
use http_body::Body;

use crate::transport::http::byte_budget::Reservation;
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::response::{self, HttpResponse};

/// The smallest buffer for a body that arrives in parts.
const FIRST_BUFFER: usize = 4 * 1024;

/// The reason why a body was not read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The body is longer than the limit.
    TooLong,
    /// The body did not arrive in time.
    TooSlow,
    /// The byte budget of all requests is exhausted.
    NoCapacity,
    /// The connection was lost, or the framing is invalid.
    Broken,
}

/// The body of a request before it is read.
#[derive(Debug)]
pub(crate) enum BodySource<'b, B> {
    /// The body arrived together with the headers.
    Complete(&'b [u8]),
    /// The body arrives after the headers.
    Streaming(B),
}

/// A body that was read.
#[derive(Debug)]
pub(crate) enum BodyBytes<'b> {
    /// A slice of the connection's buffer.
    Borrowed(&'b [u8]),
    /// A separate buffer.
    Collected {
        bytes: Bytes,
        /// The counted bytes of the buffer.
        _reservation: Reservation,
    },
}

impl BodyBytes<'_> {
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Collected { bytes, .. } => bytes,
        }
    }
}

impl Deref for BodyBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Collected { bytes, .. } => bytes,
        }
    }
}

/// Reads a body of at most `limit` bytes and counts the bytes as they arrive.
pub(crate) async fn read<'b, B>(
    body: BodySource<'b, B>,
    limit: usize,
    limits: &HttpLimits,
    mut reservation: Reservation,
) -> Result<BodyBytes<'b>, BodyError>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let body = match body {
        BodySource::Complete(body) => return complete(body, limit),
        BodySource::Streaming(body) => body,
    };
    // A body whose announced length exceeds the limit is rejected without reading it.
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyError::TooLong);
    }
    let bytes = {
        let mut collecting = pin!(collect(body, limit, &mut reservation));
        // Most bodies have arrived already and need no timer.
        match poll_fn(|cx| Poll::Ready(collecting.as_mut().poll(cx))).await {
            Poll::Ready(outcome) => outcome?,
            Poll::Pending => tokio::time::timeout(limits.body_deadline, collecting)
                .await
                .map_err(|_| BodyError::TooSlow)??,
        }
    };
    Ok(BodyBytes::Collected {
        bytes,
        _reservation: reservation,
    })
}

/// Returns a body that is already in memory, if it is within the limit.
pub(crate) fn complete(body: &[u8], limit: usize) -> Result<BodyBytes<'_>, BodyError> {
    if body.len() > limit {
        Err(BodyError::TooLong)
    } else {
        Ok(BodyBytes::Borrowed(body))
    }
}

async fn collect<B>(
    body: B,
    limit: usize,
    reservation: &mut Reservation,
) -> Result<Bytes, BodyError>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let mut body = pin!(body);
    let mut buffer = Vec::new();
    while let Some(mut data) = next_data(body.as_mut()).await? {
        let length = data.remaining();
        if length > limit - buffer.len() {
            return Err(BodyError::TooLong);
        }
        let is_last = body.is_end_stream() || body.size_hint().upper() == Some(0);
        if buffer.is_empty() && is_last {
            // A body that arrives in one part is not copied. Several parts are copied, because each may be a small view
            // of a large buffer of the connection.
            let fits = reservation.try_grow(length);
            return if fits {
                Ok(data.copy_to_bytes(length))
            } else {
                Err(BodyError::NoCapacity)
            };
        }
        grow_buffer(&mut buffer, length, limit, reservation)?;
        while data.has_remaining() {
            let chunk_length = data.chunk().len();
            buffer.extend_from_slice(data.chunk());
            data.advance(chunk_length);
        }
    }
    Ok(buffer.into())
}

/// Returns the next data of a body, or `None` at its end.
async fn next_data<B>(mut body: Pin<&mut B>) -> Result<Option<B::Data>, BodyError>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|error| {
            tracing::debug!(error = %error.into(), "a request body ended early");
            BodyError::Broken
        })?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Grows the buffer for `length` more bytes and counts the added capacity.
fn grow_buffer(
    buffer: &mut Vec<u8>,
    length: usize,
    limit: usize,
    reservation: &mut Reservation,
) -> Result<(), BodyError> {
    let needed = buffer.len() + length;
    if needed <= buffer.capacity() {
        return Ok(());
    }
    let half_more = buffer.capacity() + buffer.capacity() / 2;
    let capacity = half_more.max(FIRST_BUFFER).min(limit).max(needed);
    if !reservation.try_grow(capacity - buffer.capacity()) {
        return Err(BodyError::NoCapacity);
    }
    buffer.reserve_exact(capacity - buffer.len());
    Ok(())
}

/// Returns the response to a request whose body could not be read.
#[cold]
pub(crate) fn reject_body_error(unread: &BodyError, limit: usize) -> HttpResponse {
    match unread {
        BodyError::TooLong => response::reject_and_close(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the message is longer than {limit} bytes"),
        ),
        BodyError::TooSlow => response::reject_and_close(
            StatusCode::REQUEST_TIMEOUT,
            "the message did not arrive in time",
        ),
        BodyError::NoCapacity => no_capacity(),
        BodyError::Broken => {
            response::reject_and_close(StatusCode::BAD_REQUEST, "the message ended early")
        }
    }
}

/// Returns the response to a request for which the byte budget has no capacity.
#[cold]
pub(crate) fn no_capacity() -> HttpResponse {
    response::close_after(response::unavailable(
        "the messages that are being read and served are too large in total",
    ))
}
