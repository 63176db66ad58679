//! Requests over HTTP/2. Many callers share a connection, and each has one stream open at a time.

use std::io;

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::connection::{Destination, Response};
use super::workload::Workload;

/// One caller on a connection and its repeated request.
pub(crate) struct Http2Caller {
    sender: SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
    body: Bytes,
}

impl Http2Caller {
    /// Opens a connection, which lives as long as its callers, and returns the callers.
    pub(crate) async fn open(
        destination: &Destination,
        workload: &Workload,
        callers: usize,
    ) -> io::Result<Vec<Self>> {
        let request = workload.http2_request(&destination.target)?;
        let io = TokioIo::new(destination.connect().await?);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io)
            .await
            .map_err(io::Error::other)?;
        // If the connection fails, so do its requests.
        tokio::spawn(connection);
        let caller = || Self {
            sender: sender.clone(),
            request: request.clone(),
            body: Bytes::new(),
        };
        Ok((0..callers).map(|_| caller()).collect())
    }

    /// Sends the request and waits for the complete response.
    pub(crate) async fn exchange(&mut self) -> io::Result<Response<'_>> {
        let response = self
            .sender
            .send_request(self.request.clone())
            .await
            .map_err(io::Error::other)?;
        let (head, body) = response.into_parts();
        self.body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let content_type = head.headers.get(CONTENT_TYPE);
        Ok(Response {
            status: head.status.as_u16(),
            is_event_stream: content_type
                .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream")),
            body: &self.body,
        })
    }
}
