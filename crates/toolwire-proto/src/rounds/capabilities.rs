//! The client capabilities that a request requires, and those that the client did not declare.
//!
//! A nested capability implies the outer one. An empty `elicitation` means forms only. Settings of extensions and
//! experimental capabilities are not compared, only their presence.

use std::fmt;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use toolwire_types::{
    ClientCapabilities, ElicitRequestParams, ElicitationCapability, ErrorObject, InputRequest,
    RawJson, RootsCapability, SamplingCapability, TasksCapability, code,
};

/// A request that requires undeclared client capabilities.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MissingCapability {
    /// Exactly the missing capabilities. Boxed, because errors are moved by value.
    pub missing: Box<ClientCapabilities>,
}

impl MissingCapability {
    /// Creates the error for these missing capabilities.
    #[must_use]
    pub fn new(missing: ClientCapabilities) -> Self {
        Self {
            missing: Box::new(missing),
        }
    }
}

impl fmt::Display for MissingCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request requires client capabilities that were not declared")
    }
}

impl std::error::Error for MissingCapability {}

impl From<MissingCapability> for ErrorObject {
    fn from(error: MissingCapability) -> Self {
        Self::new(code::MISSING_REQUIRED_CLIENT_CAPABILITY, error.to_string())
            .with_data(json!({ "requiredCapabilities": error.missing }))
    }
}

/// Returns the capabilities that a client must have declared to receive all of these input requests.
pub fn required_capabilities<'a>(
    requests: impl IntoIterator<Item = &'a InputRequest>,
) -> ClientCapabilities {
    let mut required = ClientCapabilities::new();
    for request in requests {
        match request {
            InputRequest::Elicitation(params) => {
                let elicitation = required.elicitation.get_or_insert_default();
                match params {
                    ElicitRequestParams::Url(_) => elicitation.url = Some(Map::new()),
                    _ => elicitation.form = Some(Map::new()),
                }
            }
            InputRequest::Sampling(params) => {
                let sampling = required.sampling.get_or_insert_default();
                if params.tools.is_some() || params.tool_choice.is_some() {
                    sampling.tools = Some(Map::new());
                }
            }
            InputRequest::Roots(_) => {
                required.roots.get_or_insert_default();
            }
            // The capability of an unknown kind is unknown. `check_requests` rejects it.
            _ => {}
        }
    }
    required
}

