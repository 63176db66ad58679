//! The body of an event stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

/// A body that is written while it is sent.
#[derive(Debug)]
pub(super) struct EventBody(pub(super) mpsc::Receiver<Bytes>);

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = std::task::ready!(self.0.poll_recv(context));
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}
