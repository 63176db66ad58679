//! What a legacy client requested for its whole session, to request it again after the session was lost.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use toolwire_proto::uri_template::MAX_URI_BYTES;
use toolwire_types::{RawJson, SetLevelRequestParams, SubscribeRequestParams};

use crate::relay::connection::UpstreamConnection;
use crate::server::request::Exchange;
use crate::sync::lock;

/// The maximum number of subscriptions that are requested again.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// The maximum bytes of all URIs of these subscriptions.
const MAX_SUBSCRIPTION_BYTES: usize = 64 * 1024;

/// The maximum bytes of other parameters of a client that are sent again as they were.
pub(super) const MAX_REPEATED_BYTES: usize = 4 * 1024;

/// How long the upstream server may take to respond to all requests of a session that is opened again.
const REPEAT_TIMEOUT: Duration = Duration::from_secs(30);

/// The log level and the subscriptions of one session.
#[derive(Debug, Default)]
pub(super) struct SessionRequests(Mutex<Requested>);

#[derive(Debug, Clone, Default)]
struct Requested {
    /// The parameters of the last `logging/setLevel`.
    log_level: Option<RawJson>,
    /// The URIs of resources.
    subscriptions: BTreeSet<String>,
}

/// Records a subscription that succeeded in the state of the client's connection. A stream that the client resumes then
/// announces the resource, because it may have changed while the stream had no reader.
pub(super) fn record_subscription(exchange: &Exchange) {
    let is_subscription = match exchange.route().name() {
        "resources/subscribe" => true,
        "resources/unsubscribe" => false,
        _ => return,
    };
    let state = exchange.context.scope().transport.connection_state();
    let params = exchange.decode_params::<SubscribeRequestParams>();
    let (Some(state), Ok(params)) = (state, params) else {
        return;
    };
    if !is_subscription {
        state.unsubscribe(&params.uri);
    } else if let Err(error) = state.subscribe(&params.uri) {
        tracing::debug!(%error, "resumed streams of this session do not announce all resources");
    }
}

impl SessionRequests {
    /// Records a request that succeeded.
    pub(super) fn record(&self, exchange: &Exchange) {
        let uri = || {
            let params: Option<SubscribeRequestParams> = exchange.decode_params().ok();
            params.map(|params| params.uri)
        };
        match exchange.route().name() {
            "logging/setLevel" => {
                if let Some(params) = exchange.params() {
                    self.set_log_level(params);
                }
            }
            "resources/subscribe" => {
                if let Some(uri) = uri() {
                    self.subscribe(uri);
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = uri() {
                    lock(&self.0).subscriptions.remove(&uri);
                }
            }
            _ => {}
        }
    }

    /// Stores the parameters of a log level. Of large ones, only the level is stored.
    fn set_log_level(&self, params: &RawJson) {
        let stored = if params.get().len() <= MAX_REPEATED_BYTES {
            Some(params.clone())
        } else {
            let request: Option<SetLevelRequestParams> = params.parse().ok();
            request.map(|request| RawJson::from(json!({ "level": request.level })))
        };
        lock(&self.0).log_level = stored;
    }

    fn subscribe(&self, uri: String) {
        let subscriptions = &mut lock(&self.0).subscriptions;
        let bytes: usize = subscriptions.iter().map(String::len).sum();
        if subscriptions.len() < MAX_SUBSCRIPTIONS
            && uri.len() <= MAX_URI_BYTES
            && bytes + uri.len() <= MAX_SUBSCRIPTION_BYTES
        {
            subscriptions.insert(uri);
        }
    }

    /// Sends the requests again. A server that does not respond to them still serves the session.
    pub(super) async fn repeat(&self, upstream: &UpstreamConnection) {
        let requested = lock(&self.0).clone();
        let level = requested.log_level.map(|level| ("logging/setLevel", level));
        let subscriptions = requested.subscriptions.into_iter().map(|uri| {
            let params = RawJson::from(json!({ "uri": uri }));
            ("resources/subscribe", params)
        });
        let repeating = async {
            for (method, params) in level.into_iter().chain(subscriptions) {
                let id = upstream.client.next_request_id();
                let response = upstream.client.forward(id, method, Some(params)).await;
                match response {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => {
                        tracing::debug!(method, %error, "the server rejected a request of a lost session");
                    }
                    Err(error) => {
                        tracing::debug!(method, %error, "a request of a lost session was not repeated");
                        return;
                    }
                }
            }
        };
        if tokio::time::timeout(REPEAT_TIMEOUT, repeating)
            .await
            .is_err()
        {
            tracing::warn!("the upstream server did not respond to the requests of a lost session");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_are_limited_in_number_and_length() {
        let requests = SessionRequests::default();
        requests.subscribe("x".repeat(MAX_URI_BYTES + 1));
        requests.subscribe("x".repeat(MAX_URI_BYTES));
        assert_eq!(lock(&requests.0).subscriptions.len(), 1);
        for number in 0..MAX_SUBSCRIPTIONS {
            requests.subscribe(format!("file:///{number}"));
        }
        assert_eq!(lock(&requests.0).subscriptions.len(), MAX_SUBSCRIPTIONS);
    }

    #[test]
    fn subscriptions_are_limited_in_bytes() {
        let requests = SessionRequests::default();
        let uri = |number: usize| format!("{number:0>MAX_URI_BYTES$}");
        for number in 0..=MAX_SUBSCRIPTION_BYTES / MAX_URI_BYTES {
            requests.subscribe(uri(number));
        }
        let stored = lock(&requests.0).subscriptions.len();
        assert_eq!(stored * MAX_URI_BYTES, MAX_SUBSCRIPTION_BYTES);
    }

    #[test]
    fn only_the_level_of_large_parameters_is_stored() {
        let check = |params: &str, expected: &str| {
            let requests = SessionRequests::default();
            let params = RawJson::from_string(params.to_owned()).unwrap();
            requests.set_log_level(&params);
            let stored = lock(&requests.0).log_level.clone();
            assert_eq!(stored.as_ref().map(RawJson::get), Some(expected));
        };
        let params =
            |padding: usize| format!(r#"{{"level":"debug","x":"{}"}}"#, "x".repeat(padding));
        let largest = params(MAX_REPEATED_BYTES - params(0).len());
        check(&largest, &largest);
        check(&params(MAX_REPEATED_BYTES), r#"{"level":"debug"}"#);
    }
}
