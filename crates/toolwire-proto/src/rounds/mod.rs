//! Multi-round-trip requests: what a server may ask, and how a client answers by asking again.
//!
//! A server asks only for what the client declared on that very request, and only on the three methods that allow it.
//! A client repeats its request with the answers and the server's state, a bounded number of times.
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
pub use responses::{InvalidInputResponse, accept_answer};

/// How many rounds a client goes along with, unless told otherwise; the specification sets no limit.
pub const DEFAULT_ROUNDS: u32 = 16;

/// An `input_required` result that must not be sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InvalidInputRequired {
    /// The client did not declare what the questions need.
    MissingCapability(MissingCapability),
    /// The method, or the revision, knows no such result.
    NotAllowedHere,
    /// There are neither questions nor a state.
    AsksNothing,
    /// A question is none of the three kinds.
    UnknownKind(String),
}

impl fmt::Display for InvalidInputRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingCapability(missing) => missing.fmt(f),
            Self::NotAllowedHere => {
                f.write_str("this request cannot be answered with input_required")
            }
            Self::AsksNothing => f.write_str("input_required needs inputRequests or requestState"),
            Self::UnknownKind(method) => write!(f, "{method:?} is no kind of input request"),
        }
    }
}

impl std::error::Error for InvalidInputRequired {}

impl From<InvalidInputRequired> for ErrorObject {
    fn from(invalid: InvalidInputRequired) -> Self {
        match invalid {
            InvalidInputRequired::MissingCapability(missing) => missing.into(),
            // The rest are mistakes of the server's author.
            other => Self::internal(other.to_string()),
        }
    }
}

/// Checks an `input_required` result before it leaves the server.
///
/// # Errors
/// What is wrong with it; as an [`ErrorObject`] it is the answer to send instead.
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

/// Checks that a client can be asked all of this.
///
/// # Errors
/// The capabilities it would have to declare, or a question of no known kind.
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

/// Builds the parameters of the next round: the original ones, the answers, and the state exactly as it was given.
///
/// # Errors
/// When a question has no answer, or the original parameters are no object.
pub fn retry_params(
    original: &RawJson,
    result: &InputRequiredResult,
    responses: &InputResponses,
) -> Result<RawJson, InvalidRetry> {
    let mut members: IndexMap<String, RawJson> =
        original.parse().map_err(|_| InvalidRetry::NotAnObject)?;
    // Answers and state belong to one round; those of an earlier one are not sent again.
    members.shift_remove("inputResponses");
    members.shift_remove("requestState");

    if let Some(requests) = &result.input_requests {
        let mut answers = InputResponses::new();
        for (key, _) in requests.iter() {
            let answer = responses
                .get(key)
                .ok_or_else(|| InvalidRetry::Unanswered(key.to_owned()))?;
            answers.insert(key, answer.clone());
        }
        let answers = RawJson::from_serialize(&answers).expect("answers by key are an object");
        members.insert("inputResponses".to_owned(), answers);
    }
    if let Some(state) = &result.request_state {
        let state = RawJson::from_serialize(state).expect("a string is always JSON");
        members.insert("requestState".to_owned(), state);
    }
    Ok(RawJson::from_serialize(&members).expect("members with names are an object"))
}

/// Why a request cannot be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidRetry {
    /// The question under this key has no answer.
    Unanswered(String),
    /// The original parameters are no JSON object.
    NotAnObject,
}

impl fmt::Display for InvalidRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered(key) => write!(f, "the input request {key:?} has no answer"),
            Self::NotAnObject => f.write_str("the parameters are no object"),
        }
    }
}

impl std::error::Error for InvalidRetry {}

/// Counts the rounds of one request and slows down those in which nobody was asked anything.
#[derive(Debug, Clone)]
pub struct RoundCounter {
    left: u32,
    pause: Duration,
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl RoundCounter {
    /// Allows this many rounds.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self {
            left: limit,
            pause: FIRST_PAUSE,
        }
    }

    /// Takes another round and says how long to wait before it.
    ///
    /// # Errors
    /// When the server has asked too often.
    pub fn next_round(&mut self, result: &InputRequiredResult) -> Result<Duration, TooManyRounds> {
        self.left = self.left.checked_sub(1).ok_or(TooManyRounds)?;
        let asks = result
            .input_requests
            .as_ref()
            .is_some_and(|requests| !requests.is_empty());
        if asks {
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

/// The server asked for input more often than this client goes along with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyRounds;

impl fmt::Display for TooManyRounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server asked for input too many times")
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
    fn input_is_asked_only_where_and_how_the_specification_allows() {
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
    fn a_retry_is_the_original_request_with_answers_and_state() {
        let check = |original: Value, asked: Value, responses: Value, expected: Value| {
            let responses = serde_json::from_value(responses).expect("answers");
            let params = retry_params(&original.into(), &result(asked), &responses);
            assert_eq!(params, Ok(expected.into()));
        };
        let question = || json!({"method": "roots/list"});
        check(
            json!({"name": "t", "arguments": {"a": 1}, "_meta": {"k": 1}}),
            json!({"inputRequests": {"q": question()}, "requestState": "s\u{0}\"é"}),
            json!({"q": {"roots": []}, "stranger": {}}),
            json!({
                "name": "t", "arguments": {"a": 1}, "_meta": {"k": 1},
                "inputResponses": {"q": {"roots": []}}, "requestState": "s\u{0}\"é",
            }),
        );
        // A state that was not given is not sent; one of an earlier round is not sent again.
        check(
            json!({"name": "t", "inputResponses": {"old": 1}, "requestState": "old"}),
            json!({"inputRequests": {"q": question()}}),
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
    fn every_question_needs_an_answer() {
        let asked = result(json!({"inputRequests": {"q": {"method": "roots/list"}}}));
        assert_eq!(
            retry_params(&json!({}).into(), &asked, &InputResponses::new()),
            Err(InvalidRetry::Unanswered("q".to_owned()))
        );
        assert_eq!(
            retry_params(&json!([]).into(), &asked, &InputResponses::new()),
            Err(InvalidRetry::NotAnObject)
        );
    }

    #[test]
    fn rounds_are_bounded() {
        let asked = result(json!({"inputRequests": {"q": {"method": "roots/list"}}}));
        let mut counter = RoundCounter::default();
        for _ in 0..16 {
            assert_eq!(counter.next_round(&asked), Ok(Duration::ZERO));
        }
        assert_eq!(counter.next_round(&asked), Err(TooManyRounds));
        assert_eq!(counter.next_round(&asked), Err(TooManyRounds));
    }

    #[test]
    fn rounds_without_a_question_slow_down() {
        let asked = result(json!({"inputRequests": {"q": {"method": "roots/list"}}}));
        let silent = result(json!({"requestState": "s"}));
        let mut counter = RoundCounter::default();
        let mut pause = |result| {
            let pause = counter.next_round(result).expect("a round is left");
            pause.as_millis()
        };
        let pauses: Vec<_> = (0..8).map(|_| pause(&silent)).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(pause(&asked), 0);
        assert_eq!(pause(&silent), 100);
    }
}
