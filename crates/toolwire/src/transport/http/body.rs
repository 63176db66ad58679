//! The body of an answer.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::engine::exchange::{AFTER_RESULT, EncodedResponse};
use crate::transport::http::event_stream::EventStream;
use crate::transport::http::listener::head_deadline::RequestInProgress;

/// The body of an answer: one message, or a stream of events.
///
/// Dropping it means that the client is gone; what that does to the request is the protocol's business.
pub struct HttpBody {
    content: Content,
    /// Tells the connection when the answer is out.
    _in_progress: Option<RequestInProgress>,
}

enum Content {
    Empty,
    /// One message that nobody shares.
    Message(Vec<u8>),
    Full(Bytes),
    /// Pieces that are sent without being put together, the next one last.
    Pieces(Vec<Bytes>),
    Stream(Box<EventStream>),
}

impl HttpBody {
    pub(super) fn empty() -> Self {
        Self::of(Content::Empty)
    }

    pub(super) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::of(if bytes.is_empty() {
            Content::Empty
        } else {
            Content::Full(bytes)
        })
    }

    /// One message.
    pub(super) fn message(message: Vec<u8>) -> Self {
        Self::of(Content::Message(message))
    }

    /// A message that answers a request.
    pub(super) fn answer(message: EncodedResponse) -> Self {
        match message {
            EncodedResponse::Whole(message) => Self::message(message),
            EncodedResponse::Around { before, result } => {
                let after = Bytes::from_static(AFTER_RESULT);
                Self::of(Content::Pieces(vec![after, result, before.into()]))
            }
        }
    }

    pub(super) fn stream(stream: EventStream) -> Self {
        Self::of(Content::Stream(Box::new(stream)))
    }

    /// The same body, which ends a request of its connection when it is dropped.
    pub(super) fn during(mut self, request: RequestInProgress) -> Self {
        self._in_progress = Some(request);
        self
    }

    /// Whether it is known to its end.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self.content, Content::Stream(_))
    }

    /// How much is left of a body that is known to its end.
    pub(super) fn whole_length(&self) -> usize {
        match &self.content {
            Content::Empty | Content::Stream(_) => 0,
            Content::Message(message) => message.len(),
            Content::Full(bytes) => bytes.len(),
            Content::Pieces(pieces) => pieces.iter().map(Bytes::len).sum(),
        }
    }

    /// The next piece of a body that is known to its end.
    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        if let Content::Pieces(pieces) = &mut self.content {
            let piece = pieces.pop();
            if pieces.is_empty() {
                self.content = Content::Empty;
            }
            return piece;
        }
        match std::mem::replace(&mut self.content, Content::Empty) {
            Content::Full(bytes) => Some(bytes),
            Content::Message(message) => Some(message.into()),
            _ => None,
        }
    }

    /// Appends all of a body that is known to its end.
    pub(super) fn append_to(mut self, out: &mut Vec<u8>) {
        if let Content::Message(message) = &self.content {
            return out.extend_from_slice(message);
        }
        while let Some(piece) = self.next_piece() {
            out.extend_from_slice(&piece);
        }
    }

    fn of(content: Content) -> Self {
        Self {
            content,
            _in_progress: None,
        }
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = match &mut self.content {
            Content::Stream(stream) => ready!(stream.poll_chunk(cx)),
            _ => self.next_piece(),
        };
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self.is_whole() {
            true => SizeHint::with_exact(self.whole_length() as u64),
            false => SizeHint::default(),
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.content {
            Content::Empty => "HttpBody::Empty",
            Content::Message(_) | Content::Full(_) | Content::Pieces(_) => "HttpBody::Full",
            Content::Stream(_) => "HttpBody::Stream",
        })
    }
}
