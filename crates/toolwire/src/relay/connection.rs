//! A connection to the upstream server, and the requests that are forwarded over it.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::Conversion;
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson, RequestId, meta_key};

use crate::client::Client;
use crate::engine::{Cancellation, TransportContext};
use crate::error::{Error, chain};
use crate::relay::calls::{CallToken, ForwardedCall, ListenCall};
use crate::relay::client_key::connection_number;
use crate::relay::credentials::is_credential_error;
use crate::relay::log_filter::LogFilter;
use crate::relay::messages::UpstreamMessages;
use crate::relay::open_connections::ConnectionPermit;
use crate::server::middleware::is_stream;
use crate::server::request::Exchange;

/// The `reason` in the data of an error for a request that got no response.
const UNREACHABLE: &str = "upstream_unreachable";

/// The `cause` in the data of such an error if the server rejected the credential of the request, or if it had no credential.
const CREDENTIAL: &str = "credential";

/// How long the upstream server may take for a request of the relay itself, such as a subscription.
const OWN_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection to the upstream server.
#[derive(Debug, Clone)]
pub(super) struct UpstreamConnection {
    pub(super) client: Client,
    pub(super) messages: Arc<UpstreamMessages>,
    /// How long a request may take without a message of the upstream that belongs to it.
    pub(super) timeout: Duration,
    /// Counts the connection until its last clone is dropped and the connection is closed.
    pub(super) permit: Option<Arc<ConnectionPermit>>,
}

/// A request to the upstream server.
#[derive(Debug)]
pub(super) struct UpstreamRequest<'a> {
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<RawJson>,
    /// The side of the client, which gets the messages that belong to the request.
    pub(super) client: Arc<dyn TransportContext>,
    /// The id of the client's request.
    pub(super) client_id: RequestId,
    /// The revision of the client.
    pub(super) client_version: ProtocolVersion,
    /// Notified of each message of the upstream that belongs to the request.
    pub(super) activity: Arc<Notify>,
    /// The log messages that the client gets.
    pub(super) logs: LogFilter,
    /// The cancellation flag of the client's request, which has the reason of a cancellation.
    pub(super) cancellation: Option<Cancellation>,
}

impl<'a> UpstreamRequest<'a> {
    /// Creates the request that forwards a client's request, with other parameters.
    pub(super) fn of(exchange: &'a Exchange, params: Option<RawJson>) -> Self {
        let scope = exchange.context.scope();
        Self {
            method: exchange.route().name().into(),
            params,
            client: Arc::clone(&scope.transport),
            client_id: scope.id.clone(),
            client_version: scope.version,
            activity: Arc::default(),
            logs: LogFilter::All,
            cancellation: scope.cancellation.clone(),
        }
    }

    /// Returns another request for the same request of the client.
    pub(super) fn again(&self, method: &'static str, params: RawJson) -> UpstreamRequest<'static> {
        UpstreamRequest {
            method: method.into(),
            params: Some(params),
            client: Arc::clone(&self.client),
            client_id: self.client_id.clone(),
            client_version: self.client_version,
            activity: Arc::clone(&self.activity),
            logs: self.logs,
            cancellation: self.cancellation.clone(),
        }
    }

    /// Returns the request with a copy of its method.
    pub(super) fn into_owned(self) -> UpstreamRequest<'static> {
        UpstreamRequest {
            method: Cow::Owned(self.method.into_owned()),
            params: self.params,
            client: self.client,
            client_id: self.client_id,
            client_version: self.client_version,
            activity: self.activity,
            logs: self.logs,
            cancellation: self.cancellation,
        }
    }
}

impl UpstreamConnection {
    /// Returns the revision of the upstream server on this connection.
    pub(super) fn version(&self) -> ProtocolVersion {
        self.client.version()
    }

    /// Forwards a request unchanged, and returns the result or the error unchanged.
    pub(super) async fn forward(&self, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        let request = UpstreamRequest::of(exchange, exchange.params().cloned());
        self.send(request).await
    }

    /// Sends a request, and returns the result or the error of the upstream server. Without a response, returns an error
    /// of the relay.
    pub(super) async fn send(&self, request: UpstreamRequest<'_>) -> Result<RawJson, ErrorObject> {
        let response = self.try_send(request).await;
        response.unwrap_or_else(|error| Err(unreachable(&error)))
    }

    /// Sends a request, and returns the result or the error of the upstream server.
    ///
    /// # Errors
    /// Returns an error if there is no response.
    pub(super) async fn try_send(
        &self,
        request: UpstreamRequest<'_>,
    ) -> Result<Result<RawJson, ErrorObject>, Error> {
        let method = &*request.method;
        let id = self.client.next_request_id();
        let listening = ListenCall::of(method, request.params.as_ref());
        let (params, progress) = self.with_progress_token(id, request.params);
        let call = Arc::new(ForwardedCall {
            connection: connection_number(&*request.client),
            client: request.client,
            client_id: request.client_id,
            conversion: Conversion::new(self.version(), request.client_version),
            progress,
            activity: request.activity,
            logs: request.logs,
            waiting: AtomicUsize::new(0),
            is_stream: is_stream(method),
            listening,
            ended: Cancellation::new(),
        });
        let mut entry = self.messages.calls.add(id, Arc::clone(&call));
        let cancellation = request.cancellation.as_ref();
        let listening = call.listening.as_ref();
        let opening = listening.map(|listening| &listening.opening);
        let response = self
            .client
            .forward_for(cancellation, opening, id, method, params);
        let response = if call.listening.is_some() {
            // A subscription is quiet until something changes. A stream of events has heartbeats.
            response.await?
        } else {
            while_active(self.timeout, &call, response).await?
        };
        entry.set_response();
        Ok(if call.is_stream {
            response.map(|result| call.with_client_subscription(result))
        } else {
            response
        })
    }

