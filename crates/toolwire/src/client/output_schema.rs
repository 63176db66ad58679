//! The check of structured content against the schema its tool announced.
//!
//! A schema is compiled when it is needed first, and once. Nothing is ever fetched from the network: a schema that refers
//! to another document cannot be used. A schema that cannot be used fails the call, because whoever asked for the check
//! must not take an unchecked result for a checked one.

use std::sync::OnceLock;

use toolwire_types::{CallToolResult, RawJson};

use crate::error::Error;
use crate::server::SchemaCheck;

/// The output schema of one tool.
#[derive(Debug)]
pub(crate) struct OutputSchema {
    schema: RawJson,
    compiled: OnceLock<Result<SchemaCheck, String>>,
}

impl OutputSchema {
    pub(crate) fn new(schema: RawJson) -> Self {
        Self {
            schema,
            compiled: OnceLock::new(),
        }
    }

    /// Whether it is this schema, written in the same way.
    pub(crate) fn is(&self, schema: &RawJson) -> bool {
        self.schema.get() == schema.get()
    }

    /// Checks a result that is no error of the tool.
    pub(crate) fn check(&self, tool: &str, result: &CallToolResult) -> Result<(), Error> {
        let Some(content) = &result.structured_content else {
            return Err(Error::protocol(format!(
                "{tool} announces an output schema and answered without structured content"
            )));
        };
        let compiled = self.compiled.get_or_init(|| {
            let schema = self.schema.to_value().map_err(|error| error.to_string())?;
            SchemaCheck::new(&schema)
        });
        let check = compiled.as_ref().map_err(|problem| {
            Error::protocol(format!(
                "{tool}: its output schema cannot be used, so its result is unchecked; correct the server or connect \
                 without `validating_output`: {problem}"
            ))
        })?;
        let content = content.to_value().map_err(|error| {
            Error::protocol(format!(
                "{tool}: its structured content is unreadable: {error}"
            ))
        })?;
        check
            .check(&content, "structuredContent")
            .map_err(|problem| {
                Error::protocol(format!(
                    "{tool}: its structured content does not fit its output schema: {problem}"
                ))
            })
    }

    /// Whether it was needed yet.
    #[cfg(test)]
    pub(crate) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(content: Value) -> CallToolResult {
        CallToolResult::default().with_structured_content(content)
    }

    #[track_caller]
    fn refusal(schema: Value, result: &CallToolResult) -> String {
        let error = OutputSchema::new(schema.into())
            .check("weather", result)
            .unwrap_err();
        assert!(error.is_protocol_violation());
        let shown = error.to_string();
        assert!(shown.starts_with("weather"), "{shown}");
        shown
    }

    #[test]
    fn content_is_held_against_the_schema() {
        let schema = || json!({"type": "object", "properties": {"celsius": {"type": "number"}}});
        let fits = result(json!({"celsius": 21.5}));
        OutputSchema::new(schema().into())
            .check("weather", &fits)
            .unwrap();
        let shown = refusal(schema(), &result(json!({"celsius": "warm"})));
        assert!(shown.contains("structuredContent.celsius"), "{shown}");
        let shown = refusal(schema(), &CallToolResult::text("21.5"));
        assert!(shown.contains("without structured content"), "{shown}");
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_an_error_with_a_remedy() {
        let shown = refusal(json!({"type": "temperature"}), &result(json!({})));
        assert!(shown.contains("validating_output"), "{shown}");
    }

    #[test]
    fn no_schema_is_ever_fetched() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let elsewhere = format!("http://{}/schema.json", listener.local_addr().unwrap());
        for schema in [
            json!({"$ref": elsewhere}),
            json!({"$schema": elsewhere, "type": "object"}),
            json!({"properties": {"a": {"$dynamicRef": elsewhere}}}),
            json!({"$ref": "file:///etc/hostname"}),
        ] {
            refusal(schema, &result(json!({"a": 1})));
        }
        let asked = listener.accept().unwrap_err();
        assert_eq!(asked.kind(), std::io::ErrorKind::WouldBlock);
    }
}
