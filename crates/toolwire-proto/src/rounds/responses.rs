//! Checks of a server on a client's input response.

use std::fmt;

use serde::Deserialize;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitRequestParams, ElicitResult, ErrorObject, InputRequest, ListRootsResult, RawJson,
    SamplingMessageContentBlock,
};

use crate::decode_message::decode_message;
use crate::elicit_validation::{
    apply_defaults, check_elicit_result, check_url_result, read_schema, write_whole_numbers,
};
use crate::sampling_rules::check_uses;

/// Checks an input response, and returns it with the defaults of the form filled in and its whole numbers written as
/// integers.
///
/// A form that this crate cannot parse is not checked, because its schema is outside of the protocol.
/// Spec 2026-07-28, basic/patterns/mrtr: a server validates responses and rejects violations with an error.
///
/// # Errors
/// Returns an error if the response has the wrong form, violates the rules of the form, or uses tools in an invalid
/// way.
pub fn accept_response(
    request: &InputRequest,
    response: RawJson,
) -> Result<RawJson, InvalidInputResponse> {
    match request {
        InputRequest::Elicitation(ElicitRequestParams::Form(form)) => accept_form(form, response),
        InputRequest::Elicitation(_) => {
            check_action(&response)?;
            let result: ElicitResult = read(&response)?;
            check_url_result(&result).map_err(InvalidInputResponse::new)?;
            Ok(response)
        }
        InputRequest::Sampling(params) => {
            check_message(params, &read(&response)?)?;
            Ok(response)
        }
        InputRequest::Roots(_) => read::<ListRootsResult>(&response).map(|_| response),
        _ => Ok(response),
    }
}

fn accept_form(
    form: &ElicitRequestFormParams,
    response: RawJson,
) -> Result<RawJson, InvalidInputResponse> {
    check_action(&response)?;
    let mut result: ElicitResult = read(&response)?;
    let Ok(schema) = read_schema(form) else {
        return Ok(response);
    };
    if result.action != ElicitAction::Accept {
        // Some clients include the content that the user entered before declining.
        result.content = None;
    }
    apply_defaults(&schema, &mut result);
    check_elicit_result(&schema, &result).map_err(InvalidInputResponse::new)?;
    write_whole_numbers(&schema, &mut result);
    RawJson::from_serialize(&result).map_err(InvalidInputResponse::new)
}

/// Rejects the result of an elicitation without one of the three actions.
fn check_action(response: &RawJson) -> Result<(), InvalidInputResponse> {
    #[derive(Deserialize)]
    struct Action {
        #[expect(dead_code, reason = "only its presence and its value are checked")]
        action: ElicitAction,
    }

    match response.parse::<Action>() {
        Ok(_) => Ok(()),
        Err(error) => Err(InvalidInputResponse::new(format_args!("action: {error}"))),
    }
}

/// Checks that a model uses only the offered tools, and that each use has its own id.
fn check_message(
    request: &CreateMessageRequestParams,
    message: &CreateMessageResult,
) -> Result<(), InvalidInputResponse> {
    for block in message.content.blocks() {
        let SamplingMessageContentBlock::ToolUse(tool_use) = block else {
            continue;
        };
        let mut offered = request.tools.iter().flatten();
        if !offered.any(|tool| tool.name == tool_use.name) {
            return Err(InvalidInputResponse::new(format_args!(
                "the model uses the tool {:?}, which it was not offered",
                tool_use.name
            )));
        }
    }
    check_uses(message).map_err(InvalidInputResponse::new)
}

fn read<T: serde::de::DeserializeOwned>(response: &RawJson) -> Result<T, InvalidInputResponse> {
    let read = response.parse();
    read.map_err(|error| InvalidInputResponse::new(decode_message(&error)))
}

/// The reason why an input response is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInputResponse(String);

