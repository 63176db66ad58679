//! The requests of a legacy upstream server to a client of the relay.
//!
//! On a transport with one stream, such a request names no request of the client that it belongs to.

use std::sync::Arc;

use serde_json::json;
use toolwire_proto::envelope::RequestEnvelope;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::TransportContext;
use crate::error::Error;
use crate::relay::calls::{ForwardedCall, ForwardedCalls, is_of_one_client};

/// A request of the upstream server.
#[derive(Debug)]
pub(super) struct RequestToClient {
    method: String,
    /// `null` without parameters.
    params: RawJson,
}

/// Where a request goes that names no request of a client.
#[derive(Debug)]
enum RequestReceiver<'a> {
    Call(&'a Arc<ForwardedCall>),
    /// The channel outside of requests.
    Channel(&'a Arc<dyn TransportContext>),
}

impl RequestToClient {
    pub(super) fn new(request: &RequestEnvelope<'_>) -> Self {
        Self {
            method: request.method.clone().into_owned(),
            params: request.params.map_or_else(RawJson::null, RawJson::from),
        }
    }

    /// Asks the client of the forwarded request that the upstream server named.
    pub(super) async fn ask_call(self, call: &Arc<ForwardedCall>) -> Result<RawJson, ErrorObject> {
        let _waiting = call.wait_for_client();
        let response = self.ask_until_end(call).await;
        response.unwrap_or_else(|| self.without_client())
    }

    /// Asks the client on its channel outside of requests, if there is one.
    pub(super) async fn ask_channel(
        self,
        channel: Option<&Arc<dyn TransportContext>>,
    ) -> Result<RawJson, ErrorObject> {
        match channel {
            Some(channel) => self.ask(&**channel).await,
            None => Err(self.no_client()),
        }
    }

    /// Asks the client of a connection, which has a channel outside of its requests if the connection serves no other
    /// client. If the forwarded request ends whose stream was used, asks again.
    pub(super) async fn ask_any(
        self,
        calls: &ForwardedCalls,
        channel: Option<&Arc<dyn TransportContext>>,
    ) -> Result<RawJson, ErrorObject> {
        loop {
            let open = calls.open();
            // The upstream server may wait in any of these requests.
            let _waiting: Vec<_> = open.iter().map(ForwardedCall::wait_for_client).collect();
            let response = match receiver(&open, channel) {
                Some(RequestReceiver::Call(call)) => self.ask_until_end(call).await,
                Some(RequestReceiver::Channel(channel)) => Some(self.ask(&**channel).await),
                None => Some(Err(self.no_client())),
            };
            if let Some(response) = response {
                return response;
            }
        }
    }

    /// Asks the client of a forwarded request. Returns `None` if that request ends before the response, because the
    /// client does not read its stream any more.
    async fn ask_until_end(&self, call: &ForwardedCall) -> Option<Result<RawJson, ErrorObject>> {
        tokio::select! {
            biased;
            response = self.ask(&*call.client) => Some(response),
            () = call.ended.cancelled() => None,
        }
    }

    async fn ask(&self, client: &dyn TransportContext) -> Result<RawJson, ErrorObject> {
        match client.request(&self.method, self.params.clone()).await {
            Ok(response) => Ok(response),
            Err(error) if error.is_closed() => self.without_client(),
            Err(error) => Err(response_error(&self.method, &error)),
        }
    }

    /// Returns the outcome if the client has ended before its response.
    fn without_client(&self) -> Result<RawJson, ErrorObject> {
        if self.method == "elicitation/create" {
            return Ok(cancelled_elicitation());
        }
        Err(self.no_client())
    }

    fn no_client(&self) -> ErrorObject {
        ErrorObject::invalid_request(format!(
            "`{}` belongs to no request of a client that can respond",
            self.method
        ))
    }
}

/// Returns where a request goes. `open` are the forwarded requests without a response, oldest first.
///
/// The only open request comes first, because its client certainly reads its stream. Of several requests, the oldest one
/// is used if the client does not read messages outside of requests.
fn receiver<'a>(
    open: &'a [Arc<ForwardedCall>],
    channel: Option<&'a Arc<dyn TransportContext>>,
) -> Option<RequestReceiver<'a>> {
    match (open, channel) {
        ([call], _) => Some(RequestReceiver::Call(call)),
        ([oldest, ..], Some(channel)) if !channel.can_request() => {
            Some(RequestReceiver::Call(oldest))
        }
        (_, Some(channel)) => Some(RequestReceiver::Channel(channel)),
        ([oldest, ..], None) if is_of_one_client(open) => Some(RequestReceiver::Call(oldest)),
        (_, None) => None,
    }
}

/// Returns the response to an elicitation that the user has not decided about.
///
/// Spec 2025-11-25, client/elicitation, "Response Actions": `cancel` means that there was no explicit choice.
pub(super) fn cancelled_elicitation() -> RawJson {
    RawJson::from(json!({ "action": "cancel" }))
}

/// Returns the error of a request to the client, for the upstream server.
pub(super) fn response_error(method: &str, error: &Error) -> ErrorObject {
    match error.rpc() {
        Some(rpc) => rpc.clone(),
        None => ErrorObject::internal(format!("the client did not respond to `{method}`: {error}")),
    }
}
