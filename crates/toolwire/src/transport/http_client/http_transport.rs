//! Streamable HTTP: one POST per message, in both eras.
//!
//! A modern request is independent of other requests. Closing its stream cancels it. A legacy request belongs to a
//! session: its stream can be resumed, a notification cancels it, and a lost session is opened again.

use std::borrow::Cow;
use std::pin::{Pin, pin};
use std::sync::Arc;

use toolwire_proto::features::VersionFeatures;
use toolwire_types::{ProtocolVersion, RawJson};

use crate::client::config::ClientLimits;
use crate::client::http::ClientBody;
use crate::client::incoming::IncomingMessages;
use crate::client::message_router::MessageRouter;
use crate::client::send::encode_notification;
use crate::client::transport::{ClientTransport, OutgoingRequest, ServerResponse};
use crate::engine::BoxFuture;
use crate::error::{Closure, Error};
use crate::transport::http_client::endpoint::{RemoteEndpoint, headers_of, insert};
use crate::transport::http_client::event_reader::EventReader;
use crate::transport::http_client::response::{self, PostResponse};
use crate::transport::http_client::session::LegacySession;
use crate::transport::http_client::trace_headers::insert_trace_headers;

/// The transport to one endpoint.
#[derive(Debug)]
pub(super) struct HttpTransport {
    endpoint: RemoteEndpoint,
    router: MessageRouter,
    session: Arc<LegacySession>,
}

impl HttpTransport {
    pub(super) fn new(
        mut endpoint: RemoteEndpoint,
        incoming: Arc<IncomingMessages>,
        limits: &ClientLimits,
    ) -> Self {
        endpoint.wire = incoming.handlers.wire.clone();
        let session = LegacySession::new(endpoint.clone(), Arc::clone(&incoming), limits.clone());
        Self {
            endpoint,
            router: MessageRouter {
                incoming,
                reply: Arc::new(Arc::clone(&session)),
            },
            session,
        }
    }

    /// Runs an exchange until the client closes the connection.
    async fn until_closed(
        &self,
        exchange: Pin<&mut impl Future<Output = Result<ServerResponse, Error>>>,
    ) -> Result<ServerResponse, Error> {
        let closed = || Error::closed_because(Closure::by_this_side());
        if self.session.is_closed() {
            return Err(closed());
        }
        tokio::select! {
            biased;
            outcome = exchange => outcome,
            () = self.session.closed() => Err(closed()),
        }
    }

    async fn modern(&self, request: &OutgoingRequest) -> Result<ServerResponse, Error> {
        let mut headers = headers_of(request.version);
        for (name, value) in &request.mirrored {
            insert(&mut headers, name, value)?;
        }
        let is_set = |name: &str| self.endpoint.has_user_header(name);
        insert_trace_headers(&mut headers, request.params.as_ref(), is_set);
        let sending = self
            .endpoint
            .post_method(&request.method, request.encode(), headers);
        let response = sending.await?;
        let limit = self.endpoint.message_bytes;
        match response::classify(response)? {
            PostResponse::Json(body) => {
                response::read_json(body, limit, &self.router, &request.id).await
            }
            // Boxed, so that it does not enlarge the future of JSON responses.
            PostResponse::Events(body) => Box::pin(self.read_response(body, request)).await,
            PostResponse::Rejected(response) => {
                Err(Box::pin(response::rejection(response, &self.router, &request.id)).await)
            }
        }
    }

    /// Reads events until the response to the request arrives.
    async fn read_response(
        &self,
        body: ClientBody,
        request: &OutgoingRequest,
    ) -> Result<ServerResponse, Error> {
        let mut events = EventReader::new(body, self.endpoint.message_bytes);
        while let Some(event) = events.next().await? {
            response::check_transport(&event)?;
            let response = response::route(&self.router, event.data.as_bytes(), &request.id)?;
            if let Some(response) = response {
                events.drain();
                return Ok(response);
            }
        }
        Err(response::truncated_error())
    }
}

impl ClientTransport for HttpTransport {
    fn exchange<'a>(
        &'a self,
        request: &'a OutgoingRequest,
    ) -> BoxFuture<'a, Result<ServerResponse, Error>> {
        if request.version.disconnect_cancels() {
            Box::pin(async move {
                let exchange = pin!(self.modern(request));
                self.until_closed(exchange).await
            })
        } else {
            Box::pin(async move {
                let exchange = pin!(self.session.exchange(request, &self.router));
                self.until_closed(exchange).await
            })
        }
    }

    fn notify(
        &self,
        method: Cow<'static, str>,
        params: Option<RawJson>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        let message = encode_notification(method.clone(), params);
        self.session.notify(method, message)
    }

    fn set_version(&self, version: ProtocolVersion) {
        self.session.set_version(version);
    }

    fn ready(&self) {
        self.session.open_server_stream(&self.router);
    }

    fn open_entries(&self) -> usize {
        self.session.open_entries()
    }

    fn server_stream_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.session.server_stream_ready())
    }

    fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.session.close())
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.session.abandon();
    }
}
