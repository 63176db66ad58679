//! The body of an answer that comes over HTTP/2.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::transport::http_client::HttpFailure;
use crate::transport::http_client::explain;
use crate::transport::http_client::origin::Origin;

/// A body and where it comes from. Dropped before its end, it resets its stream.
#[derive(Debug)]
pub(super) struct Http2Body {
    body: Incoming,
    origin: Arc<Origin>,
}

impl Http2Body {
    pub(super) fn new(body: Incoming, origin: Arc<Origin>) -> Self {
        Self { body, origin }
    }
}

impl Body for Http2Body {
    type Data = Bytes;
    type Error = HttpFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpFailure>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let explained = |error| explain::broken_body_over_http2(self.origin.place(), error);
        Poll::Ready(frame.map(|frame| frame.map_err(explained)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
