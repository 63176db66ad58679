//! The input requests and responses of one round of a call, as text.
//!
//! A relay between two modern peers replaces only the request state. For a legacy upstream it writes the
//! `input_required` result from the upstream's requests, and for a legacy client it sends the input requests of a result
//! and writes the next round. Spec 2026-07-28, basic/patterns/mrtr.

use std::borrow::Cow;
use std::fmt;

use toolwire_types::RawJson;

use crate::param_members::RawMember;
use crate::raw_object::{RawObject, json_string};

/// The maximum number of input requests in one result, and of responses in one round.
pub const MAX_INPUT_REQUESTS: usize = 16;

/// One input request of a result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RawInputRequest {
    /// The key, which the response repeats.
    pub key: String,
    /// The method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters.
    pub params: Option<RawJson>,
}

impl RawInputRequest {
    /// Creates an input request.
    #[must_use]
    pub fn new(key: impl Into<String>, method: impl Into<String>, params: Option<RawJson>) -> Self {
        Self {
            key: key.into(),
            method: method.into(),
            params,
        }
    }
}

/// An `input_required` result.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RawInputRequired {
    /// The input requests, in order.
    pub requests: Vec<RawInputRequest>,
    /// The state that the next round repeats.
    pub request_state: Option<String>,
}

/// The input of a round.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RawInputRound {
    /// The responses by key, in order.
    pub responses: Vec<(String, RawJson)>,
    /// The state of the previous result.
    pub request_state: Option<String>,
}

impl RawInputRound {
    /// Returns `true` if the request is the first of its call.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.responses.is_empty() && self.request_state.is_none()
    }
}

/// Input requests or responses that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidRound {
    /// The member is not of the type that the specification defines.
    Malformed,
    /// There are more than [`MAX_INPUT_REQUESTS`].
    TooMany,
}

impl fmt::Display for InvalidRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("the input requests or responses are malformed"),
            Self::TooMany => write!(
                f,
                "a round has at most {MAX_INPUT_REQUESTS} input requests or responses"
            ),
        }
    }
}

impl std::error::Error for InvalidRound {}

/// Writes an `input_required` result.
#[must_use]
pub fn input_required(requests: &[RawInputRequest], request_state: &str) -> RawJson {
    let mut input_requests = RawObject::empty();
    for request in requests {
        let mut object = RawObject::empty();
        object.set_text("method", &request.method);
        if let Some(params) = &request.params {
            object.set("params", params.clone());
        }
        input_requests.set(request.key.as_str(), object.finish());
    }
    let mut result = RawObject::empty();
    result.set("resultType", json_string("input_required"));
    result.set("inputRequests", input_requests.finish());
    result.set_text("requestState", request_state);
    result.finish()
}

/// Reads an `input_required` result. Returns `None` for another kind of result.
///
/// # Errors
/// Returns an error if a member is malformed, or if there are too many input requests.
pub fn read_input_required(
    result: &RawObject<'_>,
) -> Result<Option<RawInputRequired>, InvalidRound> {
    if result.text("resultType").as_deref() != Some("input_required") {
        return Ok(None);
    }
    Ok(Some(RawInputRequired {
        request_state: read_state(result)?,
        requests: read_input_requests(result)?,
    }))
}

/// Reads the input requests of a result: of an `input_required` result, or of a task that waits for input.
///
/// # Errors
/// Returns an error if a member is malformed, or if there are too many input requests.
pub fn read_input_requests(result: &RawObject<'_>) -> Result<Vec<RawInputRequest>, InvalidRound> {
    let mut requests = Vec::new();
    for (key, request) in read_entries(result, "inputRequests")? {
        let request = RawObject::parse(request.raw()).ok_or(InvalidRound::Malformed)?;
        let method = request.text("method").ok_or(InvalidRound::Malformed)?;
        let params = request.get("params").map(|params| params.raw().into());
        requests.push(RawInputRequest::new(key, method, params));
    }
    Ok(requests)
}

/// Reads the input of a client's round.
///
/// # Errors
/// Returns an error if a member is malformed, or if there are too many responses.
pub fn read_round(params: &RawObject<'_>) -> Result<RawInputRound, InvalidRound> {
    let responses = read_entries(params, "inputResponses")?;
    Ok(RawInputRound {
        responses: responses
            .into_iter()
            .map(|(key, response)| (key, response.raw().into()))
            .collect(),
        request_state: read_state(params)?,
    })
}

/// Writes the input of the next round into the parameters of a call. Those of an earlier round are removed.
pub fn write_round(params: &mut RawObject<'_>, round: &RawInputRound) {
    params.remove("inputResponses");
    params.remove("requestState");
    if !round.responses.is_empty() {
        let mut responses = RawObject::empty();
        for (key, response) in &round.responses {
            responses.set(key.as_str(), response.clone());
        }
        params.set("inputResponses", responses.finish());
    }
    if let Some(state) = &round.request_state {
        params.set_text("requestState", state);
    }
}

