//! The arguments of tools and prompts. Both accept any value that serializes to a JSON object, a list of names with
//! values, or nothing (`()` or `None`).

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_types::{GetPromptRequestParams, RawJson, json};

use crate::error::Error;

/// Writes the parameters of `tools/call`. Arguments that serialize to `null` are omitted.
pub(crate) fn tool_params(tool: &str, arguments: &impl Serialize) -> Result<RawJson, Error> {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"{\"name\":");
    json::write_text(&mut text, tool);
    let name_end = text.len();
    text.extend_from_slice(b",\"arguments\":");
    let arguments_start = text.len();
    json::write(&mut text, arguments).map_err(|error| serialize_error("the arguments", error))?;
    match &text[arguments_start..] {
        b"null" => text.truncate(name_end),
        [b'[', ..] => {
            let list = text.split_off(arguments_start);
            let object: IndexMap<String, &RawValue> = object_of_pairs(&list)?;
            json::write(&mut text, &object)
                .map_err(|error| serialize_error("the arguments", error))?;
        }
        _ => {}
    }
    text.push(b'}');
    // A copy of the exact length is cheaper than shrinking the buffer.
    let text = str::from_utf8(&text).expect("JSON is written in whole characters");
    Ok(json::checked_raw_box(text.to_owned()).into())
}

/// Returns the parameters of `prompts/get`. Arguments that are `null` are omitted.
///
/// # Errors
/// Returns an error if an argument is not text, because prompts have only text arguments.
pub(crate) fn prompt_params(prompt: String, arguments: &impl Serialize) -> Result<RawJson, Error> {
    let mut text = Vec::new();
    json::write(&mut text, arguments).map_err(|error| serialize_error("the arguments", error))?;
    let arguments: IndexMap<String, Value> = match text.first() {
        Some(b'[') => object_of_pairs(&text)?,
        _ => {
            let object: Option<_> = serde_json::from_slice(&text).map_err(|_| wrong_shape())?;
            object.unwrap_or_default()
        }
    };
    let mut params = GetPromptRequestParams::new(prompt);
    for (name, value) in arguments {
        match value {
            Value::String(value) => params = params.with_argument(name, value),
            Value::Null => {}
            _ => {
                return Err(Error::invalid_request(format!(
                    "the argument {name:?} of a prompt is not text; convert it to a string"
                )));
            }
        }
    }
    RawJson::from_serialize(&params).map_err(|error| serialize_error("the arguments", error))
}

/// Returns the object for a list of names with values, such as `[("name", "Ada")]`.
fn object_of_pairs<'a, V: Deserialize<'a>>(list: &'a [u8]) -> Result<IndexMap<String, V>, Error> {
    let pairs: Vec<(String, V)> = serde_json::from_slice(list).map_err(|_| wrong_shape())?;
    Ok(pairs.into_iter().collect())
}

fn wrong_shape() -> Error {
    Error::invalid_request(
        "the arguments are neither a JSON object nor a list of names with values; pass a struct, a map, or pairs",
    )
}

/// Returns the error of a value that cannot be serialized.
pub(crate) fn serialize_error(what: &str, error: serde_json::Error) -> Error {
    Error::invalid_request(format!("{what} cannot be serialized to JSON")).with_source(error)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    struct Greeting {
        name: &'static str,
        title: Option<&'static str>,
    }

    fn tool(arguments: impl Serialize) -> Value {
        let params = tool_params("greet", &arguments).unwrap();
        params.to_value().unwrap()
    }

    fn prompt(arguments: impl Serialize) -> Value {
        let params = prompt_params("greet".to_owned(), &arguments).unwrap();
        params.to_value().unwrap()
    }

    #[test]
    fn tools_and_prompts_accept_the_same_kinds_of_arguments() {
        let expected = json!({"name": "greet", "arguments": {"name": "Ada"}});
        for params in [
            tool(json!({"name": "Ada"})),
            tool([("name", "Ada")]),
            tool(vec![("name".to_owned(), "Ada".to_owned())]),
            tool(BTreeMap::from([("name", "Ada")])),
            prompt(json!({"name": "Ada"})),
            prompt([("name", "Ada")]),
            prompt(vec![("name".to_owned(), "Ada".to_owned())]),
            prompt(BTreeMap::from([("name", "Ada")])),
            prompt(Greeting {
                name: "Ada",
                title: None,
            }),
        ] {
            assert_eq!(params, expected);
        }
        let with_null = json!({"name": "Ada", "title": null});
        let greeting = Greeting {
            name: "Ada",
            title: None,
        };
        assert_eq!(tool(greeting)["arguments"], with_null);
    }

    #[test]
    fn arguments_may_be_missing() {
        assert_eq!(tool(()), json!({"name": "greet"}));
        assert_eq!(tool(None::<Greeting>), json!({"name": "greet"}));
        assert_eq!(prompt(()), json!({"name": "greet"}));
        assert_eq!(prompt(None::<Greeting>), json!({"name": "greet"}));
        let none: [(&str, &str); 0] = [];
        assert_eq!(tool(none)["arguments"], json!({}));
        assert_eq!(prompt(none), json!({"name": "greet"}));
    }

    #[test]
    fn other_values_are_rejected() {
        let tool_error = |arguments: Value| tool_params("greet", &arguments).unwrap_err();
        let prompt_error =
            |arguments: Value| prompt_params("greet".to_owned(), &arguments).unwrap_err();
        for arguments in [json!(["Ada"]), json!([["a", 1, 2]]), json!([[1, "a"]])] {
            assert!(tool_error(arguments.clone()).is_invalid_request());
            assert!(prompt_error(arguments).is_invalid_request());
        }
        assert!(prompt_error(json!("Ada")).is_invalid_request());
        let error = prompt_error(json!({"count": 3}));
        assert!(error.to_string().contains("\"count\""), "{error}");
    }
}
