//! A legacy client of a modern upstream server.
//!
//! The relay stores what a modern request repeats: the client's name and capabilities, its log level and its
//! subscriptions. It requests input from the client, and sends a request again with the responses.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio::task::JoinSet;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::{Conversion, HopMeta, ResultMembers};
use toolwire_proto::relay::input_rounds::{
    InvalidRound, MAX_INPUT_REQUESTS, RawInputRequest, RawInputRound, read_input_required,
    write_round,
};
use toolwire_proto::relay::mapping::{Action, Sender, action};
use toolwire_proto::rounds::{DEFAULT_ROUNDS, RoundCounter};
use toolwire_proto::uri_template::MAX_URI_BYTES;
use toolwire_types::{
    ErrorObject, LoggingLevel, ProgressToken, ProtocolVersion, RawJson, SetLevelRequestParams,
    SubscribeRequestParams,
};

use crate::engine::TransportContext;
use crate::relay::connection::{UpstreamConnection, UpstreamRequest};
use crate::relay::polled_task::{PolledTask, TaskStep, requires_task, with_extension};
use crate::relay::server_requests::{cancelled_elicitation, response_error};
use crate::relay::session_changes::SessionChanges;
use crate::server::request::Exchange;
use crate::sync::lock;

/// The maximum number of resources that one session subscribes to.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// The state of a legacy client that the upstream server does not store.
#[derive(Debug)]
pub(super) struct LegacyClient {
    version: ProtocolVersion,
    /// The capabilities in the form of the upstream's revision.
    capabilities: RawJson,
    info: RawJson,
    log_level: Mutex<Option<LoggingLevel>>,
    subscriptions: Mutex<BTreeSet<String>>,
    pub(super) changes: SessionChanges,
}

impl LegacyClient {
    /// Creates the state of a client from the parameters of its `initialize`.
    pub(super) fn new(
        version: ProtocolVersion,
        upstream: ProtocolVersion,
        initialize: &RawJson,
    ) -> Self {
        let conversion = Conversion::new(version, upstream);
        let params = RawObject::parse(initialize.as_raw_value());
        let member = |name: &str| {
            let params = params.as_ref()?;
            Some(RawJson::from(params.get(name)?.raw()))
        };
        let capabilities = member("capabilities").unwrap_or_else(RawJson::empty_object);
        let capabilities = match RawObject::parse(capabilities.as_raw_value()) {
            Some(mut members) => {
                conversion.client_capabilities(&mut members);
                members.finish()
            }
            None => RawJson::empty_object(),
        };
        Self {
            version,
            capabilities,
            info: member("clientInfo").unwrap_or_else(RawJson::empty_object),
            log_level: Mutex::default(),
            subscriptions: Mutex::default(),
            changes: SessionChanges::default(),
        }
    }

    /// Returns the revision of the client.
    pub(super) fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Serves a request of the client.
    pub(super) async fn serve(
        self: &Arc<Self>,
        upstream: &UpstreamConnection,
        exchange: &Exchange,
    ) -> Result<RawJson, ErrorObject> {
        let method = exchange.route().name();
        match action(method, Sender::Client, self.version, upstream.version()) {
            Action::Forward | Action::Convert => {
                // The request may cause a change that the client expects.
                self.changes.wait_until_open().await;
                self.forward(upstream, exchange).await
            }
            Action::RespondHere => {
                let result = self.respond(upstream, exchange)?;
                // No change after this response may be missed.
                if method == "resources/subscribe" {
                    self.changes.wait_until_open().await;
                }
                Ok(result)
            }
            _ => Err(ErrorObject::method_not_found(method.to_owned())),
        }
    }

    /// Responds to a request whose state the relay stores.
    fn respond(
        self: &Arc<Self>,
        upstream: &UpstreamConnection,
        exchange: &Exchange,
    ) -> Result<RawJson, ErrorObject> {
        match exchange.route().name() {
            "ping" => {}
            "logging/setLevel" => {
                let request: SetLevelRequestParams = exchange.decode_params()?;
                *lock(&self.log_level) = Some(request.level);
            }
            "resources/subscribe" => {
                let request: SubscribeRequestParams = exchange.decode_params()?;
                let mut subscriptions = lock(&self.subscriptions);
                add_subscription(&mut subscriptions, request.uri)?;
                self.listen_to(upstream, &subscriptions);
            }
            "resources/unsubscribe" => {
                let request: SubscribeRequestParams = exchange.decode_params()?;
                let mut subscriptions = lock(&self.subscriptions);
                subscriptions.remove(&request.uri);
                self.listen_to(upstream, &subscriptions);
            }
            method => return Err(ErrorObject::method_not_found(method.to_owned())),
        }
        Ok(RawJson::empty_object())
    }

    /// Subscribes to the changes that the client expects.
    pub(super) fn listen(self: &Arc<Self>, upstream: &UpstreamConnection) {
        self.listen_to(upstream, &lock(&self.subscriptions));
    }