/// Returns the part of `required` that is not in `declared`. Returns `None` if nothing is missing.
#[must_use]
pub fn missing_capabilities(
    required: &ClientCapabilities,
    declared: &ClientCapabilities,
) -> Option<ClientCapabilities> {
    let mut missing = ClientCapabilities::new();
    missing.roots = part(&required.roots, &declared.roots, missing_roots);
    missing.sampling = part(&required.sampling, &declared.sampling, missing_sampling);
    missing.elicitation = part(
        &required.elicitation,
        &declared.elicitation,
        missing_elicitation,
    );
    missing.tasks = part(&required.tasks, &declared.tasks, missing_tasks);
    missing.extensions = part(&required.extensions, &declared.extensions, missing_settings);
    missing.experimental = part(
        &required.experimental,
        &declared.experimental,
        missing_settings,
    );
    missing.extra = required
        .extra
        .iter()
        .filter(|(name, _)| {
            declared
                .extra
                .get(*name)
                .is_none_or(serde_json::Value::is_null)
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (missing != ClientCapabilities::new()).then_some(missing)
}

/// Returns the missing part of one capability: all of it if it is not declared, otherwise the result of `inside`.
fn part<T: Clone>(
    required: &Option<T>,
    declared: &Option<T>,
    inside: impl FnOnce(&T, &T) -> Option<T>,
) -> Option<T> {
    match (required, declared) {
        (None, _) => None,
        (Some(required), None) => Some(required.clone()),
        (Some(required), Some(declared)) => inside(required, declared),
    }
}

/// Compares a capability without parts, which is missing exactly if it is not declared.
fn whole(
    required: &Option<Map<String, Value>>,
    declared: &Option<Map<String, Value>>,
) -> Option<Map<String, Value>> {
    part(required, declared, |_, _| None)
}

fn missing_roots(
    required: &RootsCapability,
    declared: &RootsCapability,
) -> Option<RootsCapability> {
    let lacks = required.list_changed == Some(true) && declared.list_changed != Some(true);
    lacks.then(|| RootsCapability::new().with_list_changed())
}

fn missing_sampling(
    required: &SamplingCapability,
    declared: &SamplingCapability,
) -> Option<SamplingCapability> {
    let mut missing = SamplingCapability::new();
    missing.context = whole(&required.context, &declared.context);
    missing.tools = whole(&required.tools, &declared.tools);
    (missing != SamplingCapability::new()).then_some(missing)
}

fn missing_elicitation(
    required: &ElicitationCapability,
    declared: &ElicitationCapability,
) -> Option<ElicitationCapability> {
    let mut missing = ElicitationCapability::new();
    if required.supports_form() && !declared.supports_form() {
        missing.form = Some(required.form.clone().unwrap_or_default());
    }
    if required.supports_url() && !declared.supports_url() {
        missing.url = required.url.clone();
    }
    (missing != ElicitationCapability::new()).then_some(missing)
}

fn missing_tasks(
    required: &TasksCapability,
    declared: &TasksCapability,
) -> Option<TasksCapability> {
    let mut missing = TasksCapability::new();
    missing.list = whole(&required.list, &declared.list);
    missing.cancel = whole(&required.cancel, &declared.cancel);
    for (group, names) in required.requests.iter().flatten() {
        for name in names.keys() {
            let method = format!("{group}/{name}");
            if !declared.supports_request(&method) {
                missing = missing.with_request(&method);
            }
        }
    }
    (missing != TasksCapability::new()).then_some(missing)
}

fn missing_settings(
    required: &IndexMap<String, RawJson>,
    declared: &IndexMap<String, RawJson>,
) -> Option<IndexMap<String, RawJson>> {
    let missing: IndexMap<_, _> = required
        .iter()
        .filter(|(name, _)| declared.get(*name).is_none_or(RawJson::is_null))
        .map(|(name, settings)| (name.clone(), settings.clone()))
        .collect();
    (!missing.is_empty()).then_some(missing)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn capabilities(value: Value) -> ClientCapabilities {
        serde_json::from_value(value).expect("capabilities")
    }

    #[test]
    fn exactly_the_missing_capabilities_are_reported() {
        let check = |required: Value, declared: Value, expected: Value| {
            let missing = missing_capabilities(&capabilities(required), &capabilities(declared));
            assert_eq!(serde_json::to_value(missing).expect("plain data"), expected);
        };
        const NONE: Value = Value::Null;
        check(json!({}), json!({}), NONE);
        check(json!({}), json!({"roots": {}}), NONE);
        check(json!({"roots": {}}), json!({}), json!({"roots": {}}));
        check(json!({"roots": {}}), json!({"roots": {}}), NONE);
        check(
            json!({"roots": {"listChanged": true}}),
            json!({"roots": {"listChanged": false}}),
            json!({"roots": {"listChanged": true}}),
        );
        check(
            json!({"sampling": {"tools": {}}}),
            json!({}),
            json!({"sampling": {"tools": {}}}),
        );
        check(
            json!({"sampling": {"tools": {}, "context": {}}}),
            json!({"sampling": {"context": {}}}),
            json!({"sampling": {"tools": {}}}),
        );
        check(
            json!({"sampling": {}}),
            json!({"sampling": {"tools": {}}}),
            NONE,
        );
        check(
            json!({"elicitation": {}}),
            json!({}),
            json!({"elicitation": {}}),
        );
        check(
            json!({"elicitation": {}}),
            json!({"elicitation": {"form": {}}}),
            NONE,
        );
        check(
            json!({"elicitation": {"form": {}}}),
            json!({"elicitation": {}}),
            NONE,
        );
        check(
            json!({"elicitation": {}}),
            json!({"elicitation": {"url": {}}}),
            json!({"elicitation": {"form": {}}}),
        );
        check(
            json!({"elicitation": {"url": {}}}),
            json!({"elicitation": {}}),
            json!({"elicitation": {"url": {}}}),
        );
        check(
            json!({"elicitation": {"form": {}, "url": {}}}),
            json!({"elicitation": {"form": {}, "url": {}}}),
            NONE,
        );
        check(
            json!({"tasks": {"list": {}, "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}}}),
            json!({"tasks": {"list": {}, "requests": {"elicitation": {"create": {}}}}}),
            json!({"tasks": {"requests": {"sampling": {"createMessage": {}}}}}),
        );
        check(
            json!({"extensions": {"a/b": {"x": 1}, "c/d": {}}, "experimental": {"e": {}}}),
            json!({"extensions": {"c/d": {"y": 2}, "a/b": null}}),
            json!({"extensions": {"a/b": {"x": 1}}, "experimental": {"e": {}}}),
        );
        check(
            json!({"later": {}, "known": {}}),
            json!({"known": {"more": 1}}),
            json!({"later": {}}),
        );
    }

    #[test]
    fn each_kind_of_input_request_requires_its_capability() {
        let check = |requests: Value, expected: Value| {
            let requests: Vec<InputRequest> = serde_json::from_value(requests).expect("requests");
            assert_eq!(
                serde_json::to_value(required_capabilities(&requests)).expect("plain data"),
                expected
            );
        };
        let form = json!({
            "method": "elicitation/create",
            "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
        });
        let url = json!({
            "method": "elicitation/create",
            "params": {"mode": "url", "message": "?", "url": "https://x.test"},
        });
        let sampling = json!({
            "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1},
        });
        let with_tools = json!({
            "method": "sampling/createMessage",
            "params": {"messages": [], "maxTokens": 1, "toolChoice": {"mode": "auto"}},
        });
        check(json!([]), json!({}));
        check(json!([form]), json!({"elicitation": {"form": {}}}));
        check(json!([url]), json!({"elicitation": {"url": {}}}));
        check(
            json!([form, url]),
            json!({"elicitation": {"form": {}, "url": {}}}),
        );
        check(json!([sampling]), json!({"sampling": {}}));
        check(
            json!([sampling, with_tools]),
            json!({"sampling": {"tools": {}}}),
        );
        check(json!([{"method": "roots/list"}]), json!({"roots": {}}));
        check(json!([{"method": "other/kind"}]), json!({}));
    }

    #[test]
    fn error_lists_the_missing_capabilities_as_an_object() {
        let missing = capabilities(json!({"sampling": {"tools": {}}}));
        let error = ErrorObject::from(MissingCapability::new(missing));
        assert_eq!(error.code, -32021);
        assert_eq!(
            error.data,
            Some(json!({"requiredCapabilities": {"sampling": {"tools": {}}}}).into())
        );
    }
}
