//! The body of a response, read from hyper.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Response, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::client::http::{ClientBody, HttpError};
use crate::transport::http_client::error_mapping;

/// A body whose errors name the server. If it is dropped before its end, hyper closes the connection or resets the
/// stream.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: Incoming,
    uri: Uri,
    is_complete: bool,
}

impl ResponseBody {
    /// Wraps the body of a response to a request with this URL.
    pub(super) fn wrap(response: Response<Incoming>, uri: &Uri) -> Response<ClientBody> {
        response.map(|body| {
            if body.is_end_stream() {
                return ClientBody::full(Bytes::new());
            }
            ClientBody::new(Self {
                body,
                uri: uri.clone(),
                is_complete: false,
            })
        })
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if self.is_complete {
            return Poll::Ready(None);
        }
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
            self.is_complete = true;
            // Yields once. A task of hyper returns the connection to the pool, and runs before the caller's next
            // request, which then does not open another connection.
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        let to_http_error = |error| error_mapping::body_error(&self.uri, error);
        Poll::Ready(Some(frame.map_err(to_http_error)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_complete || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