    /// Subscribes to list changes and to these resources. The caller holds the lock of the subscriptions, so that the
    /// last request of the client decides.
    fn listen_to(&self, upstream: &UpstreamConnection, subscriptions: &BTreeSet<String>) {
        let uris: Vec<String> = subscriptions.iter().cloned().collect();
        let hop = self.hop(upstream, None);
        self.changes.listen(upstream, self.version, &hop, uris);
    }

    /// Forwards a request, and requests the input that its results ask for.
    async fn forward(
        &self,
        upstream: &UpstreamConnection,
        exchange: &Exchange,
    ) -> Result<RawJson, ErrorObject> {
        let method = exchange.route().name();
        let (to_upstream, to_client) = self.conversions(upstream);
        let original = exchange.params().cloned();
        let original = original.unwrap_or_else(RawJson::empty_object);
        let mut params = RawObject::parse(original.as_raw_value())
            .ok_or_else(|| ErrorObject::invalid_params("the parameters are not an object"))?;
        to_upstream.request(method, &mut params);
        let scope = exchange.context.scope();
        self.hop(upstream, scope.progress_token.clone())
            .write(&mut params);
        let mut declares_tasks = false;
        let mut asked = 0;
        let mut rounds = RoundCounter::new(DEFAULT_ROUNDS);
        loop {
            let request = UpstreamRequest::of(exchange, Some(params.finish()));
            let result = match upstream.send(request).await {
                Err(error) if !declares_tasks && requires_task(&error) => {
                    declares_tasks = true;
                    let token = scope.progress_token.clone();
                    self.hop_with_tasks(upstream, token).write(&mut params);
                    continue;
                }
                result => result.map_err(|error| converted_error(to_client, &error, exchange))?,
            };
            let result = if declares_tasks && is_task(&result) {
                let hop = self.hop_with_tasks(upstream, None);
                let task = PolledTask::new(upstream, exchange, &hop, &result)?;
                let ended = self.result_of(task).await;
                ended.map_err(|error| converted_error(to_client, &error, exchange))?
            } else {
                result
            };
            let Some(mut members) = RawObject::parse(result.as_raw_value()) else {
                return Ok(result);
            };
            if members.text("resultType").as_deref() != Some("input_required") {
                to_client
                    .result(method, &mut members, &ResultMembers::default())
                    .map_err(|error| ErrorObject::internal(error.to_string()))?;
                return Ok(members.finish());
            }
            let invalid = |error: InvalidRound| {
                ErrorObject::internal(format!(
                    "the result of the upstream server is invalid: {error}"
                ))
            };
            let required = read_input_required(&members).map_err(invalid)?;
            let required = required.unwrap_or_default();
            let has_requests = !required.requests.is_empty();
            if !has_requests && required.request_state.is_none() {
                return Err(ErrorObject::internal(format!(
                    "the upstream server asked for input of `{method}` without input requests and without a state"
                )));
            }
            asked += required.requests.len();
            if asked > MAX_INPUT_REQUESTS {
                return Err(ErrorObject::internal(format!(
                    "`{method}` asked for input more than {MAX_INPUT_REQUESTS} times, which is the limit of the relay"
                )));
            }
            let pause = rounds.next_pause(has_requests).map_err(|_| {
                ErrorObject::internal(format!(
                    "`{method}` asked for input more than {DEFAULT_ROUNDS} times"
                ))
            })?;
            tokio::time::sleep(pause).await;
            let mut round = RawInputRound::default();
            round.responses = self
                .request_input(upstream, exchange, required.requests)
                .await?;
            round.request_state = required.request_state;
            write_round(&mut params, &round);
        }
    }

    /// Waits for the result of a task, and requests the input that it asks for.
    async fn result_of(&self, mut task: PolledTask<'_>) -> Result<RawJson, ErrorObject> {
        let mut asked = 0;
        loop {
            let requests = match task.next().await? {
                TaskStep::Respond(result) => return Ok(result),
                TaskStep::RequestInput(requests) => requests,
            };
            asked += requests.len();
            if asked > MAX_INPUT_REQUESTS {
                return Err(ErrorObject::internal(format!(
                    "a task asked for input more than {MAX_INPUT_REQUESTS} times, which is the limit of the relay"
                )));
            }
            let (upstream, exchange) = task.origin();
            let responses = self.request_input(upstream, exchange, requests).await?;
            task.respond(responses).await?;
        }
    }

