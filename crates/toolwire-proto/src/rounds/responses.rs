//! What a server checks before anybody looks at a client's answer.

use std::fmt;

use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitRequestParams, ElicitResult, ErrorObject, InputRequest, ListRootsResult, RawJson,
    SamplingMessageContentBlock,
};

use crate::elicit_validation::{
    apply_defaults, check_elicit_result, check_url_result, read_schema, write_whole_numbers,
};
use crate::sampling_rules::check_uses;

/// Checks the answer to a question, and returns it with the defaults of the form filled in and its whole numbers written
/// as integers.
///
/// A form this crate cannot read (its author wrote a schema the protocol does not know) is not checked.
/// Spec 2026-07-28, basic/patterns/mrtr: a server validates what it gets and answers violations with an error.
///
/// # Errors
/// When it has the wrong shape, breaks the rules of the form, or uses tools in a way that cannot be answered.
pub fn accept_answer(
    question: &InputRequest,
    answer: RawJson,
) -> Result<RawJson, InvalidInputResponse> {
    match question {
        InputRequest::Elicitation(ElicitRequestParams::Form(form)) => accept_form(form, answer),
        InputRequest::Elicitation(_) => {
            let result: ElicitResult = read(&answer)?;
            check_url_result(&result).map_err(InvalidInputResponse::new)?;
            Ok(answer)
        }
        InputRequest::Sampling(asked) => {
            check_message(asked, &read(&answer)?)?;
            Ok(answer)
        }
        InputRequest::Roots(_) => read::<ListRootsResult>(&answer).map(|_| answer),
        _ => Ok(answer),
    }
}

fn accept_form(
    form: &ElicitRequestFormParams,
    answer: RawJson,
) -> Result<RawJson, InvalidInputResponse> {
    let mut result: ElicitResult = read(&answer)?;
    let Ok(schema) = read_schema(form) else {
        return Ok(answer);
    };
    if result.action != ElicitAction::Accept {
        // Some clients send along what was filled in before the user said no.
        result.content = None;
    }
    apply_defaults(&schema, &mut result);
    check_elicit_result(&schema, &result).map_err(InvalidInputResponse::new)?;
    write_whole_numbers(&schema, &mut result);
    RawJson::from_serialize(&result).map_err(InvalidInputResponse::new)
}

/// A model uses only what it was offered, and each use has an id of its own.
fn check_message(
    asked: &CreateMessageRequestParams,
    message: &CreateMessageResult,
) -> Result<(), InvalidInputResponse> {
    for block in message.content.blocks() {
        let SamplingMessageContentBlock::ToolUse(tool_use) = block else {
            continue;
        };
        let mut offered = asked.tools.iter().flatten();
        if !offered.any(|tool| tool.name == tool_use.name) {
            return Err(InvalidInputResponse::new(format_args!(
                "the model uses the tool {:?}, which it was not offered",
                tool_use.name
            )));
        }
    }
    check_uses(message).map_err(InvalidInputResponse::new)
}

fn read<T: serde::de::DeserializeOwned>(answer: &RawJson) -> Result<T, InvalidInputResponse> {
    answer.parse().map_err(InvalidInputResponse::new)
}

/// An answer that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInputResponse(String);

impl InvalidInputResponse {
    fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }

    /// What is wrong with the answer to the question that was asked under `key`.
    #[must_use]
    pub fn message(&self, key: &str) -> String {
        format!("the response to {key:?} cannot be used: {}", self.0)
    }

    /// [`message`](Self::message), for a client that sent the answer along with its request.
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

    fn check(question: Value, answer: Value, expected: Result<Value, &str>) {
        let question: InputRequest = serde_json::from_value(question).expect("a question");
        match (accept_answer(&question, answer.into()), expected) {
            (Ok(answer), Ok(expected)) => assert_eq!(answer, RawJson::from(expected)),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn forms_are_filled_in_as_they_ask() {
        let form = || {
            json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {
                "type": "object", "required": ["age"],
                "properties": {
                    "age": {"type": "integer", "minimum": 0},
                    "news": {"type": "boolean", "default": true},
                },
            }}})
        };
        let accept = |content: Value| json!({"action": "accept", "content": content});
        check(
            form(),
            accept(json!({"age": 7})),
            Ok(accept(json!({"age": 7, "news": true}))),
        );
        check(
            form(),
            accept(json!({"age": 7.0, "news": false})),
            Ok(accept(json!({"age": 7, "news": false}))),
        );
        check(form(), accept(json!({"age": -1})), Err("age"));
        check(form(), accept(json!({"news": false})), Err("age"));
        check(form(), json!({"action": "accept"}), Err("age"));
        check(form(), accept(json!({"age": 7, "x": 1})), Err("x"));
        check(form(), json!("yes"), Err(""));
        let declined = json!({"action": "decline"});
        check(form(), declined.clone(), Ok(declined.clone()));
        let half_filled = json!({"action": "decline", "content": {"age": "x"}});
        check(form(), half_filled, Ok(declined));

        let nested = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {
            "type": "object", "properties": {"a": {"type": "object"}},
        }}});
        let answer = accept(json!({"a": {}}));
        check(nested, answer.clone(), Ok(answer));
    }

    #[test]
    fn addresses_have_no_content() {
        let url = || json!({"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": "https://a"}});
        let accept = json!({"action": "accept"});
        check(url(), accept.clone(), Ok(accept));
        let content = json!({"action": "accept", "content": {"a": 1}});
        check(url(), content, Err("content"));
    }

    #[test]
    fn models_use_what_they_were_offered() {
        let asked = |tools: Value| json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1, "tools": tools}});
        let tool = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
        let uses = json!({"role": "assistant", "model": "m", "content": {"type": "tool_use", "id": "1", "name": "t", "input": {}}});
        check(asked(tool.clone()), uses.clone(), Ok(uses.clone()));
        check(asked(json!([])), uses.clone(), Err("\"t\""));
        let twice = json!([uses["content"], uses["content"]]);
        let repeated = json!({"role": "assistant", "model": "m", "content": twice});
        check(asked(tool.clone()), repeated, Err("two tool uses"));
        let mut user = uses;
        user["role"] = json!("user");
        check(asked(tool), user, Err("wrong role"));
        check(asked(json!([])), json!({"role": "assistant"}), Err(""));
    }

    #[test]
    fn roots_are_roots() {
        let roots = json!({"roots": [{"uri": "file:///a"}]});
        check(json!({"method": "roots/list"}), roots.clone(), Ok(roots));
        check(
            json!({"method": "roots/list"}),
            json!({"roots": 1}),
            Err(""),
        );
    }

    #[test]
    fn the_error_names_the_key() {
        let error = InvalidInputResponse::new("why").into_error("name");
        assert_eq!(error.code, -32602);
        assert_eq!(
            error.message,
            "the response to \"name\" cannot be used: why"
        );
    }
}
