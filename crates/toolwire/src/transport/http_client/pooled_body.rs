//! The body of an answer, which gives its connection back when it has been read to its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::HttpFailure;
use super::connection::Http1;
use super::explain;
use super::origin::Origin;

/// A body and the connection it comes over. Dropped before its end, it takes the connection with it.
#[derive(Debug)]
pub(super) struct PooledBody {
    body: Incoming,
    /// Nothing once it was given back, or when it was never for this body alone.
    connection: Option<Http1>,
    origin: Arc<Origin>,
}

impl PooledBody {
    pub(super) fn new(body: Incoming, connection: Option<Http1>, origin: Arc<Origin>) -> Self {
        let mut pooled = Self {
            body,
            connection,
            origin,
        };
        if pooled.body.is_end_stream() {
            pooled.give_back();
        }
        pooled
    }

    fn give_back(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        if connection.is_ready() {
            self.origin.give_back(connection);
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // The task of the connection has not come round to it yet, or is about to close it.
            let origin = Arc::clone(&self.origin);
            runtime.spawn(async move {
                if connection.ready().await {
                    origin.give_back(connection);
                }
            });
        }
    }
}

impl Body for PooledBody {
    type Data = Bytes;
    type Error = HttpFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpFailure>>> {
        Poll::Ready(match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => {
                if self.body.is_end_stream() {
                    self.give_back();
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                self.connection = None;
                Some(Err(explain::broken_body(self.origin.place(), error)))
            }
            None => {
                self.give_back();
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
