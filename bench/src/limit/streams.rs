//! A stream that acknowledges the subscription and then waits for changes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc;

/// A queue of events that are sent as they arrive.
pub(crate) struct StreamBody(mpsc::Receiver<Bytes>);

impl Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = self.0.poll_recv(context);
        event.map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The senders of all open streams.
#[derive(Default)]
pub(crate) struct Streams {
    open: Vec<mpsc::Sender<Bytes>>,
}

impl Streams {
    /// Adds a stream with its first event.
    pub(crate) fn open(&mut self, first: Option<Bytes>) -> StreamBody {
        // There is at most one queued event, because the load waits for each.
        let (sender, receiver) = mpsc::channel(2);
        if let Some(first) = first {
            // The queue is new, so it has capacity.
            let _ = sender.try_send(first);
        }
        self.open.push(sender);
        StreamBody(receiver)
    }

    /// Sends an event to all streams, and removes those that have ended.
    pub(crate) fn send_to_all(&mut self, event: &Bytes) {
        self.open
            .retain(|stream| stream.try_send(event.clone()).is_ok());
    }
}
