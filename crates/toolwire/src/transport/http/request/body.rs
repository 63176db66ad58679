//! Reading the body of a request, within a size, a time, and the bytes that all requests may hold together.

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

/// Why a body was not read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// Longer than allowed.
    TooLong,
    /// It took too long.
    TooSlow,
    /// All requests together hold too many bytes.
    NoCapacity,
    /// The connection broke, or the framing is wrong.
    Broken,
}

/// The body of a request before it is read.
#[derive(Debug)]
pub(crate) enum BodySource<'b, B> {
    /// It came together with the head.
    Whole(&'b [u8]),
    /// It comes after the head.
    Streaming(B),
}

/// A body that was read.
#[derive(Debug)]
pub(crate) enum BodyBytes<'b> {
    /// Where it came in.
    InPlace(&'b [u8]),
    /// In a buffer of its own.
    Collected {
        bytes: Bytes,
        /// What is counted for it.
        _reservation: Reservation,
    },
}

impl BodyBytes<'_> {
    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::InPlace(bytes) => Bytes::copy_from_slice(bytes),
            Self::Collected { bytes, .. } => bytes,
        }
    }
}

impl Deref for BodyBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Collected { bytes, .. } => bytes,
        }
    }
}

/// Reads a whole body of at most `limit` bytes, and counts it as it arrives.
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
        BodySource::Whole(body) => return whole(body, limit),
        BodySource::Streaming(body) => body,
    };
    // An announced length is believed before a single byte of it is read.
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyError::TooLong);
    }
    let bytes = {
        let mut collecting = pin!(collect(body, limit, &mut reservation));
        // Most bodies are here already, and need no timer.
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

/// Reads a body that is here.
pub(crate) fn whole(body: &[u8], limit: usize) -> Result<BodyBytes<'_>, BodyError> {
    match body.len() > limit {
        true => Err(BodyError::TooLong),
        false => Ok(BodyBytes::InPlace(body)),
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
            // It came in one part, which is taken as it is. Other parts are copied: they may be small views of a large
            // buffer of the connection.
            let fits = reservation.try_grow(length);
            return match fits {
                true => Ok(data.copy_to_bytes(length)),
                false => Err(BodyError::NoCapacity),
            };
        }
        make_room(&mut buffer, length, limit, reservation)?;
        while data.has_remaining() {
            let taken = data.chunk().len();
            buffer.extend_from_slice(data.chunk());
            data.advance(taken);
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
            tracing::debug!(error = %error.into(), "a request body broke off");
            BodyError::Broken
        })?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Enlarges the buffer for `length` more bytes, and counts what it takes.
fn make_room(
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
            "the message took too long to arrive",
        ),
        BodyError::NoCapacity => no_capacity(),
        BodyError::Broken => {
            response::reject_and_close(StatusCode::BAD_REQUEST, "the message broke off")
        }
    }
}

/// Rejects a request because all requests together hold too many bytes.
#[cold]
pub(crate) fn no_capacity() -> HttpResponse {
    response::close_after(response::unavailable(
        "the messages that are being read and served are too large together at the moment",
    ))
}