impl InvalidInputResponse {
    fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }

    /// Returns the error text for the response to the input request of `key`.
    #[must_use]
    pub fn message(&self, key: &str) -> String {
        format!("the response to {key:?} is invalid: {}", self.0)
    }

    /// Returns [`message`](Self::message) as an error, for a client that sent the response with its request.
    #[must_use]
    pub fn into_error(self, key: &str) -> ErrorObject {
        ErrorObject::invalid_params(self.message(key))
    }
}

impl fmt::Display for InvalidInputResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidInputResponse {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(request: Value, response: Value, expected: Result<Value, &str>) {
        let request: InputRequest = serde_json::from_value(request).expect("an input request");
        match (accept_response(&request, response.into()), expected) {
            (Ok(response), Ok(expected)) => assert_eq!(response, RawJson::from(expected)),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn form_responses_are_checked_and_completed() {
        let form = || {
            json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {
                "type": "object", "required": ["age"],
                "properties": {
                    "age": {"type": "integer", "minimum": 0},
                    "updates": {"type": "boolean", "default": true},
                },
            }}})
        };
        let accept = |content: Value| json!({"action": "accept", "content": content});
        check(
            form(),
            accept(json!({"age": 7})),
            Ok(accept(json!({"age": 7, "updates": true}))),
        );
        check(
            form(),
            accept(json!({"age": 7.0, "updates": false})),
            Ok(accept(json!({"age": 7, "updates": false}))),
        );
        check(form(), accept(json!({"age": -1})), Err("age"));
        check(form(), accept(json!({"updates": false})), Err("age"));
        check(form(), json!({"action": "accept"}), Err("age"));
        check(form(), accept(json!({"age": 7, "x": 1})), Err("x"));
        check(form(), json!("yes"), Err(""));
        for action in [json!("Accept"), json!("reject"), json!(true), json!(null)] {
            check(form(), json!({"action": action}), Err("action: "));
        }
        check(form(), json!({}), Err("action: missing"));
        let declined = json!({"action": "decline"});
        check(form(), declined.clone(), Ok(declined.clone()));
        let half_filled = json!({"action": "decline", "content": {"age": "x"}});
        check(form(), half_filled, Ok(declined));

        let nested = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {
            "type": "object", "properties": {"a": {"type": "object"}},
        }}});
        let response = accept(json!({"a": {}}));
        check(nested, response.clone(), Ok(response));
    }

    #[test]
    fn url_responses_have_no_content() {
        let url = || json!({"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://a"}});
        let accept = json!({"action": "accept"});
        check(url(), accept.clone(), Ok(accept));
        check(url(), json!({"action": "done"}), Err("action: "));
        check(url(), json!({}), Err("action: missing"));
        let content = json!({"action": "accept", "content": {"a": 1}});
        check(url(), content, Err("content"));
    }

    #[test]
    fn models_use_only_offered_tools() {
        let sampling = |tools: Value| json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1, "tools": tools}});
        let tool = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
        let uses = json!({"role": "assistant", "model": "m", "content": {"type": "tool_use", "id": "1", "name": "t", "input": {}}});
        check(sampling(tool.clone()), uses.clone(), Ok(uses.clone()));
        check(sampling(json!([])), uses.clone(), Err("\"t\""));
        let twice = json!([uses["content"], uses["content"]]);
        let repeated = json!({"role": "assistant", "model": "m", "content": twice});
        check(sampling(tool.clone()), repeated, Err("two tool uses"));
        let mut user = uses;
        user["role"] = json!("user");
        check(sampling(tool), user, Err("wrong role"));
        check(sampling(json!([])), json!({"role": "assistant"}), Err(""));
    }

    #[test]
    fn roots_are_checked() {
        let roots = json!({"roots": [{"uri": "file:///a"}]});
        check(json!({"method": "roots/list"}), roots.clone(), Ok(roots));
        check(
            json!({"method": "roots/list"}),
            json!({"roots": 1}),
            Err(""),
        );
    }

    #[test]
    fn error_names_the_key() {
        let error = InvalidInputResponse::new("why").into_error("name");
        assert_eq!(error.code, -32602);
        assert_eq!(error.message, "the response to \"name\" is invalid: why");
    }
}
