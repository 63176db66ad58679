//! The headers a client sends so that intermediaries need not read the body: `Mcp-Method` and `Mcp-Name`.
//!
//! Spec 2026-07-28, basic/transports/streamable-http, "Standard Headers". `Mcp-Param-*` are in
//! [`crate::param_headers`], because they need the schema of the tool.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_types::RawJson;

use crate::header_value;
use crate::methods::{self, NameSource};

/// The tool a request calls, for whoever mirrors its arguments.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a name and arguments, as in the request"
)]
pub struct CalledTool {
    /// The tool's name.
    pub name: String,
    /// The arguments as they were given.
    pub arguments: Option<RawJson>,
}

/// The routing headers of a request, names and encoded values, and the tool when it calls one.
#[must_use]
pub fn routing_headers(
    method: &str,
    params: &RawValue,
) -> (Vec<(String, String)>, Option<CalledTool>) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named<'a> {
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        uri: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        task_id: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        arguments: Option<&'a RawValue>,
    }

    let mut headers = vec![(header_value::METHOD.to_owned(), method.to_owned())];
    let source = methods::find(method).map_or(NameSource::None, |row| row.name_source);
    if source == NameSource::None {
        return (headers, None);
    }
    let Ok(named) = serde_json::from_str::<Named<'_>>(params.get()) else {
        return (headers, None);
    };
    let name = match source {
        NameSource::Name => named.name,
        NameSource::Uri => named.uri,
        NameSource::TaskId => named.task_id,
        NameSource::None => None,
    };
    let Some(name) = name else {
        return (headers, None);
    };
    let encoded = header_value::encode(&name).into_owned();
    headers.push((header_value::NAME.to_owned(), encoded));
    let called = (method == "tools/call").then(|| CalledTool {
        name: name.into_owned(),
        arguments: named.arguments.map(RawJson::from),
    });
    (headers, called)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_name_their_method_and_what_they_are_about() {
        let check = |method: &str, params: serde_json::Value, expected: &[(&str, &str)]| {
            let params = RawJson::from(params);
            let (headers, _) = routing_headers(method, params.as_raw_value());
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
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
        check("acme/x", json!({"name": "n"}), &[("Mcp-Method", "acme/x")]);
        check(
            "tools/call",
            json!({"name": 1}),
            &[("Mcp-Method", "tools/call")],
        );
    }

    #[test]
    fn the_called_tool_is_told_with_its_arguments() {
        let params = RawJson::from(json!({"name": "add", "arguments": {"a": 1}}));
        let (_, called) = routing_headers("tools/call", params.as_raw_value());
        assert_eq!(
            called,
            Some(CalledTool {
                name: "add".to_owned(),
                arguments: Some(json!({"a": 1}).into()),
            })
        );
        let params = RawJson::from(json!({"name": "add"}));
        assert_eq!(
            routing_headers("prompts/get", params.as_raw_value()).1,
            None
        );
    }
}
