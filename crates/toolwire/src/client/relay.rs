//! The part of a client that a relay uses: requests and notifications that pass through unchanged.
//!
//! A relay acts for another client. So it writes `_meta` itself, and it receives every message of the server that is not
//! a response.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolwire_proto::features::VersionFeatures;
use toolwire_types::{ListToolsResult, Meta, RawJson, code};

use crate::client::handlers::ClientHandlers;
use crate::client::middleware::{ClientChain, ClientNext, ClientRequest, SendOnce, StreamOpening};
use crate::client::relay_messages::RelayMessages;
use crate::client::transport::{OutgoingRequest, ServerResponse};
use crate::client::{Client, ClientBuilder};
use crate::engine::{Cancellation, boxed_cold};
use crate::error::Error;

impl ClientBuilder {
    /// Passes all messages of the server to a relay, instead of the handlers. So the client announces no capabilities.
    pub(crate) fn with_relay(mut self, relay: Arc<dyn RelayMessages>) -> Self {
        self.config.handlers = ClientHandlers {
            relay: Some(relay),
            wire: self.config.handlers.wire,
            ..ClientHandlers::default()
        };
        self
    }

    /// Sends these parameters of `initialize`.
    pub(crate) fn with_initialize_params(mut self, params: RawJson) -> Self {
        self.config.initialize_params = Some(params);
        self
    }

    /// Opens a session. If the server is a command that supports no legacy revision, uses it in the modern one. Without
    /// this, it would have to be started again.
    pub(crate) fn with_legacy_preferred(mut self) -> Self {
        self.config.prefers_legacy = true;
        self
    }
}

impl Client {
    /// Returns `true` if the server is a process that the client started.
    pub(crate) fn starts_process(&self) -> bool {
        self.shared.connector.starts_process()
    }

    /// Returns the id of the next forwarded request.
    pub(crate) fn next_request_id(&self) -> i64 {
        self.shared.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request with parameters that are complete, including `_meta`, and returns the response unchanged.
    ///
    /// There is no timeout: the caller drops the future to cancel the request.
    ///
    /// # Errors
    /// Returns an error if there is no response.
    pub(crate) async fn forward(
        &self,
        id: i64,
        method: &str,
        params: Option<RawJson>,
    ) -> Result<ServerResponse, Error> {
        self.forward_for(None, None, id, method, params).await
    }

    /// Sends a request like [`forward`](Self::forward). If the future is dropped, the server gets the reason of `request`,
    /// the cancellation flag of the client's request. `opening` is for a request that opens a stream.
    pub(crate) async fn forward_for(
        &self,
        request: Option<&Cancellation>,
        opening: Option<&StreamOpening>,
        id: i64,
        method: &str,
        params: Option<RawJson>,
    ) -> Result<ServerResponse, Error> {
        if let Some(chain) = &self.shared.config.full_middleware {
            let forwarding =
                boxed_cold(|| self.forward_through(chain, request, opening, id, method, params));
            return forwarding.await;
        }
        self.forward_directly(request, id, method, params).await
    }

    /// Sends a request through the middleware that handles every request.
    async fn forward_through(
        &self,
        chain: &ClientChain,
        cancellation: Option<&Cancellation>,
        opening: Option<&StreamOpening>,
        id: i64,
        method: &str,
        params: Option<RawJson>,
    ) -> Result<ServerResponse, Error> {
        let sender = SendOnce::new(|params: RawJson| {
            Box::pin(async move {
                let sending = self.forward_directly(cancellation, id, method, Some(params));
                sending.await?.map_err(Error::from)
            })
        });
        let method = Cow::Owned(method.to_owned());
        let (version, connection) = (self.version(), &self.shared.connection);
        let mut request =
            ClientRequest::new(method, params, Meta::new(), version, connection).with_id(id);
        if let Some(opening) = opening {
            request = request.with_opening(opening.clone());
        }
        match ClientNext::new(chain, &sender).run(&mut request).await {
            Ok(result) => Ok(Ok(result)),
            Err(error) => match error.rpc() {
                Some(rpc) if error.http_status().is_none() => Ok(Err(rpc.clone())),
                _ => Err(error),
            },
        }
    }

    async fn forward_directly(
        &self,
        request: Option<&Cancellation>,
        id: i64,
        method: &str,
        params: Option<RawJson>,
    ) -> Result<ServerResponse, Error> {
        let first = self.forward_once(request, id, method, params.clone()).await;
        let rejected = match &first {
            Ok(Err(error)) => Some(error.code),
            Err(error) => error.rpc().map(|rpc| rpc.code),
            Ok(Ok(_)) => None,
        };
        // The server rejected a header that repeats an argument, so it did not run the tool.
        if rejected == Some(code::HEADER_MISMATCH)
            && self.version().has_routing_headers()
            && Box::pin(self.relist_tools(method, params.as_ref())).await
        {
            return Box::pin(self.forward_once(request, id, method, params)).await;
        }
        first
    }

    async fn forward_once(
        &self,
        forwarded: Option<&Cancellation>,
        id: i64,
        method: &str,
        params: Option<RawJson>,
    ) -> Result<ServerResponse, Error> {
        let session = self.session();
        let version = session.version();
        let mirrored = if version.has_routing_headers() {
            self.mirrored_headers(method, params.as_ref())?
        } else {
            Vec::new()
        };
        let request = OutgoingRequest {
            id: id.into(),
            method: Cow::Owned(method.to_owned()),
            params,
            version,
            mirrored,
            forwarded: forwarded.cloned(),
        };
        let response = session.transport.exchange(&request).await?;
        if method == "tools/list"
            && let Ok(result) = &response
            && version.has_routing_headers()
            && let Ok(mut page) = result.parse::<ListToolsResult>()
        {
            // The headers of later calls depend on the schemas in the list.
            self.store_tools(&mut page);
        }
        Ok(response)
    }

    /// Sends a notification with parameters that are complete.
    pub(crate) async fn forward_notification(
        &self,
        method: &str,
        params: Option<RawJson>,
    ) -> Result<(), Error> {
        let session = self.session();
        session
            .transport
            .notify(Cow::Owned(method.to_owned()), params)
            .await
    }

    /// Ends the initialization of a legacy session, with the parameters of the client's notification.
    pub(crate) async fn forward_initialized(&self, params: Option<RawJson>) -> Result<(), Error> {
        let session = self.session();
        let sending = session
            .transport
            .notify("notifications/initialized".into(), params);
        sending.await?;
        session.transport.ready();
        Ok(())
    }

    /// Returns `true` if the connection is closed, so that nothing can be sent any more.
    pub(crate) fn is_connection_closed(&self) -> bool {
        self.session().transport.is_closed()
    }
}
