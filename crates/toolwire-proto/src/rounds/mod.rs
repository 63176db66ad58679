//! Multi-round-trip requests: the input requests of a server, and the retries of a client.
//!
//! A server sends only input requests that the client declared on the same request, and only for the three methods that
//! permit them. A client retries its request with the responses and the server's state, a limited number of times.
//! Spec 2026-07-28, basic/patterns/mrtr.

mod capabilities;
#[cfg(feature = "input")]
mod responses;

use std::fmt;
use std::time::Duration;

use indexmap::IndexMap;
use toolwire_types::{
    ClientCapabilities, ErrorObject, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, ProtocolVersion, RawJson,
};

use crate::features::VersionFeatures;
use crate::methods::Method;

pub use capabilities::{MissingCapability, missing_capabilities, required_capabilities};
#[cfg(feature = "input")]
pub use responses::{InvalidInputResponse, accept_response};

/// The default limit of rounds of one request. The specification sets no limit.
pub const DEFAULT_ROUNDS: u32 = 16;

/// An `input_required` result that must not be sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InvalidInputRequired {
    /// The client did not declare a capability that the input requests require.
    MissingCapability(MissingCapability),
    /// The method or the revision does not permit the result.
    NotAllowedHere,
    /// The result has neither input requests nor a state.
    AsksNothing,
    /// An input request is not one of the three kinds.
    UnknownKind(String),
}

impl fmt::Display for InvalidInputRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingCapability(missing) => missing.fmt(f),
            Self::NotAllowedHere => {
                f.write_str("the response to this request cannot be input_required")
            }
            Self::AsksNothing => {
                f.write_str("input_required requires inputRequests or requestState")
            }
            Self::UnknownKind(method) => write!(f, "{method:?} is not a kind of input request"),
        }
    }
}

impl std::error::Error for InvalidInputRequired {}

impl From<InvalidInputRequired> for ErrorObject {
    fn from(invalid: InvalidInputRequired) -> Self {
        match invalid {
            InvalidInputRequired::MissingCapability(missing) => missing.into(),
            // The other variants are mistakes in the server's code.
            other => Self::internal(other.to_string()),
        }
    }
}

/// Checks an `input_required` result before the server sends it.
///
/// # Errors
/// Returns the problem with the result. As an [`ErrorObject`] it is the response to send instead.
pub fn check_input_required(
    method: &Method,
    version: ProtocolVersion,
    result: &InputRequiredResult,
    client: &ClientCapabilities,
) -> Result<(), InvalidInputRequired> {
    if !(method.may_ask_input && version.has_input_required()) {
        return Err(InvalidInputRequired::NotAllowedHere);
    }
    match (&result.input_requests, &result.request_state) {
        (Some(requests), _) if !requests.is_empty() => check_requests(requests, client),
        (_, Some(_)) => Ok(()),
        (_, None) => Err(InvalidInputRequired::AsksNothing),
    }
}

/// Checks that a client accepts all of these input requests.
///
/// # Errors
/// Returns the capabilities that the client would have to declare, or the first input request of unknown kind.
pub fn check_requests(
    requests: &InputRequests,
    client: &ClientCapabilities,
) -> Result<(), InvalidInputRequired> {
    let unknown = requests.iter().find_map(|(_, request)| match request {
        InputRequest::Elicitation(_) | InputRequest::Sampling(_) | InputRequest::Roots(_) => None,
        other => Some(other.method().to_owned()),
    });
    if let Some(method) = unknown {
        return Err(InvalidInputRequired::UnknownKind(method));
    }
    let required = required_capabilities(requests.iter().map(|(_, request)| request));
    match missing_capabilities(&required, client) {
        Some(missing) => Err(InvalidInputRequired::MissingCapability(
            MissingCapability::new(missing),
        )),
        None => Ok(()),
    }
}