    /// Sends input requests to the client, all at once, and returns the responses.
    async fn request_input(
        &self,
        upstream: &UpstreamConnection,
        exchange: &Exchange,
        requests: Vec<RawInputRequest>,
    ) -> Result<Vec<(String, RawJson)>, ErrorObject> {
        let (to_upstream, to_client) = self.conversions(upstream);
        let mut asking = JoinSet::new();
        let mut responses: Vec<(String, RawJson)> = Vec::new();
        for (index, request) in requests.into_iter().enumerate() {
            let input = InputToRequest {
                elicitation_id: format!("{}-{}", exchange.context.request_id(), request.key),
                method: request.method,
                params: request.params.unwrap_or_else(RawJson::null),
                to_client,
                to_upstream,
            };
            responses.push((request.key, RawJson::null()));
            let client = Arc::clone(&exchange.context.scope().transport);
            asking.spawn(async move { (index, input.ask(&*client).await) });
        }
        while let Some(received) = asking.join_next().await {
            let (index, response) =
                received.map_err(|_| ErrorObject::internal("the relay failed unexpectedly"))?;
            responses[index].1 = response?;
        }
        Ok(responses)
    }

    /// Returns the conversions to the upstream's revision, and to the client's.
    fn conversions(&self, upstream: &UpstreamConnection) -> (Conversion, Conversion) {
        let version = upstream.version();
        (
            Conversion::new(self.version, version),
            Conversion::new(version, self.version),
        )
    }

    /// Returns the metadata of requests that declare the extension for tasks.
    fn hop_with_tasks(
        &self,
        upstream: &UpstreamConnection,
        progress: Option<ProgressToken>,
    ) -> HopMeta {
        let hop = self.hop(upstream, progress);
        hop.with_capabilities(with_extension(&self.capabilities))
    }

    fn hop(&self, upstream: &UpstreamConnection, progress: Option<ProgressToken>) -> HopMeta {
        let mut hop = HopMeta::new(upstream.version())
            .with_capabilities(self.capabilities.clone())
            .with_client_info(self.info.clone());
        if let Some(level) = *lock(&self.log_level) {
            hop = hop.with_log_level(level);
        }
        if let Some(token) = progress {
            hop = hop.with_progress_token(token);
        }
        hop
    }
}

/// Returns `true` if a result is a task.
fn is_task(result: &RawJson) -> bool {
    let members = RawObject::parse(result.as_raw_value());
    members.is_some_and(|members| members.text("resultType").as_deref() == Some("task"))
}

/// Adds a resource that a session subscribes to.
///
/// # Errors
/// Returns an error if the URI is too long, or if there are too many subscriptions.
fn add_subscription(subscriptions: &mut BTreeSet<String>, uri: String) -> Result<(), ErrorObject> {
    if uri.len() > MAX_URI_BYTES {
        return Err(ErrorObject::invalid_params(format!(
            "params.uri: the URI has {} bytes; the limit is {MAX_URI_BYTES}",
            uri.len()
        )));
    }
    if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains(&uri) {
        return Err(ErrorObject::invalid_params(format!(
            "this session already subscribes to {MAX_SUBSCRIPTIONS} resources; unsubscribe from some first"
        )));
    }
    subscriptions.insert(uri);
    Ok(())
}

/// One input request of a result.
struct InputToRequest {
    elicitation_id: String,
    method: String,
    /// `null` without parameters.
    params: RawJson,
    to_client: Conversion,
    to_upstream: Conversion,
}

impl InputToRequest {
    async fn ask(&self, client: &dyn TransportContext) -> Result<RawJson, ErrorObject> {
        let method = &self.method;
        let params = if self.params.is_null() {
            self.params.clone()
        } else {
            let params = self.params.as_raw_value();
            self.to_client
                .input_request(method, params, &self.elicitation_id)?
        };
        match client.request(method, params).await {
            Ok(response) => {
                let (request, response) = (self.params.as_raw_value(), response.as_raw_value());
                self.to_upstream.input_response(method, request, response)
            }
            // The tool learns that the user did not respond. Other input has no such response.
            Err(_) if method == "elicitation/create" => Ok(cancelled_elicitation()),
            Err(error) => Err(response_error(method, &error)),
        }
    }
}

/// Returns an error of the upstream server in the form of the client's revision.
pub(super) fn converted_error(
    conversion: Conversion,
    error: &ErrorObject,
    exchange: &Exchange,
) -> ErrorObject {
    let written = RawJson::from_serialize(error).expect("an error holds only text and raw JSON");
    let Some(mut members) = RawObject::parse(written.as_raw_value()) else {
        return error.clone();
    };
    let uri = (exchange.route().name() == "resources/read").then(|| exchange.name());
    conversion.error(&mut members, uri.flatten());
    let converted = members.finish_if_edited();
    let converted = converted.and_then(|converted| converted.parse().ok());
    converted.unwrap_or_else(|| error.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_are_limited_in_number_and_length() {
        let mut subscriptions = BTreeSet::new();
        let mut add = |uri: String| add_subscription(&mut subscriptions, uri).is_ok();
        assert!(add("x".repeat(MAX_URI_BYTES)));
        assert!(!add("x".repeat(MAX_URI_BYTES + 1)));
        for number in 1..MAX_SUBSCRIPTIONS {
            assert!(add(format!("file:///{number}")));
        }
        assert!(add("file:///1".to_owned()), "it is subscribed already");
        assert!(!add("file:///other".to_owned()));
    }
}
