//! Validates structured content against the output schema of its tool.
//!
//! A schema is compiled once, when it is first needed. Nothing is fetched from the network: a schema that refers to
//! another document cannot be used. A schema that cannot be used fails the call, because the caller would otherwise
//! take an unvalidated result for a validated one.
//!
//! The schema and the content come from the server, so their size and the work of a check are limited. Compiling, and
//! checks that take long, run on the blocking pool.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolwire_proto::schema_budget::SchemaLimits;
use toolwire_types::{CallToolResult, RawJson};

use crate::client::config::ClientLimits;
use crate::engine::schema_check::SchemaCheck;
use crate::engine::schema_pool::{QUICK_BYTES, QuickCheck, SchemaPool};
use crate::error::Error;

/// The name of the content in violations.
const ROOT: &str = "structuredContent";

/// The limits of a client for the schemas of its server.
#[derive(Debug)]
pub(crate) struct OutputChecks {
    limits: SchemaLimits,
    timeout: Duration,
    pool: SchemaPool,
}

impl OutputChecks {
    pub(crate) fn new(limits: &ClientLimits) -> Self {
        Self {
            limits: limits.schemas.clone(),
            timeout: limits.schema_timeout,
            pool: SchemaPool::default(),
        }
    }
}

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

    /// Returns `true` if the text of the schema is the same.
    pub(crate) fn is_same(&self, schema: &RawJson) -> bool {
        self.schema.get() == schema.get()
    }

    /// Validates a result. Results with `is_error` are not passed to this function.
    ///
    /// # Errors
    /// Returns an error if the result does not match the schema, or if the schema or the check exceeds a limit.
    pub(crate) async fn check(
        self: &Arc<Self>,
        checks: &OutputChecks,
        tool: &str,
        result: &CallToolResult,
    ) -> Result<(), Error> {
        let Some(content) = &result.structured_content else {
            return Err(Error::protocol(format!(
                "{tool} has an output schema, but its result has no structured content"
            )));
        };
        match self.check_quickly(content) {
            QuickCheck::Done(outcome) => outcome,
            QuickCheck::Large => {
                let schema = Arc::clone(self);
                let content = content.clone();
                let limits = checks.limits.clone();
                let check = move || schema.check_completely(&content, &limits);
                let running = checks.pool.run(checks.timeout, check).await;
                running.unwrap_or_else(|problem| {
                    Err(unusable(&format!(
                        "{problem}; raise `ClientLimits::schema_timeout`"
                    )))
                })
            }
        }
        .map_err(|problem| Error::protocol(format!("{tool}: {problem}")))
    }

    /// Checks small content against a schema that is compiled.
    fn check_quickly(&self, content: &RawJson) -> QuickCheck {
        let Some(compiled) = self.compiled.get() else {
            return QuickCheck::Large;
        };
        if content.get().len() > QUICK_BYTES {
            return QuickCheck::Large;
        }
        let check = match compiled {
            Ok(check) => check,
            Err(problem) => return QuickCheck::Done(Err(unusable(problem))),
        };
        match content.to_value() {
            Ok(value) => match check.check_quickly(&value, ROOT) {
                QuickCheck::Done(outcome) => QuickCheck::Done(outcome.map_err(mismatch)),
                QuickCheck::Large => QuickCheck::Large,
            },
            Err(error) => QuickCheck::Done(Err(unreadable(&error))),
        }
    }

    /// Checks any content, and compiles the schema if that has not happened yet.
    fn check_completely(&self, content: &RawJson, limits: &SchemaLimits) -> Result<(), String> {
        let compiled = self.compiled.get_or_init(|| {
            let schema = self.schema.to_value().map_err(|error| error.to_string())?;
            SchemaCheck::new(&schema, limits)
        });
        let check = compiled.as_ref().map_err(|problem| unusable(problem))?;
        let content = content.to_value().map_err(|error| unreadable(&error))?;
        let steps = check
            .steps(&content)
            .map_err(|problem| unusable(&problem))?;
        check.validate(&content, ROOT, steps).map_err(mismatch)
    }

    /// Returns `true` if the schema has been compiled.
    #[cfg(test)]
    pub(crate) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }
}

fn unusable(problem: &str) -> String {
    format!(
        "its output schema cannot be used, so its result is unchecked; correct the server, raise \
         `ClientLimits::schemas`, or connect without `with_output_validation`: {problem}"
    )
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("its structured content is unreadable: {error}")
}

fn mismatch(problem: String) -> String {
    format!("its structured content does not fit its output schema: {problem}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(content: Value) -> CallToolResult {
        CallToolResult::default().with_structured_content(content)
    }

    async fn check(schema: Value, result: &CallToolResult) -> Result<(), Error> {
        let limits = ClientLimits {
            // No test depends on the speed of the machine.
            schema_timeout: Duration::from_secs(600),
            ..ClientLimits::default()
        };
        let checks = OutputChecks::new(&limits);
        let schema = Arc::new(OutputSchema::new(schema.into()));
        let first = schema.check(&checks, "weather", result).await;
        // The second check finds a compiled schema.
        let second = schema.check(&checks, "weather", result).await;
        let shown =
            |outcome: &Result<(), Error>| outcome.as_ref().map_err(Error::to_string).cloned();
        assert_eq!(shown(&first), shown(&second));
        first
    }

    async fn violation(schema: Value, result: &CallToolResult) -> String {
        let error = check(schema, result).await.unwrap_err();
        assert!(error.is_protocol_violation());
        let shown = error.to_string();
        assert!(shown.starts_with("weather"), "{shown}");
        shown
    }

    #[tokio::test]
    async fn content_is_validated_against_the_schema() {
        let schema = || json!({"type": "object", "properties": {"celsius": {"type": "number"}}});
        let fits = result(json!({"celsius": 21.5}));
        check(schema(), &fits).await.unwrap();
        let shown = violation(schema(), &result(json!({"celsius": "warm"}))).await;
        assert!(shown.contains("structuredContent.celsius"), "{shown}");
        let shown = violation(schema(), &CallToolResult::text("21.5")).await;
        assert!(shown.contains("no structured content"), "{shown}");
    }

    #[tokio::test]
    async fn unusable_schema_returns_an_error_with_a_remedy() {
        let shown = violation(json!({"type": "temperature"}), &result(json!({}))).await;
        assert!(shown.contains("with_output_validation"), "{shown}");
    }

    #[tokio::test]
    async fn schemas_are_never_fetched() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let remote = format!("http://{}/schema.json", listener.local_addr().unwrap());
        for schema in [
            json!({"$ref": remote}),
            json!({"$schema": remote, "type": "object"}),
            json!({"properties": {"a": {"$dynamicRef": remote}}}),
            json!({"$ref": "file:///etc/hostname"}),
        ] {
            violation(schema, &result(json!({"a": 1}))).await;
        }
        let accepted = listener.accept().unwrap_err();
        assert_eq!(accepted.kind(), std::io::ErrorKind::WouldBlock);
    }
}