/// Builds the parameters of the next round: the original ones, the responses, and the unchanged state.
///
/// # Errors
/// Returns an error if an input request has no response, or if the original parameters are not an object.
pub fn retry_params(
    original: &RawJson,
    result: &InputRequiredResult,
    responses: &InputResponses,
) -> Result<RawJson, InvalidRetry> {
    let mut members: IndexMap<String, RawJson> =
        original.parse().map_err(|_| InvalidRetry::NotAnObject)?;
    // Responses and state belong to one round. Those of an earlier round are not sent again.
    members.shift_remove("inputResponses");
    members.shift_remove("requestState");

    if let Some(requests) = &result.input_requests {
        let mut input_responses = InputResponses::new();
        for (key, _) in requests.iter() {
            let response = responses
                .get(key)
                .ok_or_else(|| InvalidRetry::MissingResponse(key.to_owned()))?;
            input_responses.insert(key, response.clone());
        }
        let input_responses =
            RawJson::from_serialize(&input_responses).expect("responses by key always serialize");
        members.insert("inputResponses".to_owned(), input_responses);
    }
    if let Some(state) = &result.request_state {
        let state = RawJson::from_serialize(state).expect("a string is always JSON");
        members.insert("requestState".to_owned(), state);
    }
    Ok(RawJson::from_serialize(&members).expect("named members always serialize"))
}

/// The reason why a request cannot be retried.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidRetry {
    /// The input request of this key has no response.
    MissingResponse(String),
    /// The original parameters are not a JSON object.
    NotAnObject,
}

impl fmt::Display for InvalidRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingResponse(key) => write!(f, "the input request {key:?} has no response"),
            Self::NotAnObject => f.write_str("the parameters are not an object"),
        }
    }
}

impl std::error::Error for InvalidRetry {}

/// A counter of the rounds of one request. It delays rounds without input requests.
#[derive(Debug, Clone)]
pub struct RoundCounter {
    left: u32,
    pause: Duration,
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl RoundCounter {
    /// Creates a counter for `limit` rounds.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self {
            left: limit,
            pause: FIRST_PAUSE,
        }
    }

    /// Counts another round and returns how long to wait before it.
    ///
    /// # Errors
    /// Returns an error if the limit of rounds is reached.
    pub fn next_round(&mut self, result: &InputRequiredResult) -> Result<Duration, TooManyRounds> {
        let requests = result.input_requests.as_ref();
        self.next_pause(requests.is_some_and(|requests| !requests.is_empty()))
    }

    /// Counts another round and returns how long to wait before it. `requests_input` is `false` if the result has no input
    /// requests.
    ///
    /// # Errors
    /// Returns an error if the limit of rounds is reached.
    pub fn next_pause(&mut self, requests_input: bool) -> Result<Duration, TooManyRounds> {
        self.left = self.left.checked_sub(1).ok_or(TooManyRounds)?;
        if requests_input {
            self.pause = FIRST_PAUSE;
            return Ok(Duration::ZERO);
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        Ok(pause)
    }
}

impl Default for RoundCounter {
    fn default() -> Self {
        Self::new(DEFAULT_ROUNDS)
    }
}

/// The error of a server that requests input in too many rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyRounds;

impl fmt::Display for TooManyRounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server requested input in too many rounds")
    }
}

impl std::error::Error for TooManyRounds {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::methods::find;

    fn result(value: Value) -> InputRequiredResult {
        serde_json::from_value(value).expect("a result")
    }

