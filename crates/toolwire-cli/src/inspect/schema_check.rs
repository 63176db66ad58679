//! The check of a value against a JSON Schema, by the rules of a client of toolwire. The page has none of its own.

use serde::{Deserialize, Serialize};
use toolwire::RawJson;
use toolwire::schema::{SchemaChecker, SchemaVerdict};

use crate::inspect::calls::Calls;
use crate::inspect::inspector::InspectError;
use crate::inspect::settings::given;

/// What to check: a value, or the structured content of a call that has ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemaCheck {
    schema: RawJson,
    #[serde(default, deserialize_with = "given")]
    value: Option<RawJson>,
    call: Option<u64>,
    /// The name of the value in violations.
    name: Option<String>,
}

/// The outcome of a check.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub(super) enum CheckOutcome {
    Valid,
    Invalid { violations: Vec<String> },
    Unchecked { reason: String },
}

impl SchemaCheck {
    pub(super) async fn run(
        self,
        checker: &SchemaChecker,
        calls: &Calls,
    ) -> Result<CheckOutcome, InspectError> {
        let (value, name) = match (self.value, self.call) {
            (Some(value), None) => (value, "value"),
            (None, Some(id)) => (structured_content(calls, id)?, "structuredContent"),
            _ => return Err(invalid("give either `value` or `call`")),
        };
        let name = self.name.as_deref().unwrap_or(name);
        Ok(match checker.check(self.schema, value, name).await {
            SchemaVerdict::Valid => CheckOutcome::Valid,
            SchemaVerdict::Invalid(violations) => CheckOutcome::Invalid { violations },
            SchemaVerdict::Unchecked(reason) => CheckOutcome::Unchecked { reason },
        })
    }
}

fn structured_content(calls: &Calls, id: u64) -> Result<RawJson, InspectError> {
    #[derive(Deserialize)]
    struct ToolResult {
        #[serde(default, rename = "structuredContent", deserialize_with = "given")]
        content: Option<RawJson>,
    }
    let result = calls.get(id).and_then(|outcome| outcome.result);
    let result = result.and_then(|result| result.parse::<ToolResult>().ok());
    let content = result.and_then(|result| result.content);
    content.ok_or_else(|| {
        let message = "no call with this id has structured content; give the content as `value`";
        invalid(message)
    })
}

fn invalid(message: &str) -> InspectError {
    InspectError::Invalid(message.to_owned())
}
