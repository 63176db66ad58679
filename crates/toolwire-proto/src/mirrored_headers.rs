//! The headers that let intermediaries route a request without parsing its body: `Mcp-Method` and `Mcp-Name`.
//!
//! Spec 2026-07-28, basic/transports/streamable-http, "Standard Headers". `Mcp-Param-*` are in
//! [`crate::param_headers`], because they need the schema of the tool.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::header_value;
use crate::methods::{self, NameSource};

/// An outgoing header: its name and its encoded value.
pub type MirroredHeader = (Cow<'static, str>, Cow<'static, str>);

/// The tool that a request calls, for mirroring its arguments.
#[derive(Debug, Clone)]
pub struct CalledTool<'a> {
    name: Cow<'a, str>,
    params: &'a RawValue,
}

impl<'a> CalledTool<'a> {
    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the raw arguments.
    #[must_use]
    pub fn arguments(&self) -> Option<&'a RawValue> {
        #[derive(Deserialize)]
        struct Called<'a> {
            #[serde(borrow, default)]
            arguments: Option<&'a RawValue>,
        }

        let called: Called<'a> = serde_json::from_str(self.params.get()).ok()?;
        called.arguments
    }
}

/// Returns the routing headers of a request, and the tool if the request calls one. `_meta` is ignored.
#[must_use]
pub fn routing_headers<'a>(
    method: &str,
    params: Option<&'a RawValue>,
) -> (Vec<MirroredHeader>, Option<CalledTool<'a>>) {
    let mut headers = Vec::with_capacity(2);
    let row = methods::find(method);
    // Known method names need no copy.
    let named = row.map_or_else(|| method.to_owned().into(), |row| Cow::Borrowed(row.name));
    headers.push((header_value::METHOD.into(), named));
    let source = row.map_or(NameSource::None, |row| row.name_source);
    let Some(params) = params.filter(|_| source != NameSource::None) else {
        return (headers, None);
    };
    let Some(name) = name_in(params.get(), source) else {
        return (headers, None);
    };
    let encoded = header_value::encode(&name).into_owned();
    headers.push((header_value::NAME.into(), encoded.into()));
    let called = (method == "tools/call").then_some(CalledTool { name, params });
    (headers, called)
}

/// Returns the name in the parameters, from the member that `source` names.
fn name_in(params: &str, source: NameSource) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named<'a> {
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        uri: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        task_id: Option<Cow<'a, str>>,
    }

    let first = match source {
        NameSource::Name => "{\"name\":\"",
        NameSource::Uri => "{\"uri\":\"",
        NameSource::TaskId => "{\"taskId\":\"",
        NameSource::None => return None,
    };
    // Typed calls write this member first. The remaining parameters then need no parsing.
    if let Some(rest) = params.strip_prefix(first)
        && let Some((name, _)) = rest.split_once('"')
        && !name.contains('\\')
    {
        return Some(Cow::Borrowed(name));
    }
    let named: Named<'_> = serde_json::from_str(params).ok()?;
    match source {
        NameSource::Name => named.name,
        NameSource::Uri => named.uri,
        NameSource::TaskId => named.task_id,
        NameSource::None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::RawJson;

    use super::*;

    #[test]
    fn headers_repeat_the_method_and_the_name() {
        let check = |method: &str, params: serde_json::Value, expected: &[(&str, &str)]| {
            let params = RawJson::from(params);
            let (headers, _) = routing_headers(method, Some(params.as_raw_value()));
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_ref(), value.as_ref()))
                .collect();
            assert_eq!(headers, expected);
        };
        check("tools/list", json!({}), &[("Mcp-Method", "tools/list")]);
        check(
            "tools/call",
            json!({"name": "add", "arguments": {}}),
            &[("Mcp-Method", "tools/call"), ("Mcp-Name", "add")],
        );
        check(
            "resources/read",
            json!({"uri": "file:///a"}),
            &[("Mcp-Method", "resources/read"), ("Mcp-Name", "file:///a")],
        );
        check(
            "prompts/get",
            json!({"name": "é"}),
            &[
                ("Mcp-Method", "prompts/get"),
                ("Mcp-Name", "=?base64?w6k=?="),
            ],
        );
        check(
            "prompts/get",
            json!({"arguments": {"name": "x"}, "name": "n"}),
            &[("Mcp-Method", "prompts/get"), ("Mcp-Name", "n")],
        );
        check(
            "prompts/get",
            json!({"name": "a\"b"}),
            &[("Mcp-Method", "prompts/get"), ("Mcp-Name", "a\"b")],
        );
        check("acme/x", json!({"name": "n"}), &[("Mcp-Method", "acme/x")]);
        check(
            "tools/call",
            json!({"name": 1}),
            &[("Mcp-Method", "tools/call")],
        );
    }

    #[test]
    fn called_tool_is_returned_with_its_arguments() {
        let params = RawJson::from(json!({"name": "add", "arguments": {"a": 1}}));
        let (_, called) = routing_headers("tools/call", Some(params.as_raw_value()));
        let called = called.expect("it calls a tool");
        assert_eq!(called.name(), "add");
        assert_eq!(called.arguments().expect("arguments").get(), r#"{"a":1}"#);
        let params = RawJson::from(json!({"name": "add"}));
        let (_, called) = routing_headers("prompts/get", Some(params.as_raw_value()));
        assert!(called.is_none());
        assert!(routing_headers("tools/call", None).1.is_none());
    }
}
