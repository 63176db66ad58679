//! The body of a request that hyper reads on a connection of the listener.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::transport::http::listener::read_timeout::RequestCounter;
use crate::transport::http::response::HttpResponse;

/// A body that arrives after its headers. It records its end, because the bytes after it belong to the next request.
#[derive(Debug)]
pub(super) struct RequestBody {
    incoming: Incoming,
    requests: Arc<RequestCounter>,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, requests: Arc<RequestCounter>) -> Self {
        Self { incoming, requests }
    }

    /// Reads the body to its end and discards it.
    pub(super) async fn skip(mut self) {
        while let Some(Ok(_)) = poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await {}
    }
}

/// Polls the future of a response. Never inlined, so that the future is compiled once for all callers.
#[inline(never)]
pub(super) fn poll_response(
    response: Pin<&mut impl Future<Output = HttpResponse>>,
    cx: &mut Context<'_>,
) -> Poll<HttpResponse> {
    response.poll(cx)
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.incoming).poll_frame(cx);
        if self.incoming.is_end_stream() || matches!(frame, Poll::Ready(None)) {
            self.requests.end_body();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
