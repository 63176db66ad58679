//! The body of an answer, as it arrives.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;

use crate::client::http::{HttpError, HttpPhase};

/// The body of an answer: bytes that come in pieces, perhaps for hours.
///
/// Dropping it before its end closes the stream, which tells the server that nobody waits any more.
pub struct ClientBody(Source);

enum Source {
    /// It is there already; nothing once it was taken.
    Whole(Option<Bytes>),
    Stream(UnsyncBoxBody<Bytes, HttpError>),
}

impl ClientBody {
    /// A body that is there already.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self(Source::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// A body that comes from somewhere else.
    ///
    /// An error that is an [`HttpError`] stays as it is; any other becomes the source of one at [`HttpPhase::Receive`].
    #[must_use]
    pub fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let body = body.map_err(|error| match error.into().downcast::<HttpError>() {
            Ok(failure) => *failure,
            Err(source) => {
                HttpError::new(HttpPhase::Receive, "the answer broke off").with_source(source)
            }
        });
        Self(Source::Stream(UnsyncBoxBody::new(body)))
    }

    /// All of it, when it is there already.
    pub(crate) fn take_whole(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Source::Whole(bytes) => Some(bytes.take().unwrap_or_default()),
            Source::Stream(_) => None,
        }
    }

    /// The next piece, or nothing when the body is complete. Trailers are passed over.
    ///
    /// # Errors
    ///
    /// Fails once when the body breaks off; nothing comes after that.
    ///
    /// # Cancellation
    ///
    /// A dropped call loses nothing; the next one goes on where it waited.
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

    /// The whole body, which may have `limit` bytes at most.
    ///
    /// # Errors
    ///
    /// Fails when the body breaks off or has more bytes than `limit`.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, HttpError> {
        let Some(first) = self.chunk().await.transpose()? else {
            return Ok(Bytes::new());
        };
        within(first.len(), limit)?;
        // Most answers are one piece, which needs no copy.
        let Some(second) = self.chunk().await.transpose()? else {
            return Ok(first);
        };
        let mut whole = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(piece) = next {
            within(whole.len() + piece.len(), limit)?;
            whole.extend_from_slice(&piece);
            next = self.chunk().await.transpose()?;
        }
        Ok(whole.freeze())
    }
}

fn within(length: usize, limit: usize) -> Result<(), HttpError> {
    if length <= limit {
        return Ok(());
    }
    Err(HttpError::new(
        HttpPhase::Receive,
        format!("the answer has more than {limit} bytes"),
    )
    .with_advice("allow larger answers if this server is meant to send them"))
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        match &mut self.0 {
            Source::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Source::Stream(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Source::Whole(bytes) => bytes.is_none(),
            Source::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Source::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            Source::Stream(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for ClientBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBody").finish_non_exhaustive()
    }
}
