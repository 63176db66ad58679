//! Decodes the arguments of a tool into the type of its handler.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::inspection::Rejected;
use toolwire_proto::schema_budget::SchemaLimits;
use toolwire_types::RawJson;

use crate::engine::schema_check::SchemaCheck;
use crate::engine::schema_pool::QuickCheck;
use crate::server::inspection;
use crate::server::schema;
use crate::server::tool_error::ToolError;

/// The decoder of the arguments of one tool.
pub(crate) struct ArgumentDecoder {
    tool: Box<str>,
    /// Generates the schema of the arguments.
    schema: fn() -> Value,
    /// The check of arguments with alternatives. Compiled after the first failure.
    check: OnceLock<Option<Box<SchemaCheck>>>,
}

impl ArgumentDecoder {
    /// Creates the decoder of a tool with arguments of type `A`.
    pub(crate) fn new<A: JsonSchema>(tool: &str) -> Self {
        Self {
            tool: tool.into(),
            schema: schema::arguments_schema::<A>,
            check: OnceLock::new(),
        }
    }

    /// Decodes arguments.
    pub(crate) fn decode<A: DeserializeOwned>(&self, arguments: &RawValue) -> Result<A, ToolError> {
        serde_json::from_str(arguments.get()).or_else(|_| {
            // Some clients send `null` for absent arguments, which a serde default does not cover.
            let without_nulls = without_nulls(arguments);
            if let Some(decoded) = without_nulls.and_then(|text| text.parse().ok()) {
                return Ok(decoded);
            }
            // The path is tracked only after a failure, because tracking is slow.
            let mut deserializer = serde_json::Deserializer::from_str(arguments.get());
            serde_path_to_error::deserialize(&mut deserializer)
                .map_err(|error| self.decode_error(arguments, error.path(), error.inner()))
        })
    }

    #[cold]
    fn decode_error(
        &self,
        arguments: &RawValue,
        path: &serde_path_to_error::Path,
        error: &serde_json::Error,
    ) -> ToolError {
        let violations = self.violations(arguments).unwrap_or_else(|| {
            let message = decode_message(error);
            match path.to_string() {
                root if root == "." => format!("arguments: {message}"),
                path => format!("arguments.{path}: {message}"),
            }
        });
        invalid_arguments(&self.tool, &violations)
    }

    /// Returns how arguments with alternatives violate the schema. Serde buffers a value with alternatives and then does
    /// not know the path of a problem inside it.
    fn violations(&self, arguments: &RawValue) -> Option<String> {
        let check = self.check.get_or_init(|| {
            let schema = (self.schema)();
            if !has_alternatives(&schema) {
                return None;
            }
            let check = SchemaCheck::new(&schema, &SchemaLimits::default());
            check.ok().map(Box::new)
        });
        match check.as_ref()?.check_arguments_quickly(arguments) {
            QuickCheck::Done(Err(violations)) => Some(violations),
            QuickCheck::Done(Ok(())) | QuickCheck::Large => None,
        }
    }
}

fn has_alternatives(schema: &Value) -> bool {
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(object)
                if object.contains_key("oneOf") || object.contains_key("anyOf") =>
            {
                return true;
            }
            Value::Object(object) => pending.extend(object.values()),
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    false
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

/// Returns the error of a call whose arguments are invalid.
pub(crate) fn invalid_arguments(tool: &str, violations: &str) -> ToolError {
    inspection::rejected(Rejected::Arguments, violations);
    ToolError::failed(format!("invalid arguments for tool `{tool}`: {violations}"))
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use serde_json::json;

    use super::*;

    fn decode<A: DeserializeOwned + JsonSchema>(arguments: Value) -> Result<A, ToolError> {
        let decoder = ArgumentDecoder::new::<A>("buy");
        decoder.decode(RawJson::from(arguments).as_raw_value())
    }

    fn check<A: DeserializeOwned + JsonSchema + fmt::Debug>(arguments: Value, expected: &str) {
        let error = decode::<A>(arguments).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("invalid arguments for tool `buy`: {expected}")
        );
    }

    #[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
    struct Search {
        query: String,
        #[serde(default)]
        limit: u32,
        tag: Option<String>,
    }

    #[test]
    fn argument_that_is_null_counts_as_absent() {
        let arguments = json!({"query": "q", "limit": null, "tag": null});
        let decoded: Search = decode(arguments).unwrap();
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
            "arguments.tea[1]: invalid type: null, expected an integer from 0 to 4294967295",
        );
        check::<Counts>(
            json!({"tea": 3}),
            "arguments.tea: invalid type: integer `3`, expected an array",
        );
        check::<Counts>(
            json!([]),
            "arguments: invalid type: array, expected an object",
        );
    }

    #[derive(Debug, serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only decoded")]
    struct Drawing {
        shapes: Vec<Shape>,
    }

    #[derive(Debug, serde::Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    #[expect(dead_code, reason = "only decoded")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }

    #[test]
    fn message_names_no_rust_types() {
        check::<Search>(
            json!({"query": "q", "limit": -1}),
            "arguments.limit: invalid value: integer `-1`, expected an integer from 0 to 4294967295",
        );
    }

    #[cfg(feature = "schema-validation")]
    #[test]
    fn problem_in_a_tagged_variant_has_its_path() {
        let circle = json!({"kind": "circle", "radius": 1});
        check::<Drawing>(
            json!({"shapes": [circle, {"kind": "square", "side": "x"}]}),
            "arguments.shapes[1].side: \"x\" is not of type \"number\"",
        );
        check::<Drawing>(
            json!({"shapes": [circle, {"kind": "square"}]}),
            "arguments.shapes[1]: \"side\" is a required property",
        );
        check::<Drawing>(
            json!({"shapes": [{"kind": "star"}]}),
            "arguments.shapes[0].kind: \"star\" is not one of \"circle\", \"square\"",
        );
    }
}
