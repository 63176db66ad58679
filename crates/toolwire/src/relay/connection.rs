//! A connection to the upstream server, and the forwarding of requests in the same era.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use toolwire_proto::negotiate::Channel;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{ErrorObject, RawJson, meta_key};

use crate::client::Client;
use crate::error::{Error, chain};
use crate::relay::calls::{ForwardedCall, ProgressTokens};
use crate::relay::messages::UpstreamMessages;
use crate::relay::sessions::connection_number;
use crate::server::request::Exchange;

/// A connection to the upstream server.
#[derive(Debug, Clone)]
pub(super) struct UpstreamConnection {
    pub(super) client: Client,
    pub(super) messages: Arc<UpstreamMessages>,
    /// How long a request may take without a message of the upstream that belongs to it.
    pub(super) timeout: Duration,
}

impl UpstreamConnection {
    /// Forwards a request, and returns the result or the error unchanged.
    pub(super) async fn forward(&self, exchange: &Exchange) -> Result<RawJson, ErrorObject> {
        let method = exchange.route().name();
        let scope = exchange.context.scope();
        let id = self.client.next_request_id();
        let (params, progress) = self.with_progress_token(id, exchange.params().cloned());
        let call = Arc::new(ForwardedCall {
            client: Arc::clone(&scope.transport),
            client_id: scope.id.clone(),
            connection: connection_number(&*scope.transport),
            progress,
            activity: Notify::new(),
        });
        let _entry = self.messages.calls.add(id, Arc::clone(&call));
        let response = self.client.forward(id, method, params);
        // A subscription is quiet until something changes.
        let timeout = (method != "subscriptions/listen").then_some(self.timeout);
        let response = match timeout {
            Some(timeout) => while_active(timeout, &call.activity, response).await,
            None => response.await,
        };
        response.unwrap_or_else(|error| Err(unreachable(&error)))
    }

    /// Replaces the progress token by one that is unique on the connection, if other clients use it, too.
    fn with_progress_token(
        &self,
        id: i64,
        params: Option<RawJson>,
    ) -> (Option<RawJson>, Option<ProgressTokens>) {
        let Some(params) = params else {
            return (None, None);
        };
        let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
            return (Some(params), None);
        };
        let meta = members.object_mut("_meta");
        let token = meta.and_then(|meta| {
            let token = meta.get(meta_key::PROGRESS_TOKEN)?;
            RawJson::from_string(token.get().to_owned()).ok()
        });
        let Some(token) = token else {
            return (Some(params), None);
        };
        let is_shared = self.client.channel() == Channel::Stdio && self.messages.is_shared();
        if !is_shared {
            let tokens = ProgressTokens {
                upstream: token.clone(),
                client: token,
            };
            return (Some(params), Some(tokens));
        }
        // The token keeps its JSON type. The id of the request is unique.
        let unique = if token.get().starts_with('"') {
            RawJson::from_value(&id.to_string().into())
        } else {
            RawJson::from_value(&id.into())
        };
        if let Some(meta) = members.object_mut("_meta") {
            meta.set(meta_key::PROGRESS_TOKEN, unique.clone());
        }
        let params = members.finish();
        let tokens = ProgressTokens {
            upstream: unique,
            client: token,
        };
        (Some(params), Some(tokens))
    }

    /// Returns `true` if the connection is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_connection_closed()
    }
}

/// Waits for a response. Each message that belongs to the request restarts the timeout.
async fn while_active<T>(
    timeout: Duration,
    activity: &Notify,
    response: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut response = std::pin::pin!(response);
    loop {
        tokio::select! {
            biased;
            response = &mut response => return response,
            () = activity.notified() => {}
            () = tokio::time::sleep(timeout) => return Err(Error::timeout()),
        }
    }
}

/// Returns the error of a request that got no response from the upstream server.
pub(super) fn unreachable(error: &Error) -> ErrorObject {
    if let Some(rpc) = error.rpc() {
        return rpc.clone();
    }
    let message = format!("the upstream server did not respond: {}", chain(error));
    let mut error = ErrorObject::internal(message);
    error.data = Some(RawJson::from(
        serde_json::json!({ "reason": "upstream_unreachable" }),
    ));
    error
}
