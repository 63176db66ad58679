//! The request as `curl` commands.

use indexmap::IndexMap;
use serde_json::json;
use toolwire::RawJson;
use toolwire::types::meta_key;
use toolwire_proto::header_value::{PROTOCOL_VERSION, SESSION_ID};
use toolwire_proto::mirrored_headers::routing_headers;
use toolwire_proto::param_headers;

use crate::snippets::json_text::{compact, object};
use crate::snippets::shell::{LOST_LINE_BREAK, line, word};
use crate::snippets::{Address, Exchange, SnippetServer};

/// What is shown instead of a request with an argument that its header cannot contain.
const NO_HEADER: &str = "# A server rejects this call, because the header of an argument is text, true, false or an integer up to 2^53.";

/// Returns the request. For a legacy server, it follows the two that open a session.
pub(super) fn command(exchange: &Exchange, server: &SnippetServer) -> String {
    let url = match &server.address {
        Address::Url(url) => url,
        Address::Command { program, arguments } => {
            let words = [program].into_iter().chain(arguments);
            let Some(command) = line(words.map(String::as_str)) else {
                return LOST_LINE_BREAK.to_owned();
            };
            return format!(
                "# The server has no address. Give it one first:\ntoolwire proxy --listen 127.0.0.1:8080 -- {command}"
            );
        }
    };
    let commands = if server.is_modern {
        let Some(headers) = modern_headers(exchange, server) else {
            return NO_HEADER.to_owned();
        };
        request(url, &headers, &modern_body(exchange, server))
    } else {
        in_session(url, exchange, server)
    };
    commands.unwrap_or_else(|| LOST_LINE_BREAK.to_owned())
}

