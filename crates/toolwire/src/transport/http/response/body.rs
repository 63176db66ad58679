//! The body of an answer.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::engine::exchange::{AFTER_RESULT, EncodedResponse};
use crate::transport::http::listener::read_timeout::RequestGuard;
use crate::transport::http::response::event_stream::EventStream;

/// The body of an answer: one message, or a stream of events.
///
/// Dropping it means that the client is gone; what that does to the request is the protocol's business.
pub struct ServerBody {
    content: BodyContent,
    /// Tells the connection when the answer is out.
    _in_progress: Option<RequestGuard>,
}

enum BodyContent {
    Empty,
    /// One message that nobody shares.
    Message(Vec<u8>),
    Full(Bytes),
    /// Pieces that are sent without being put together, the next one last.
    Pieces(Vec<Bytes>),
    Stream(Box<EventStream>),
}

impl ServerBody {
    pub(crate) fn empty() -> Self {
        Self::of(BodyContent::Empty)
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::of(if bytes.is_empty() {
            BodyContent::Empty
        } else {
            BodyContent::Full(bytes)
        })
    }

    /// One message.
    pub(crate) fn message(message: Vec<u8>) -> Self {
        Self::of(BodyContent::Message(message))
    }

    /// A message that answers a request.
    pub(crate) fn answer(message: EncodedResponse) -> Self {
        match message {
            EncodedResponse::Whole(message) => Self::message(message),
            EncodedResponse::Around { before, result } => {
                let after = Bytes::from_static(AFTER_RESULT);
                Self::of(BodyContent::Pieces(vec![after, result, before.into()]))
            }
        }
    }

    pub(crate) fn stream(stream: EventStream) -> Self {
        Self::of(BodyContent::Stream(Box::new(stream)))
    }

    /// The same body, which ends a request of its connection when it is dropped.
    pub(crate) fn during(mut self, request: RequestGuard) -> Self {
        self._in_progress = Some(request);
        self
    }

    /// Whether it is known to its end.
    pub(crate) fn is_complete(&self) -> bool {
        !matches!(self.content, BodyContent::Stream(_))
    }

    /// How much is left of a body that is known to its end.
    pub(crate) fn remaining_len(&self) -> usize {
        match &self.content {
            BodyContent::Empty | BodyContent::Stream(_) => 0,
            BodyContent::Message(message) => message.len(),
            BodyContent::Full(bytes) => bytes.len(),
            BodyContent::Pieces(pieces) => pieces.iter().map(Bytes::len).sum(),
        }
    }

    /// The next piece of a body that is known to its end.
    pub(crate) fn next_chunk(&mut self) -> Option<Bytes> {
        if let BodyContent::Pieces(pieces) = &mut self.content {
            let piece = pieces.pop();
            if pieces.is_empty() {
                self.content = BodyContent::Empty;
            }
            return piece;
        }
        match std::mem::replace(&mut self.content, BodyContent::Empty) {
            BodyContent::Full(bytes) => Some(bytes),
            BodyContent::Message(message) => Some(message.into()),
            _ => None,
        }
    }

    /// Appends all of a body that is known to its end.
    pub(crate) fn append_to(mut self, out: &mut Vec<u8>) {
        if let BodyContent::Message(message) = &self.content {
            return out.extend_from_slice(message);
        }
        while let Some(piece) = self.next_chunk() {
            out.extend_from_slice(&piece);
        }
    }

    fn of(content: BodyContent) -> Self {
        Self {
            content,
            _in_progress: None,
        }
    }
}

impl Body for ServerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = match &mut self.content {
            BodyContent::Stream(stream) => ready!(stream.poll_chunk(cx)),
            _ => self.next_chunk(),
        };
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, BodyContent::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self.is_complete() {
            true => SizeHint::with_exact(self.remaining_len() as u64),
            false => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ServerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.content {
            BodyContent::Empty => "ServerBody::Empty",
            BodyContent::Message(_) | BodyContent::Full(_) | BodyContent::Pieces(_) => {
                "ServerBody::Full"
            }
            BodyContent::Stream(_) => "ServerBody::Stream",
        })
    }
}
