//! Decodes the arguments of a tool into the type of its handler.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_types::RawJson;

use crate::server::tool_error::ToolError;

/// Decodes the arguments of a tool.
pub(crate) fn decode<A: DeserializeOwned>(tool: &str, arguments: &RawValue) -> Result<A, ToolError> {
    serde_json::from_str(arguments.get()).or_else(|_| {
        // Some clients send `null` for absent arguments, which a serde default does not cover.
        let without_nulls = without_nulls(arguments);
        if let Some(decoded) = without_nulls.and_then(|text| text.parse().ok()) {
            return Ok(decoded);
        }
        // The path is tracked only after a failure, because tracking is slow.
        let mut deserializer = serde_json::Deserializer::from_str(arguments.get());
        serde_path_to_error::deserialize(&mut deserializer)
            .map_err(|error| decode_error(tool, error.path(), error.inner()))
    })
}

fn decode_error(
    tool: &str,
    path: &serde_path_to_error::Path,
    error: &serde_json::Error,
) -> ToolError {
    let path = match path.to_string() {
        root if root == "." => "arguments".to_owned(),
        path => format!("arguments.{path}"),
    };
    invalid_arguments(tool, &format!("{path}: {}", without_position(error)))
}

/// Returns the arguments that are not `null`, or `None` if no argument is `null`.
fn without_nulls(arguments: &RawValue) -> Option<RawJson> {
    let Ok(Value::Object(mut members)) = RawJson::from(arguments).to_value() else {
        return None;
    };
    let all = members.len();
    members.retain(|_, value| !value.is_null());
    (members.len() < all).then(|| Value::Object(members).into())
}

/// Returns the text of a serde_json error without line and column, because the caller never saw that text.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// Returns the error of a call whose arguments are invalid.
pub(crate) fn invalid_arguments(tool: &str, violations: &str) -> ToolError {
    ToolError::failed(format!("invalid arguments for tool `{tool}`: {violations}"))
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use serde_json::json;

    use super::*;

    fn check<A: DeserializeOwned + fmt::Debug>(arguments: Value, expected: &str) {
        let error = decode::<A>("buy", RawJson::from(arguments).as_raw_value()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("invalid arguments for tool `buy`: {expected}")
        );
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Search {
        query: String,
        #[serde(default)]
        limit: u32,
        tag: Option<String>,
    }

    #[test]
    fn argument_that_is_null_counts_as_absent() {
        let arguments = json!({"query": "q", "limit": null, "tag": null});
        let decoded: Search = decode("buy", RawJson::from(arguments).as_raw_value()).unwrap();
        let expected = Search {
            query: "q".to_owned(),
            limit: 0,
            tag: None,
        };
        assert_eq!(decoded, expected);
        check::<Search>(
            json!({"query": null}),
            "arguments.query: invalid type: null, expected a string",
        );
    }

    #[test]
    fn errors_contain_the_path_and_not_the_column() {
        type Counts = std::collections::BTreeMap<String, Vec<u32>>;
        check::<Counts>(
            json!({"tea": [1, null]}),
            "arguments.tea[1]: invalid type: null, expected u32",
        );
        check::<Counts>(
            json!({"tea": 3}),
            "arguments.tea: invalid type: integer `3`, expected a sequence",
        );
        check::<Counts>(
            json!([]),
            "arguments: invalid type: sequence, expected a map",
        );
    }
}