    #[test]
    fn input_is_requested_only_as_the_specification_permits() {
        let check = |method: &str, version: &str, value: Value, client: Value, expected: &str| {
            let client: ClientCapabilities = serde_json::from_value(client).expect("capabilities");
            let outcome = check_input_required(
                find(method).expect("a method of the table"),
                version.parse().expect("a released version"),
                &result(value),
                &client,
            );
            let shown = match outcome.map_err(ErrorObject::from) {
                Ok(()) => "ok".to_owned(),
                Err(error) => error.code.to_string(),
            };
            assert_eq!(shown, expected, "{method} {version}");
        };
        let state = || json!({"requestState": ""});
        let roots = || json!({"inputRequests": {"r": {"method": "roots/list"}}});
        for method in ["tools/call", "prompts/get", "resources/read"] {
            check(method, "2026-07-28", state(), json!({}), "ok");
            check(method, "2026-07-28", roots(), json!({"roots": {}}), "ok");
            check(method, "2026-07-28", roots(), json!({}), "-32021");
            check(method, "2025-11-25", state(), json!({}), "-32603");
        }
        check("tools/list", "2026-07-28", state(), json!({}), "-32603");
        check(
            "completion/complete",
            "2026-07-28",
            state(),
            json!({}),
            "-32603",
        );
        check("tools/call", "2026-07-28", json!({}), json!({}), "-32603");
        check(
            "tools/call",
            "2026-07-28",
            json!({"inputRequests": {}}),
            json!({}),
            "-32603",
        );
        check(
            "tools/call",
            "2026-07-28",
            json!({"inputRequests": {"x": {"method": "tools/call", "params": {}}}}),
            json!({}),
            "-32603",
        );
    }

    #[test]
    fn retry_is_the_original_request_with_responses_and_state() {
        let check = |original: Value, required: Value, responses: Value, expected: Value| {
            let responses = serde_json::from_value(responses).expect("input responses");
            let params = retry_params(&original.into(), &result(required), &responses);
            assert_eq!(params, Ok(expected.into()));
        };
        let request = || json!({"method": "roots/list"});
        check(
            json!({"name": "t", "arguments": {"a": 1}, "_meta": {"k": 1}}),
            json!({"inputRequests": {"q": request()}, "requestState": "s\u{0}\"é"}),
            json!({"q": {"roots": []}, "stranger": {}}),
            json!({
                "name": "t", "arguments": {"a": 1}, "_meta": {"k": 1},
                "inputResponses": {"q": {"roots": []}}, "requestState": "s\u{0}\"é",
            }),
        );
        // A missing state is not sent. The state of an earlier round is not sent again.
        check(
            json!({"name": "t", "inputResponses": {"old": 1}, "requestState": "old"}),
            json!({"inputRequests": {"q": request()}}),
            json!({"q": {}}),
            json!({"name": "t", "inputResponses": {"q": {}}}),
        );
        check(
            json!({"name": "t", "inputResponses": {"old": 1}}),
            json!({"requestState": ""}),
            json!({}),
            json!({"name": "t", "requestState": ""}),
        );
    }

    #[test]
    fn every_input_request_needs_a_response() {
        let required = result(json!({"inputRequests": {"q": {"method": "roots/list"}}}));
        assert_eq!(
            retry_params(&json!({}).into(), &required, &InputResponses::new()),
            Err(InvalidRetry::MissingResponse("q".to_owned()))
        );
        assert_eq!(
            retry_params(&json!([]).into(), &required, &InputResponses::new()),
            Err(InvalidRetry::NotAnObject)
        );
    }

    #[test]
    fn rounds_are_bounded() {
        let required = result(json!({"inputRequests": {"q": {"method": "roots/list"}}}));
        let mut counter = RoundCounter::default();
        for _ in 0..16 {
            assert_eq!(counter.next_round(&required), Ok(Duration::ZERO));
        }
        assert_eq!(counter.next_round(&required), Err(TooManyRounds));
        assert_eq!(counter.next_round(&required), Err(TooManyRounds));
    }

    #[test]
    fn rounds_without_input_requests_are_delayed() {
        let required = result(json!({"inputRequests": {"q": {"method": "roots/list"}}}));
        let silent = result(json!({"requestState": "s"}));
        let mut counter = RoundCounter::default();
        let mut pause = |result| {
            let pause = counter.next_round(result).expect("a round is left");
            pause.as_millis()
        };
        let pauses: Vec<_> = (0..8).map(|_| pause(&silent)).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(pause(&required), 0);
        assert_eq!(pause(&silent), 100);
    }
}
