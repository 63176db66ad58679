//! When two requests are the same: method, name and arguments, in any order of members.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::replay::exchanges::method;

/// Methods whose parameters depend on the client. All requests of one are the same.
const WITHOUT_PARAMETERS: [&str; 3] = ["initialize", "server/discover", "ping"];

/// Returns a text that is the same for equal requests. `_meta` has what belongs to one connection, so it does not count.
pub(super) fn key(request: &Value) -> String {
    let method = method(request);
    let mut key = format!("{method} ");
    if !WITHOUT_PARAMETERS.contains(&method)
        && let Some(Value::Object(params)) = request.get("params")
    {
        write_object(&mut key, params, true);
    }
    key
}

/// Returns a short description of a request: its method and what it is about.
pub(super) fn description(request: &Value) -> String {
    let params = &request["params"];
    let subject = [
        &params["name"],
        &params["uri"],
        &params["ref"]["name"],
        &params["ref"]["uri"],
    ];
    let subject = subject.iter().find_map(|value| value.as_str());
    match subject {
        Some(subject) => format!("{} {subject}", method(request)),
        None => method(request).to_owned(),
    }
}

fn write_object(text: &mut String, object: &Map<String, Value>, is_params: bool) {
    let mut members: Vec<(&String, &Value)> = object.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    text.push('{');
    for (name, value) in members {
        if is_params && name == "_meta" {
            continue;
        }
        // A member without a value is the same as no member.
        if is_params && value.as_object().is_some_and(Map::is_empty) {
            continue;
        }
        let _ = write!(text, "{}:", Value::from(name.as_str()));
        write_value(text, value);
        text.push(',');
    }
    text.push('}');
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Object(object) => write_object(text, object, false),
        Value::Array(elements) => {
            text.push('[');
            for element in elements {
                write_value(text, element);
                text.push(',');
            }
            text.push(']');
        }
        scalar => {
            let _ = write!(text, "{scalar}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_requests_have_one_key() {
        let call = |params: Value| key(&json!({"id": 1, "method": "tools/call", "params": params}));
        let add = call(json!({"name": "add", "arguments": {"a": 1, "b": {"c": 1, "d": 2}}}));
        let same =
            json!({"arguments": {"b": {"d": 2, "c": 1}, "a": 1}, "name": "add", "_meta": {"x": 1}});
        assert_eq!(add, call(same));
        for other in [
            json!({"name": "add", "arguments": {"a": 1}}),
            json!({"name": "sub", "arguments": {"a": 1, "b": {"c": 1, "d": 2}}}),
            json!({"name": "add", "arguments": {"a": "1", "b": {"c": 1, "d": 2}}}),
        ] {
            assert_ne!(add, call(other));
        }
        assert_eq!(
            call(json!({"name": "a"})),
            call(json!({"name": "a", "arguments": {}}))
        );
        let initialize =
            |name: &str| key(&json!({"method": "initialize", "params": {"clientInfo": name}}));
        assert_eq!(initialize("a"), initialize("b"));
    }
}
