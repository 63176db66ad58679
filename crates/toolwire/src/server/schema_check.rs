//! The check of arguments and results against JSON Schemas.
//!
//! Serde already refuses what a typed handler cannot take; the schema adds the constraints serde does not see
//! (`maximum`, `pattern`, …). A typed tool without such constraints is therefore decoded straight into its type, and a
//! validator is built only where it can say something new. Nothing is ever fetched from the network.

use std::fmt;

use jsonschema::Validator;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::server::schema::required_members;

/// A compiled schema.
pub(crate) struct SchemaCheck {
    validator: Validator,
    required: Vec<String>,
}

impl SchemaCheck {
    /// Compiles a schema; nothing is ever fetched from the network.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the schema.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
        let required = schema.as_object().map(required_members).unwrap_or_default();
        Ok(Self {
            validator,
            required,
        })
    }

    /// Checks arguments. An optional member that is `null` counts as left out.
    ///
    /// # Errors
    /// One line per violation (at most five), each naming the path.
    pub(crate) fn check_arguments(&self, arguments: &RawValue) -> Result<(), String> {
        let mut value: Value =
            serde_json::from_str(arguments.get()).map_err(|error| format!("arguments: {error}"))?;
        if let Some(object) = value.as_object_mut() {
            object.retain(|name, value| !value.is_null() || self.required.contains(name));
        }
        self.check(&value, "arguments")
    }

    /// Checks any value; `root` names it in the complaint.
    ///
    /// # Errors
    /// One line per violation (at most five), each naming the path.
    pub(crate) fn check(&self, value: &Value, root: &str) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let complaints: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(5)
            .map(|error| format!("{root}{}: {error}", dotted(error.instance_path().as_str())))
            .collect();
        Err(complaints.join("\n"))
    }
}

/// `/items/2/price` as `.items[2].price`.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        if !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{segment}]"));
        } else {
            path.push('.');
            path.push_str(&segment);
        }
    }
    path
}

impl fmt::Debug for SchemaCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaCheck")
            .field("required", &self.required)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counted() -> SchemaCheck {
        let schema = json!({
            "type": "object",
            "properties": {"count": {"type": "integer", "maximum": 10}, "note": {"type": "string"}},
            "required": ["count"],
        });
        SchemaCheck::new(&schema).unwrap()
    }

    fn check(arguments: Value) -> Result<(), String> {
        let arguments = toolwire_types::RawJson::from(arguments);
        counted().check_arguments(arguments.as_raw_value())
    }

    #[test]
    fn complaints_name_the_path() {
        let complaint = |value: Value| check(value).unwrap_err();
        assert!(complaint(json!({"count": 11})).starts_with("arguments.count: "));
        assert!(complaint(json!({})).contains("count"));
        assert_eq!(dotted("/items/2/price"), ".items[2].price");
    }

    #[test]
    fn an_optional_argument_that_is_null_was_left_out() {
        assert!(check(json!({"count": 10, "note": null})).is_ok());
        assert!(check(json!({"count": null})).is_err());
    }

    /// Spec 2025-11-25 and later, basic/index, "JSON Schema Usage".
    #[test]
    fn a_schema_is_read_in_its_own_dialect_and_an_unknown_one_is_refused() {
        let check = |dialect: &str, known: bool| {
            let schema = json!({"$schema": dialect, "type": "object"});
            assert_eq!(SchemaCheck::new(&schema).is_ok(), known, "{dialect}");
        };
        check("https://json-schema.org/draft/2020-12/schema", true);
        check("http://json-schema.org/draft-07/schema#", true);
        check("https://example.test/dialect", false);
    }

    #[test]
    fn remote_references_are_refused_when_compiling() {
        let schema = json!({"$ref": "https://example.test/schema.json"});
        assert!(SchemaCheck::new(&schema).is_err());
    }
}