fn read_state(object: &RawObject<'_>) -> Result<Option<String>, InvalidRound> {
    match present(object, "requestState") {
        None => Ok(None),
        Some(state) => {
            let state = state.text().map(Cow::into_owned);
            state.map(Some).ok_or(InvalidRound::Malformed)
        }
    }
}

fn read_entries<'o>(
    object: &'o RawObject<'_>,
    name: &str,
) -> Result<Vec<(String, RawMember<'o>)>, InvalidRound> {
    let Some(member) = present(object, name) else {
        return Ok(Vec::new());
    };
    let entries = crate::strict_json::walk::object_members(member.get());
    let mut read = Vec::new();
    for (key, value) in entries.ok_or(InvalidRound::Malformed)? {
        if read.len() == MAX_INPUT_REQUESTS {
            return Err(InvalidRound::TooMany);
        }
        read.push((key.meaning().into_owned(), RawMember::checked(value)));
    }
    Ok(read)
}

/// Returns a member that is not `null`, which counts as absent.
fn present<'o>(object: &'o RawObject<'_>, name: &str) -> Option<RawMember<'o>> {
    object.get(name).filter(|member| member.get() != "null")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn raw(value: &Value) -> RawJson {
        RawJson::from_value(value)
    }

    #[test]
    fn result_is_read_as_it_was_written() {
        let requests = [
            RawInputRequest::new(
                "q1",
                "elicitation/create",
                Some(raw(&json!({"message": "m", "x": 1.0}))),
            ),
            RawInputRequest::new("q2", "roots/list", None),
        ];
        let result = input_required(&requests, "state");
        assert_eq!(
            result.get(),
            r#"{"resultType":"input_required","inputRequests":{"q1":{"method":"elicitation/create","params":{"message":"m","x":1.0}},"q2":{"method":"roots/list"}},"requestState":"state"}"#
        );
        let object = RawObject::parse(result.as_raw_value()).unwrap();
        let read = read_input_required(&object).unwrap().unwrap();
        assert_eq!(read.requests, requests);
        assert_eq!(read.request_state.as_deref(), Some("state"));
    }

    #[test]
    fn other_results_request_no_input() {
        for other in [
            json!({}),
            json!({"resultType": "complete", "inputRequests": 1}),
        ] {
            let json = raw(&other);
            let object = RawObject::parse(json.as_raw_value()).unwrap();
            assert_eq!(read_input_required(&object), Ok(None));
        }
    }

    #[test]
    fn malformed_input_requests_are_rejected() {
        let check = |members: Value, expected: Option<InvalidRound>| {
            let mut result = json!({"resultType": "input_required"});
            for (name, value) in members.as_object().unwrap() {
                result[name] = value.clone();
            }
            let json = raw(&result);
            let object = RawObject::parse(json.as_raw_value()).unwrap();
            assert_eq!(read_input_required(&object).err(), expected, "{members}");
        };
        check(json!({}), None);
        check(json!({"inputRequests": null, "requestState": null}), None);
        check(json!({"requestState": 1}), Some(InvalidRound::Malformed));
        check(json!({"inputRequests": []}), Some(InvalidRound::Malformed));
        check(
            json!({"inputRequests": {"a": 1}}),
            Some(InvalidRound::Malformed),
        );
        check(
            json!({"inputRequests": {"a": {"method": 1}}}),
            Some(InvalidRound::Malformed),
        );
        let many = |count: usize| {
            let requests =
                (0..count).map(|index| (index.to_string(), json!({"method": "roots/list"})));
            json!({"inputRequests": Value::Object(requests.collect())})
        };
        check(many(MAX_INPUT_REQUESTS), None);
        check(many(MAX_INPUT_REQUESTS + 1), Some(InvalidRound::TooMany));
    }

    #[test]
    fn round_replaces_that_of_an_earlier_one() {
        let json = raw(
            &json!({"name": "a", "inputResponses": {"old": 1}, "requestState": "old", "arguments": {}}),
        );
        let mut params = RawObject::parse(json.as_raw_value()).unwrap();
        let earlier = read_round(&params).unwrap();
        assert!(!earlier.is_first());
        assert_eq!(earlier.responses, [("old".to_owned(), raw(&json!(1)))]);
        let round = RawInputRound {
            responses: vec![("q1".to_owned(), raw(&json!({"action": "accept"})))],
            request_state: Some("new".to_owned()),
        };
        write_round(&mut params, &round);
        let written = params.finish();
        assert_eq!(
            written.get(),
            r#"{"name":"a","arguments":{},"inputResponses":{"q1":{"action":"accept"}},"requestState":"new"}"#
        );
        let mut params = RawObject::parse(written.as_raw_value()).unwrap();
        assert_eq!(read_round(&params), Ok(round));
        write_round(&mut params, &RawInputRound::default());
        assert_eq!(params.finish().get(), r#"{"name":"a","arguments":{}}"#);
        let written = params.finish();
        let params = RawObject::parse(written.as_raw_value()).unwrap();
        assert!(read_round(&params).unwrap().is_first());
    }
}