    /// Sends a request of the relay itself, and returns the result or the error of the upstream server. Without a response
    /// in time, returns an error of the relay.
    pub(super) async fn request(
        &self,
        method: &str,
        params: RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let id = self.client.next_request_id();
        let response = self.client.forward(id, method, Some(params));
        let timeout = self.timeout.min(OWN_REQUEST_TIMEOUT);
        let response = tokio::time::timeout(timeout, response).await;
        let response = response.unwrap_or_else(|_| Err(Error::timeout()));
        response.unwrap_or_else(|error| Err(unreachable(&error)))
    }

    /// Ends the initialization of a legacy session, with the parameters of the client's notification.
    ///
    /// # Errors
    /// Returns an error if the server does not accept the notification in time.
    pub(super) async fn end_initialization(&self, params: Option<RawJson>) -> Result<(), Error> {
        let timeout = self.timeout.min(OWN_REQUEST_TIMEOUT);
        let sending = self.client.forward_initialized(params);
        let sent = tokio::time::timeout(timeout, sending).await;
        sent.unwrap_or_else(|_| Err(Error::timeout()))
    }

    /// Replaces the progress token by one that is unique on the connection, if other clients use it, too.
    fn with_progress_token(
        &self,
        id: i64,
        params: Option<RawJson>,
    ) -> (Option<RawJson>, Option<CallToken>) {
        let Some(params) = params else {
            return (None, None);
        };
        let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
            return (Some(params), None);
        };
        let Some(meta) = members.object_mut("_meta") else {
            return (Some(params), None);
        };
        let token = meta
            .get(meta_key::PROGRESS_TOKEN)
            .map(|token| RawJson::from(token.raw()));
        let Some(client) = token else {
            return (Some(params), None);
        };
        if !self.messages.is_shared() {
            return (Some(params), Some(CallToken::Unchanged(client)));
        }
        let Some(upstream) = self.messages.calls.unique_token(id, &client) else {
            // The client's token is invalid or too long, or there are too many. So the request gets no progress.
            meta.remove(meta_key::PROGRESS_TOKEN);
            return (Some(members.finish()), None);
        };
        let text = RawJson::from_serialize(&upstream).expect("a token is text or a number");
        meta.set(meta_key::PROGRESS_TOKEN, text);
        let replaced = members.finish();
        (
            Some(replaced),
            Some(CallToken::Replaced { upstream, client }),
        )
    }

    /// Returns `true` if the connection is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_connection_closed()
    }

    /// Closes the connection and waits until its resources are released.
    pub(super) async fn close(&self) {
        if let Some(permit) = &self.permit {
            permit.set_closing();
        }
        self.client.close().await;
    }

    /// Returns `true` if there is no other clone of this value, so that no request uses the connection.
    pub(super) fn is_unused(&self) -> bool {
        self.permit
            .as_ref()
            .is_some_and(|permit| Arc::strong_count(permit) == 1)
    }
}

/// Waits for a response. Each message that belongs to the request restarts the timeout, which does not apply while the
/// upstream waits for the client.
async fn while_active<T>(
    timeout: Duration,
    call: &ForwardedCall,
    response: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut response = std::pin::pin!(response);
    loop {
        tokio::select! {
            biased;
            response = &mut response => return response,
            () = call.activity.notified() => {}
            () = tokio::time::sleep(timeout) => {
                if !call.waits_for_client() {
                    return Err(Error::timeout());
                }
            }
        }
    }
}

/// Returns the error of a request that got no response from the upstream server.
pub(super) fn unreachable(error: &Error) -> ErrorObject {
    if let Some(rpc) = error.rpc() {
        return rpc.clone();
    }
    let message = format!("the upstream server did not respond: {}", chain(error));
    let data = if is_credential_error(error) {
        json!({ "reason": UNREACHABLE, "cause": CREDENTIAL })
    } else {
        json!({ "reason": UNREACHABLE })
    };
    ErrorObject::internal(message).with_data(data)
}

/// Returns `true` if a request was not processed because its caller has no credential, or a rejected one. Other requests
/// that got no response may have had an effect.
pub(super) fn lacks_credential(error: &ErrorObject) -> bool {
    let data = error.data.as_ref().map(RawJson::as_raw_value);
    let members = data.and_then(RawObject::parse);
    members.is_some_and(|members| {
        members.text("reason").as_deref() == Some(UNREACHABLE)
            && members.text("cause").as_deref() == Some(CREDENTIAL)
    })
}

/// Returns `true` if the upstream server rejected a request that a client of the relay sent. Otherwise there was no
/// response.
pub(super) fn is_rejection(error: &Error) -> bool {
    let Some(rpc) = error.rpc() else {
        return false;
    };
    let data = rpc.data.as_ref().map(RawJson::as_raw_value);
    let members = data.and_then(RawObject::parse);
    members.is_none_or(|members| members.text("reason").as_deref() != Some(UNREACHABLE))
}

/// Adds the name of the upstream server to an error of [`unreachable`].
pub(super) fn with_upstream_name(error: ErrorObject, name: &str) -> ErrorObject {
    let unnamed = |data: Value| error.data == Some(RawJson::from(data));
    if unnamed(json!({ "reason": UNREACHABLE })) {
        return error.with_data(json!({ "reason": UNREACHABLE, "upstream": name }));
    }
    if unnamed(json!({ "reason": UNREACHABLE, "cause": CREDENTIAL })) {
        let data = json!({ "reason": UNREACHABLE, "cause": CREDENTIAL, "upstream": name });
        return error.with_data(data);
    }
    error
}
