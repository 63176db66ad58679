//! The check of any value against any schema, for programs that show the verdict.

use serde_json::Value;
use toolwire_proto::schema_budget::SchemaLimits;
use toolwire_types::RawJson;

use crate::engine::schema_check::SchemaCheck;
use crate::engine::schema_pool::{CHECK_TIMEOUT, SchemaPool};

/// The outcome of a check against a JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a value is valid, invalid, or not checked"
)]
pub enum SchemaVerdict {
    /// The value matches the schema.
    Valid,
    /// The value violates the schema: one text per violation (at most five), each with the path.
    Invalid(Vec<String>),
    /// The value was not checked, with the reason: the schema cannot be used, or the check exceeds a limit.
    Unchecked(String),
}

/// Checks values against JSON Schemas, as a server checks arguments and a client checks structured content.
///
/// Schemas and values may be untrusted: the work of a check is limited, and nothing is fetched from the network. Clones
/// share the limit of two checks at once.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use serde_json::json;
/// use toolwire::schema::{SchemaChecker, SchemaVerdict};
///
/// let schema = json!({"properties": {"count": {"maximum": 10}}});
/// let verdict = SchemaChecker::new().check(schema, json!({"count": 11}), "arguments").await;
/// let SchemaVerdict::Invalid(violations) = verdict else { panic!("{verdict:?}") };
/// assert!(violations[0].starts_with("arguments.count: "));
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct SchemaChecker {
    pool: SchemaPool,
}

impl SchemaChecker {
    /// Creates a checker with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a value. `root` names the value in the violations.
    pub async fn check(
        &self,
        schema: impl Into<RawJson>,
        value: impl Into<RawJson>,
        root: &str,
    ) -> SchemaVerdict {
        let (schema, value, root) = (schema.into(), value.into(), root.to_owned());
        let check = move || verdict(&schema, &value, &root);
        let running = self.pool.run(CHECK_TIMEOUT, check).await;
        running.unwrap_or_else(|problem| SchemaVerdict::Unchecked(problem.to_string()))
    }
}

fn verdict(schema: &RawJson, value: &RawJson, root: &str) -> SchemaVerdict {
    let read = |json: &RawJson| json.to_value().map_err(|error| error.to_string());
    let counted = || -> Result<(SchemaCheck, Value, u64), String> {
        let check = SchemaCheck::new(&read(schema)?, &SchemaLimits::default())?;
        let value = read(value)?;
        let steps = check.steps(&value)?;
        Ok((check, value, steps))
    };
    match counted() {
        Ok((check, value, steps)) => match check.validate(&value, root, steps) {
            Ok(()) => SchemaVerdict::Valid,
            Err(violations) => {
                SchemaVerdict::Invalid(violations.lines().map(str::to_owned).collect())
            }
        },
        Err(problem) => SchemaVerdict::Unchecked(problem),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn check(schema: Value, value: Value) -> SchemaVerdict {
        SchemaChecker::new().check(schema, value, "value").await
    }

    #[tokio::test]
    async fn verdict_is_that_of_the_whole_schema() {
        let schema = json!({
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"required": ["a"]},
            "patternProperties": {"^n": {"type": "number"}},
            "unevaluatedProperties": false,
            "properties": {"kind": {"pattern": "^[ab]$"}, "a": true},
        });
        let verdict = check(schema.clone(), json!({"kind": "b", "n1": 1})).await;
        assert_eq!(verdict, SchemaVerdict::Valid);
        for invalid in [
            json!({"kind": "a"}),
            json!({"kind": "c"}),
            json!({"kind": "b", "n1": "one"}),
            json!({"kind": "b", "other": 1}),
        ] {
            let verdict = check(schema.clone(), invalid.clone()).await;
            let SchemaVerdict::Invalid(violations) = verdict else {
                panic!("{invalid}: {verdict:?}");
            };
            assert!(violations[0].starts_with("value"), "{violations:?}");
        }
    }

    #[tokio::test]
    async fn unusable_schema_gives_no_verdict() {
        for (schema, reason) in [
            (json!({"$ref": "https://example.test/schema"}), "example"),
            (json!({"pattern": "("}), "("),
            (json!({"enum": (0..30_000).collect::<Vec<_>>()}), "20000"),
        ] {
            let verdict = check(schema, json!("x")).await;
            let SchemaVerdict::Unchecked(problem) = verdict else {
                panic!("{reason}: {verdict:?}");
            };
            assert!(problem.contains(reason), "{problem}");
        }
    }
}