/// Returns the headers of a request without a session, as `Name: value`.
fn modern_headers(exchange: &Exchange, server: &SnippetServer) -> Option<Vec<String>> {
    let params = exchange.params();
    let (routing, _) = routing_headers(exchange.method(), Some(params.as_raw_value()));
    let annotations = exchange.schema.as_ref().map(param_headers::collect);
    let mirrored =
        param_headers::mirror(&annotations.unwrap_or_default(), &exchange.arguments).ok()?;
    let mut headers = vec![format!("{PROTOCOL_VERSION}: {}", server.version)];
    headers.extend(
        routing
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    headers.extend(
        mirrored
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    Some(headers)
}

fn modern_body(exchange: &Exchange, server: &SnippetServer) -> RawJson {
    let meta = json!({
        (meta_key::PROTOCOL_VERSION): server.version,
        (meta_key::CLIENT_INFO): {"name": "curl", "version": "1"},
        (meta_key::CLIENT_CAPABILITIES): {},
    });
    let members = exchange.params().parse::<IndexMap<String, RawJson>>();
    let members = members.unwrap_or_default();
    let members = members
        .iter()
        .map(|(name, member)| (name.as_str(), member.clone()));
    let params = object(members.chain([("_meta", meta.into())]));
    message(Some(1), exchange.method(), Some(params))
}

/// Returns the requests that open a session, and the request in it.
fn in_session(url: &str, exchange: &Exchange, server: &SnippetServer) -> Option<String> {
    let params = json!({
        "protocolVersion": server.version,
        "capabilities": {},
        "clientInfo": {"name": "curl", "version": "1"},
    });
    let initialize = message(Some(0), "initialize", Some(params.into()));
    let initialize = request(url, &[], &initialize)?;
    let session_line = SESSION_ID.to_ascii_lowercase();
    let headers = [
        session_header(),
        format!("{PROTOCOL_VERSION}: {}", server.version),
    ];
    let initialized = message(None, "notifications/initialized", None);
    let called = message(Some(1), exchange.method(), Some(exchange.params()));
    let session = format!(
        "SESSION=$({initialize} -D - -o /dev/null | tr -d '\\r' | sed -n 's/^{session_line}: //Ip')"
    );
    let initialized = request(url, &headers, &initialized)?;
    let called = request(url, &headers, &called)?;
    Some([session, initialized, called].join("\n"))
}

/// Returns the header of a session, whose id is in a variable of the shell.
fn session_header() -> String {
    format!("{SESSION_ID}: $SESSION")
}

fn message(id: Option<u64>, method: &str, params: Option<RawJson>) -> RawJson {
    let id = id.map(|id| ("id", RawJson::from(json!(id))));
    let params = params.map(|params| ("params", params));
    let version = [("jsonrpc", RawJson::from(json!("2.0")))];
    let method = [("method", RawJson::from(json!(method)))];
    object(version.into_iter().chain(id).chain(method).chain(params))
}

/// Returns the command of one request, or `None` if a shell would change a word of it.
fn request(url: &str, headers: &[String], body: &RawJson) -> Option<String> {
    let common = [
        "Content-Type: application/json".to_owned(),
        "Accept: application/json, text/event-stream".to_owned(),
    ];
    let mut lines = vec![format!("curl -sS {}", word(url)?)];
    for header in common.iter().chain(headers) {
        // Only the session is a variable of the shell. Names come from the server.
        lines.push(if *header == session_header() {
            format!("-H \"{header}\"")
        } else {
            format!("-H {}", word(header)?)
        });
    }
    lines.push(format!("-d {}", word(&compact(body))?));
    Some(lines.join(" \\\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippets::samples::{HOSTILE, assert_visible, call, of_command, of_url};

    fn legacy() -> SnippetServer {
        SnippetServer {
            is_modern: false,
            version: toolwire::ProtocolVersion::V2025_11_25,
            ..of_url()
        }
    }

    fn argument_headers(values: serde_json::Value, server: &SnippetServer) -> Vec<String> {
        let header = |name: &str, kind: &str| json!({"type": kind, "x-mcp-header": name});
        let inner = json!({"type": "object", "properties": {"flag": header("Flag", "boolean")}});
        let schema = json!({"type": "object", "properties": {
            "region": header("Region", "string"), "count": header("Count", "integer"), "inner": inner,
        }});
        let exchange = Exchange {
            schema: Some(schema.into()),
            ..call("route", values)
        };
        let text = command(&exchange, server);
        let headers = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("-H "));
        let headers = headers.filter(|header| header.contains("Mcp-Param-"));
        let headers = headers.map(|header| header.trim_end_matches(" \\").to_owned());
        if text.starts_with('#') {
            vec![text]
        } else {
            headers.collect()
        }
    }

    #[test]
    fn annotated_arguments_are_also_headers() {
        let values = json!({"region": "eu", "count": 3, "inner": {"flag": false}});
        let expected = [
            "'Mcp-Param-Region: eu'",
            "'Mcp-Param-Count: 3'",
            "'Mcp-Param-Flag: false'",
        ];
        assert_eq!(argument_headers(values.clone(), &of_url()), expected);
        let encoded = argument_headers(json!({"region": "é", "count": null}), &of_url());
        assert_eq!(encoded, ["'Mcp-Param-Region: =?base64?w6k=?='"]);
        assert!(argument_headers(values, &legacy()).is_empty());
        for rejected in [
            json!({"count": 1.5}),
            json!({"region": ["eu"]}),
            json!({"count": 1_u64 << 53}),
        ] {
            assert_eq!(argument_headers(rejected, &of_url()), [NO_HEADER]);
        }
    }

    #[test]
    fn legacy_request_follows_a_handshake() {
        let text = command(&call("echo", json!({"text": "a"})), &legacy());
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[0].starts_with("SESSION=$(curl -sS http://127.0.0.1:1/mcp"),
            "{text}"
        );
        let in_session = text.matches("-H \"Mcp-Session-Id: $SESSION\"").count();
        assert_eq!(in_session, 2, "{text}");
        assert!(text.contains(
            r#""method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}}'"#
        ));
    }

    #[test]
    fn hostile_texts_stay_words() {
        let hostile = call(HOSTILE, json!({"text": HOSTILE}));
        for server in [of_url(), legacy()] {
            assert_visible(&command(&hostile, &server));
        }
    }

    #[test]
    fn server_without_an_address_gets_one() {
        let text = command(&call("echo", json!({})), &of_command(&["a b"]));
        assert!(
            text.ends_with("toolwire proxy --listen 127.0.0.1:8080 -- node 'a b'"),
            "{text}"
        );
        let lost = command(&call("echo", json!({})), &of_command(&["a\n"]));
        assert_eq!(lost, LOST_LINE_BREAK);
    }
}
