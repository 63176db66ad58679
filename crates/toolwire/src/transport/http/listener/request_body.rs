//! The body of a request on one of our connections.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::transport::http::answer::Answer;
use crate::transport::http::listener::head_deadline::Requests;

/// One type for both kinds, so that the service is compiled once.
#[derive(Debug)]
pub(super) enum RequestBody {
    /// It came together with the head. Empty once it was taken.
    Whole(Bytes),
    /// It comes after the head. What comes after its end, is told to the connection, belongs to the next request.
    Incoming(Incoming, Arc<Requests>),
}

impl RequestBody {
    /// Reads it to its end, for nothing.
    pub(super) async fn skip(mut self) {
        while let Some(Ok(_)) = poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await {}
    }
}

/// Lets an answer to such a request come about. Never inlined, so that all of it is compiled once for plain requests and
/// for those of hyper.
#[inline(never)]
pub(super) fn poll_answer(
    answer: Pin<&mut impl Future<Output = Answer>>,
    cx: &mut Context<'_>,
) -> Poll<Answer> {
    answer.poll(cx)
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Incoming(incoming, requests) => {
                let frame = Pin::new(&mut *incoming).poll_frame(cx);
                if incoming.is_end_stream() || matches!(frame, Poll::Ready(None)) {
                    requests.end_body();
                }
                frame
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Incoming(incoming, _) => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Incoming(incoming, _) => incoming.size_hint(),
        }
    }
}
