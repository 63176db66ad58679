//! The check of arguments and results against JSON Schemas.
//!
//! Serde already rejects values that a typed handler cannot decode. The schema adds constraints that serde does not
//! check (`maximum`, `pattern`, …). A typed tool without such constraints is decoded directly, without a validator.
//! Nothing is fetched from the network.
//!
//! Schemas and values may be untrusted, so `toolwire_proto::schema_budget` limits the work of compiling and of each
//! check. Patterns are matched by an engine without backtracking.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_proto::schema_budget::{SchemaBudget, SchemaLimits};

use crate::engine::schema_check::{required_members, violations};
use crate::engine::schema_pool::{QUICK_BYTES, QuickCheck};

/// The maximum steps of a check that runs inline: a few milliseconds. Longer checks run on the blocking pool.
const QUICK_STEPS: u64 = 20_000;

/// The maximum steps of a check that lists violations. Each violation takes memory, so a longer check returns only the
/// verdict.
const LISTED_STEPS: u64 = 100_000;

/// The maximum number of violations in an error.
const LISTED: usize = 5;

/// The maximum bytes of one compiled pattern, and of its cache.
const PATTERN_BYTES: usize = 1024 * 1024;

/// A compiled schema.
pub(crate) struct SchemaCheck {
    validator: Validator,
    budget: SchemaBudget,
    max_steps: u64,
    required: Vec<String>,
}

