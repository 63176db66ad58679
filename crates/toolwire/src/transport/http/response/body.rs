//! The body of a response.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::engine::encoding::{AFTER_RESULT, EncodedResponse};
use crate::transport::http::access_log::AccessEntry;
use crate::transport::http::listener::read_timeout::RequestGuard;
use crate::transport::http::response::event_stream::EventStream;

/// The body of a server response: a single message or an event stream.
///
/// Dropping the body before its end is treated as a disconnect of the client. Depending on the protocol version, the
/// disconnect cancels the request.
///
/// A body returns an error if the response cannot be completed, so that the HTTP stack does not end it like a complete
/// one. The client of a resumable stream then resumes it.
pub struct ServerBody {
    content: BodyContent,
    /// Notifies the connection on drop that the response is complete.
    _request_guard: Option<RequestGuard>,
    /// The record of a stream in the access log.
    access: Option<Box<AccessEntry>>,
}

enum BodyContent {
    Empty,
    /// One message in an owned buffer.
    Message(Vec<u8>),
    Full(Bytes),
    /// Chunks that are sent one after another, in reverse order.
    Chunks(Vec<Bytes>),
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

    /// Creates a body of one message.
    pub(crate) fn message(message: Vec<u8>) -> Self {
        Self::of(BodyContent::Message(message))
    }

    /// Creates a body of one JSON-RPC response.
    pub(crate) fn response(message: EncodedResponse) -> Self {
        match message {
            EncodedResponse::Message(message) => Self::message(message),
            EncodedResponse::Around { before, result } => {
                let after = Bytes::from_static(AFTER_RESULT);
                Self::of(BodyContent::Chunks(vec![after, result, before.into()]))
            }
        }
    }

    pub(crate) fn stream(stream: EventStream) -> Self {
        Self::of(BodyContent::Stream(Box::new(stream)))
    }

    /// Adds a guard that ends the request of the connection when the body is dropped.
    pub(crate) fn with_request_guard(mut self, request: RequestGuard) -> Self {
        self._request_guard = Some(request);
        self
    }

    /// Adds the record of an access log, which ends with the body.
    pub(crate) fn with_access_entry(mut self, entry: Box<AccessEntry>) -> Self {
        self.access = Some(entry);
        self
    }

    /// Returns `true` if the whole body is in memory.
    pub(crate) fn is_complete(&self) -> bool {
        !matches!(self.content, BodyContent::Stream(_))
    }

    /// Returns the remaining length of a complete body.
    pub(crate) fn remaining_len(&self) -> usize {
        match &self.content {
            BodyContent::Empty | BodyContent::Stream(_) => 0,
            BodyContent::Message(message) => message.len(),
            BodyContent::Full(bytes) => bytes.len(),
            BodyContent::Chunks(chunks) => chunks.iter().map(Bytes::len).sum(),
        }
    }

    /// Returns the next chunk of a complete body.
    pub(crate) fn next_chunk(&mut self) -> Option<Bytes> {
        if let BodyContent::Chunks(chunks) = &mut self.content {
            let chunk = chunks.pop();
            if chunks.is_empty() {
                self.content = BodyContent::Empty;
            }
            return chunk;
        }
        match std::mem::replace(&mut self.content, BodyContent::Empty) {
            BodyContent::Full(bytes) => Some(bytes),
            BodyContent::Message(message) => Some(message.into()),
            _ => None,
        }
    }

    /// Appends a complete body to `out`.
    pub(crate) fn append_to(mut self, out: &mut Vec<u8>) {
        if let BodyContent::Message(message) = &self.content {
            return out.extend_from_slice(message);
        }
        while let Some(chunk) = self.next_chunk() {
            out.extend_from_slice(&chunk);
        }
    }

    fn of(content: BodyContent) -> Self {
        Self {
            content,
            _request_guard: None,
            access: None,
        }
    }
}

impl Body for ServerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let chunk = match &mut self.content {
            BodyContent::Stream(stream) => ready!(stream.poll_chunk(cx)),
            _ => self.next_chunk().map(Ok),
        };
        if let (Some(access), Some(Ok(chunk))) = (&mut self.access, &chunk) {
            access.add_bytes(chunk.len());
        }
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, BodyContent::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_complete() {
            SizeHint::with_exact(self.remaining_len() as u64)
        } else {
            SizeHint::default()
        }
    }
}

impl fmt::Debug for ServerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.content {
            BodyContent::Empty => "ServerBody::Empty",
            BodyContent::Message(_) | BodyContent::Full(_) | BodyContent::Chunks(_) => {
                "ServerBody::Full"
            }
            BodyContent::Stream(_) => "ServerBody::Stream",
        })
    }
}
