//! The body of an HTTP response, read from memory or from a stream.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;

use crate::client::http::{HttpError, HttpPhase};

/// The body of an HTTP response. An event stream may stay open for hours.
///
/// Dropping the body before its end closes the stream, so that the server can cancel the request.
pub struct ClientBody(ClientBodyContent);

enum ClientBodyContent {
    /// All bytes, or `None` once they were read.
    Buffered(Option<Bytes>),
    Stream(UnsyncBoxBody<Bytes, HttpError>),
}

impl ClientBody {
    /// Creates a body from bytes in memory.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(ClientBodyContent::Buffered(
            (!bytes.is_empty()).then_some(bytes),
        ))
    }

    /// Creates a body that is read from another body.
    ///
    /// An [`HttpError`] of that body is returned unchanged. Any other error becomes the source of an [`HttpError`] at
    /// [`HttpPhase::Receive`].
    #[must_use]
    pub fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let body = body.map_err(|error| match error.into().downcast::<HttpError>() {
            Ok(failure) => *failure,
            Err(source) => HttpError::new(HttpPhase::Receive, "the response body ended early")
                .with_source(source),
        });
        Self(ClientBodyContent::Stream(UnsyncBoxBody::new(body)))
    }

    /// Returns all bytes of a body in memory, or `None` if the body is a stream.
    pub(crate) fn take_buffered(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            ClientBodyContent::Buffered(bytes) => Some(bytes.take().unwrap_or_default()),
            ClientBodyContent::Stream(_) => None,
        }
    }

    /// Returns the next bytes, or `None` at the end of the body. Skips trailers and empty frames.
    ///
    /// # Errors
    ///
    /// Returns an error if the body ends early. The next call returns `None`.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no bytes. The next call continues at the same position.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, HttpError>> {
        loop {
            match self.frame().await? {
                Ok(frame) => {
                    if let Ok(bytes) = frame.into_data()
                        && !bytes.is_empty()
                    {
                        return Some(Ok(bytes));
                    }
                }
                Err(failure) => return Some(Err(failure)),
            }
        }
    }

    /// Reads the whole body, which may have at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the body ends early or has more than `limit` bytes.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, HttpError> {
        let Some(first) = self.chunk().await.transpose()? else {
            return Ok(Bytes::new());
        };
        check_length(first.len(), limit)?;
        // Most bodies have one chunk, which needs no copy.
        let Some(second) = self.chunk().await.transpose()? else {
            return Ok(first);
        };
        let mut whole = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(chunk) = next {
            check_length(whole.len() + chunk.len(), limit)?;
            whole.extend_from_slice(&chunk);
            next = self.chunk().await.transpose()?;
        }
        Ok(whole.freeze())
    }
}

fn check_length(length: usize, limit: usize) -> Result<(), HttpError> {
    if length <= limit {
        return Ok(());
    }
    Err(HttpError::new(
        HttpPhase::Receive,
        format!("the response body has more than {limit} bytes"),
    )
    .with_advice("raise the limit if this server may send larger responses"))
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        match &mut self.0 {
            ClientBodyContent::Buffered(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            ClientBodyContent::Stream(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            ClientBodyContent::Buffered(bytes) => bytes.is_none(),
            ClientBodyContent::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            ClientBodyContent::Buffered(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            ClientBodyContent::Stream(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for ClientBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBody").finish_non_exhaustive()
    }
}
