//! A test double of the HTTP client whose responses come from a script. It has no sockets, so that tests can pause the
//! clock.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HttpPhase};
use toolwire::{BoxFuture, Client, ClientBuilder, Error};

use super::script::{Ending, Piece, Record, RecordedRequest, Reply, Script};

/// An HTTP client without a network.
#[derive(Clone)]
pub(crate) struct Double {
    script: Script,
    pub(crate) record: Record,
}

impl Double {
    pub(crate) fn new(script: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            record: Record::new(),
        }
    }

    pub(crate) async fn connect(&self) -> Result<Client, Error> {
        self.connect_with(ClientBuilder::new("test", "1")).await
    }

    pub(crate) async fn connect_with(&self, builder: ClientBuilder) -> Result<Client, Error> {
        let builder = builder.with_http_client(self.clone());
        builder.connect("http://made.up/mcp").await
    }
}

impl fmt::Debug for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Double").finish_non_exhaustive()
    }
}

impl HttpClient for Double {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        let mut headers = HashMap::new();
        for (name, value) in request.headers() {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers.insert(name.as_str().to_owned(), value);
        }
        let http_method = request.method().as_str();
        let target = request.uri().to_string();
        let recorded = self
            .record
            .note(1, http_method, &target, headers, request.body());
        let reply = (self.script)(&recorded);
        Box::pin(async move {
            if let Some(gate) = &reply.gate {
                gate.notified().await;
            }
            if reply.ending == Ending::NoResponse {
                return Err(HttpError::new(HttpPhase::Send, "closed"));
            }
            let mut response = Response::builder().status(reply.status);
            for (name, value) in &reply.headers {
                response = response.header(name, value);
            }
            let body = Pieces {
                remaining: reply.pieces.into(),
                ending: reply.ending,
                waiting: None,
            };
            let response = response.body(ClientBody::new(body));
            Ok(response.expect("valid headers"))
        })
    }
}

/// The body of a response.
struct Pieces {
    remaining: VecDeque<Piece>,
    ending: Ending,
    waiting: Option<BoxFuture<'static, ()>>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                std::task::ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            match self.remaining.pop_front() {
                Some(Piece::Bytes(bytes)) => {
                    return Poll::Ready(Some(Ok(Frame::data(bytes.into()))));
                }
                Some(Piece::Wait(gate)) => {
                    self.waiting = Some(Box::pin(async move { gate.notified().await }));
                }
                None => break,
            }
        }
        match self.ending {
            Ending::Complete => Poll::Ready(None),
            Ending::Open => Poll::Pending,
            Ending::Cut | Ending::Reset | Ending::NoResponse => {
                self.ending = Ending::Complete;
                Poll::Ready(Some(Err(HttpError::new(HttpPhase::Receive, "cut"))))
            }
        }
    }
}
