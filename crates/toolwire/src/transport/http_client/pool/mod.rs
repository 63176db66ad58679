//! Connections to servers: those that wait are used again, others are opened.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Response, Uri, request};

use crate::transport::http_client::connection::{Connection, send_over_http2};
use crate::transport::http_client::connector::Connector;
use crate::transport::http_client::explain;
use crate::transport::http_client::http1::Broken;
use crate::transport::http_client::http2_body::Http2Body;
use crate::transport::http_client::origin::{IdleLimits, Origin};
use crate::transport::http_client::{HttpBody, HttpFailure};

/// All connections of one client.
pub(super) struct Pool {
    connector: Connector,
    limits: IdleLimits,
    /// How many bytes of a head are read at most, with everything between names and values.
    head_room: u32,
    /// Those that have connections. They are few, so comparing is cheaper than hashing.
    origins: Mutex<Vec<Arc<Origin>>>,
}

impl Pool {
    pub(super) fn new(connector: Connector, limits: IdleLimits, head_room: u32) -> Self {
        Self {
            connector,
            limits,
            head_room,
            origins: Mutex::default(),
        }
    }

    /// The server that a URI names.
    pub(super) fn origin(&self, uri: &Uri) -> Result<Arc<Origin>, HttpFailure> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(origin) = origins.iter().find(|origin| origin.is_of(uri)) {
            return Ok(Arc::clone(origin));
        }
        let origin = Arc::new(Origin::new(uri, &self.connector, self.limits)?);
        // Only servers with connections are remembered, so there are never more of them than connections.
        origins.retain(|known| Arc::strong_count(known) > 1 || known.has_idle());
        origins.push(Arc::clone(&origin));
        Ok(origin)
    }

    async fn open(&self, uri: &Uri, origin: &Arc<Origin>) -> Result<Connection, HttpFailure> {
        let wire = self.connector.connect(uri).await?;
        Connection::begin(wire, origin, self.head_room).await
    }

    /// Sends a request and waits for the head of the answer. The connection is for whoever reads the body.
    ///
    /// A request that meets a connection which was closed while it waited goes over another one, if nothing of it was
    /// written. A request with a safe method (GET, HEAD) also does if it was written and no byte of a response came:
    /// RFC 9110, section 9.2.2.
    pub(super) async fn send(
        &self,
        head: &request::Parts,
        body: &Bytes,
        origin: &Arc<Origin>,
    ) -> Result<Response<HttpBody>, HttpFailure> {
        loop {
            let waiting = origin.take();
            let reused = waiting.is_some();
            let connection = match waiting {
                Some(connection) => connection,
                // Boxed, so that requests over a connection that is there do not carry all of this around.
                None => Box::pin(self.open(&head.uri, origin)).await?,
            };
            match connection {
                Connection::Http1(connection) => match connection.send(head, body, origin).await {
                    Ok(answer) => return Ok(answer),
                    Err(Broken::Unsent(_)) if reused => {}
                    Err(Broken::Unanswered(_)) if reused && head.method.is_safe() => {}
                    Err(broken) => return Err(explain::no_answer(origin.place(), broken)),
                },
                Connection::Http2(connection) => {
                    let sending = Box::pin(send_over_http2(connection, head, body, origin));
                    let mut error = match sending.await {
                        Ok(answer) => {
                            let origin = Arc::clone(origin);
                            return Ok(
                                answer.map(|body| HttpBody::new(Http2Body::new(body, origin)))
                            );
                        }
                        Err(error) => error,
                    };
                    if !reused || error.take_message().is_none() {
                        let error = error.into_error();
                        return Err(explain::no_answer_over_http2(origin.place(), error));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