impl SchemaCheck {
    /// Compiles a schema. Nothing is fetched from the network.
    ///
    /// # Errors
    /// Returns an error if the schema is invalid or exceeds a limit. The text names the problem.
    pub(crate) fn new(schema: &Value, limits: &SchemaLimits) -> Result<Self, String> {
        let budget = SchemaBudget::new(schema, limits).map_err(|error| error.to_string())?;
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| error.to_string())?;
        let required = schema.as_object().map(required_members).unwrap_or_default();
        Ok(Self {
            validator,
            budget,
            max_steps: limits.steps,
            required,
        })
    }

    /// Checks arguments, unless that takes long. An optional member that is `null` counts as absent.
    pub(crate) fn check_arguments_quickly(&self, arguments: &RawValue) -> QuickCheck {
        if arguments.get().len() > QUICK_BYTES {
            return QuickCheck::Large;
        }
        match self.read_arguments(arguments) {
            Ok(value) => self.check_quickly(&value, "arguments"),
            Err(error) => QuickCheck::Done(Err(error)),
        }
    }

    /// Checks arguments, however long it takes.
    ///
    /// # Errors
    /// Returns an error if the arguments violate the schema: one line per violation (at most five), each with the path.
    pub(crate) fn check_arguments(&self, arguments: &RawValue) -> Result<(), String> {
        let value = self.read_arguments(arguments)?;
        self.check(&value, "arguments")
    }

    fn read_arguments(&self, arguments: &RawValue) -> Result<Value, String> {
        let mut value: Value =
            serde_json::from_str(arguments.get()).map_err(|error| format!("arguments: {error}"))?;
        if let Some(object) = value.as_object_mut() {
            object.retain(|name, value| !value.is_null() || self.required.contains(name));
        }
        Ok(value)
    }

    /// Checks any value, unless that takes long. `root` names the value in the error.
    pub(crate) fn check_quickly(&self, value: &Value, root: &str) -> QuickCheck {
        let limit = self.max_steps.min(QUICK_STEPS);
        match self.budget.steps(value, limit) {
            Ok(steps) => QuickCheck::Done(self.validate(value, root, steps)),
            Err(_) => QuickCheck::Large,
        }
    }

    /// Checks any value, however long it takes. `root` names the value in the error.
    ///
    /// # Errors
    /// Returns an error if the value violates the schema, with one line per violation (at most five), each with the
    /// path. Also returns an error if the check exceeds a limit.
    pub(crate) fn check(&self, value: &Value, root: &str) -> Result<(), String> {
        let steps = self.steps(value).map_err(|problem| {
            format!("{root}: cannot be checked against the schema: {problem}")
        })?;
        self.validate(value, root, steps)
    }

    /// Counts the steps of a check.
    ///
    /// # Errors
    /// Returns an error if the check exceeds a limit.
    pub(crate) fn steps(&self, value: &Value) -> Result<u64, String> {
        let steps = self.budget.steps(value, self.max_steps);
        steps.map_err(|error| error.to_string())
    }

    /// Checks a value whose steps were counted. `root` names the value in the error.
    ///
    /// # Errors
    /// Returns an error if the value violates the schema: one line per violation (at most five), each with the path.
    pub(crate) fn validate(&self, value: &Value, root: &str, steps: u64) -> Result<(), String> {
        if self.validator.is_valid(value) {
            return Ok(());
        }
        if steps > LISTED_STEPS {
            return Err(format!(
                "{root}: does not match the schema; it is too large to list the violations"
            ));
        }
        let mut lines = Vec::new();
        for violation in self.validator.iter_errors(value).take(LISTED) {
            violations::describe(&violation, root, &mut lines);
        }
        lines.truncate(LISTED);
        Err(lines.join("\n"))
    }
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
    use crate::engine::schema_check::violations::SHOWN_CHARS;

    fn compile(schema: &Value) -> Result<SchemaCheck, String> {
        SchemaCheck::new(schema, &SchemaLimits::default())
    }

    fn counted() -> SchemaCheck {
        let schema = json!({
            "type": "object",
            "properties": {"count": {"type": "integer", "maximum": 10}, "note": {"type": "string"}},
            "required": ["count"],
        });
        compile(&schema).unwrap()
    }

    fn check(arguments: Value) -> Result<(), String> {
        let arguments = toolwire_types::RawJson::from(arguments);
        counted().check_arguments(arguments.as_raw_value())
    }

    #[test]
    fn errors_contain_the_path() {
        let error = |value: Value| check(value).unwrap_err();
        assert!(error(json!({"count": 11})).starts_with("arguments.count: "));
        assert!(error(json!({})).contains("count"));
    }

    #[test]
    fn optional_argument_that_is_null_counts_as_absent() {
        assert!(check(json!({"count": 10, "note": null})).is_ok());
        assert!(check(json!({"count": null})).is_err());
    }

    /// Spec 2025-11-25 and later, basic/index, "JSON Schema Usage".
    #[test]
    fn schema_uses_its_own_dialect_and_unknown_dialects_are_rejected() {
        let check = |dialect: &str, known: bool| {
            let schema = json!({"$schema": dialect, "type": "object"});
            assert_eq!(compile(&schema).is_ok(), known, "{dialect}");
        };
        check("https://json-schema.org/draft/2020-12/schema", true);
        check("http://json-schema.org/draft-07/schema#", true);
        check("https://example.test/dialect", false);
    }

    #[test]
    fn remote_references_are_rejected_when_compiling() {
        let schema = json!({"$ref": "https://example.test/schema.json"});
        assert!(compile(&schema).is_err());
    }

    /// Nests schemas, each as a member or item of the previous one.
    fn nested(keyword: &str, depth: usize) -> Value {
        (0..depth).fold(json!({"type": "string"}), |inner, _| match keyword {
            "allOf" | "anyOf" => json!({keyword: [inner]}),
            "properties" => json!({"properties": {"a": inner}}),
            "unevaluatedProperties" => json!({"anyOf": [true], keyword: inner}),
            _ => json!({keyword: inner}),
        })
    }

    #[test]
    fn deepest_schema_compiles_and_checks_on_a_small_stack() {
        let check = |keyword: &str, depth: usize, instance: Value| {
            let compiled = compile(&nested(keyword, depth)).unwrap();
            let _ = compiled.check(&instance, "value");
        };
        let deep = |name: bool, depth: usize| {
            (0..depth).fold(json!(1), |inner, _| {
                if name {
                    json!({"a": inner})
                } else {
                    json!([inner])
                }
            })
        };
        check("not", 63, json!(1));
        check("items", 63, deep(false, 120));
        check("additionalProperties", 63, deep(true, 120));
        check("allOf", 31, json!(1));
        check("anyOf", 31, json!(1));
        check("properties", 31, deep(true, 31));
        check("unevaluatedProperties", 12, deep(true, 12));
    }

    #[test]
    fn longest_chain_of_references_checks_on_a_small_stack() {
        let mut schema = json!({"$ref": "#/$defs/a0", "$defs": {"a254": {"type": "string"}}});
        for index in 0..254 {
            schema["$defs"][format!("a{index}")] =
                json!({"$ref": format!("#/$defs/a{}", index + 1)});
        }
        let error = compile(&schema).unwrap().check(&json!(1), "value");
        assert!(error.unwrap_err().contains("string"));

        let tree =
            json!({"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "string"}]});
        let deep = (0..80).fold(json!(1), |inner, _| json!([inner]));
        assert!(compile(&tree).unwrap().check(&deep, "value").is_err());
    }

    /// A validator may compile a resource once per path to it.
    #[test]
    fn resources_that_all_refer_to_each_other_compile() {
        let names: Vec<_> = (0..8).map(|index| format!("r{index}")).collect();
        let references: Vec<_> = names.iter().map(|name| json!({"$ref": name})).collect();
        let resources: serde_json::Map<_, _> = names
            .iter()
            .map(|name| {
                let schema = json!({"$id": name, "items": {"anyOf": references}});
                (name.clone(), schema)
            })
            .collect();
        let schema = json!({"$ref": "r0", "$defs": resources});
        assert_eq!(
            compile(&schema).unwrap().check(&json!([[1]]), "value"),
            Ok(())
        );
    }

    #[test]
    fn error_lists_at_most_five_violations() {
        let check = compile(&json!({"items": {"type": "integer"}})).unwrap();
        let listed = |count: usize| {
            let error = check.check(&json!(vec!["x"; count]), "value");
            error.unwrap_err().lines().count()
        };
        assert_eq!(listed(LISTED), LISTED);
        assert_eq!(listed(LISTED + 1), LISTED);
    }

    #[test]
    fn violation_does_not_contain_a_large_value() {
        let check = compile(&json!({"maxLength": 3})).unwrap();
        let error = check
            .check(&json!("x".repeat(10_000)), "value")
            .unwrap_err();
        assert!(error.starts_with("value: \"xxx"), "{error}");
        assert_eq!(error.chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn check_beyond_its_limit_fails_and_long_check_is_not_quick() {
        let mut limits = SchemaLimits::default();
        limits.steps = 50_000;
        let schema = json!({"type": "array", "items": {"type": "integer"}});
        let check = SchemaCheck::new(&schema, &limits).unwrap();
        let items = |count: usize| json!(vec![1; count]);
        let quick = check.check_quickly(&items(1_000), "value");
        assert_eq!(quick, QuickCheck::Done(Ok(())));
        let long = items(15_000);
        assert_eq!(check.check_quickly(&long, "value"), QuickCheck::Large);
        assert_eq!(check.check(&long, "value"), Ok(()));
        let error = check.check(&items(50_000), "value").unwrap_err();
        assert!(error.contains("more than 50000 steps"), "{error}");
    }

    #[test]
    fn patterns_match_without_backtracking() {
        let check = compile(&json!({"pattern": "^(a+)+$"})).unwrap();
        let text = "a".repeat(1_000);
        assert_eq!(check.check(&json!(text), "value"), Ok(()));
        assert!(check.check(&json!(text + "!"), "value").is_err());
        let error = compile(&json!({"pattern": "(?=a)b"})).unwrap_err();
        assert!(error.contains("lookaround"), "{error}");
        assert!(compile(&json!({"pattern": "("})).is_err());
    }

    #[cfg(all(feature = "testing", feature = "client"))]
    #[tokio::test]
    async fn large_arguments_are_checked_before_they_reach_the_handler() {
        use crate::{RequestContext, Server, ToolHandler};
        use toolwire_types::{RawJson, Tool};

        let schema = json!({
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "integer"}}},
        });
        let tool = Tool::new("sum", RawJson::from(schema));
        let sum = ToolHandler::raw(tool, |_: RequestContext, arguments: RawJson| async move {
            let items = arguments.to_value().unwrap()["items"].take();
            let items = items.as_array().into_iter().flatten();
            items.filter_map(Value::as_i64).sum::<i64>()
        });
        let client = crate::testing::client(&Server::new("s", "1").tool(sum)).await;
        let mut items = vec![json!(1); 50_000];
        let arguments = json!({"items": items});
        let result = client.call_tool("sum", arguments).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some("50000"));
        items.push(json!("one"));
        let arguments = json!({"items": items});
        let result = client.call_tool("sum", arguments).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        let text = result.content[0].as_text().unwrap();
        assert!(
            text.starts_with("invalid arguments for tool `sum`: "),
            "{text}"
        );
    }

    #[test]
    fn tool_whose_schema_exceeds_a_limit_is_rejected_at_registration() {
        use crate::{RequestContext, Server, ToolHandler};
        use toolwire_types::{RawJson, Tool};

        let wide: Vec<_> = (0..30_000).collect();
        let schema = json!({"type": "object", "properties": {"a": {"enum": wide}}});
        let tool = |descriptor: Tool| {
            ToolHandler::raw(descriptor, |_: RequestContext, _: RawJson| async { "" })
        };
        let server = Server::new("s", "1");
        let rejected = |handler: ToolHandler, parts: &[&str]| {
            let error = server.add_tool(handler).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{error}");
            }
        };
        let input = Tool::new("in", RawJson::from(schema.clone()));
        let limit = "more than 20000 values";
        rejected(tool(input), &["`in`", limit, "without_argument_check"]);
        let mut output = Tool::new("out", RawJson::from(json!({"type": "object"})));
        output.output_schema = Some(schema.into());
        rejected(tool(output), &["`out`", limit, "without_output_schema"]);
    }
}
