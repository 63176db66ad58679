//! The body of an answer, which gives its connection back when it has been read to its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::client::http::HttpFailure;
use crate::transport::http_client::explain;
use crate::transport::http_client::http1::Http1;
use crate::transport::http_client::http1::framing::{Framing, Piece};
use crate::transport::http_client::origin::Origin;

/// A body and the connection it comes over. Dropped before its end has come, it takes the connection with it.
#[derive(Debug)]
pub(super) struct Http1Body {
    /// Nothing once the body is over.
    connection: Option<Box<Http1>>,
    framing: Framing,
    /// Whether the connection may be used again.
    keeps: bool,
    origin: Arc<Origin>,
}

impl Http1Body {
    pub(super) fn new(
        connection: Box<Http1>,
        framing: Framing,
        keeps: bool,
        origin: Arc<Origin>,
    ) -> Self {
        Self {
            connection: Some(connection),
            framing,
            keeps,
            origin,
        }
    }

    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take()
            && self.keeps
        {
            self.origin.give_back(connection);
        }
    }
}

impl Drop for Http1Body {
    /// What nobody read is passed over if all of it is there, which is so for most answers that say nothing.
    fn drop(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if self.keeps && connection.pass_over(&mut self.framing) {
            self.give_back();
        }
    }
}

impl Body for Http1Body {
    type Data = Bytes;
    type Error = HttpFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpFailure>>> {
        let this = &mut *self;
        let Some(connection) = &mut this.connection else {
            return Poll::Ready(None);
        };
        Poll::Ready(
            match ready!(connection.poll_piece(context, &mut this.framing)) {
                Ok(Piece::Data(bytes)) => {
                    if this.framing.is_over() {
                        this.give_back();
                    }
                    Some(Ok(Frame::data(bytes)))
                }
                Ok(_) => {
                    this.give_back();
                    None
                }
                Err(broken) => {
                    this.connection = None;
                    Some(Err(explain::broken_body(this.origin.place(), broken)))
                }
            },
        )
    }

    fn is_end_stream(&self) -> bool {
        self.connection.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.framing, &self.connection) {
            (_, None) => SizeHint::with_exact(0),
            (Framing::Length(left), Some(_)) => SizeHint::with_exact(*left),
            _ => SizeHint::default(),
        }
    }
}
