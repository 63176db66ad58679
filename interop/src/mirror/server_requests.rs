//! The requests of the server to the client, and the responses.

use crate::mirror::objects::{client_capabilities, content, text_block, tool};
use crate::mirror::revision::{ALL, LEGACY, Revision};

/// The requests, by the tool that sends them: its name, the method, and the revisions.
pub(crate) const SERVER_REQUESTS: [(&str, &str, std::ops::RangeInclusive<u8>); 6] = [
    ("ask_form", "elicitation/create", 2..=4),
    ("ask_url", "elicitation/create", 3..=4),
    ("ask_model", "sampling/createMessage", ALL),
    ("ask_model_with_tools", "sampling/createMessage", 3..=4),
    ("ask_roots", "roots/list", ALL),
    ("ask_ping", "ping", LEGACY),
];

/// Returns the method and the parameters of the request that a tool sends.
pub(crate) fn server_request(revision: Revision, tool: &str) -> Option<(&'static str, String)> {
    let mut requests = SERVER_REQUESTS.into_iter();
    let known = requests.find(|(name, _, range)| *name == tool && revision.is_in(range));
    let (_, method, _) = known?;
    let params = match tool {
        "ask_form" => form(revision),
        "ask_url" => revision.object(&[
            (ALL, "mode", r#""url""#),
            (3..=3, "elicitationId", r#""e-1""#),
            (ALL, "url", r#""https://example.com/?a=%20""#),
            (ALL, "message", r#""Open this.""#),
            (LEGACY, "_meta", &revision.meta()),
        ]),
        "ask_model" => model(revision, false),
        "ask_model_with_tools" => model(revision, true),
        _ => revision.object(&[(LEGACY, "_meta", &revision.meta())]),
    };
    Some((method, params))
}

/// Returns the result that the client sends for a method.
pub(crate) fn response(revision: Revision, method: &str) -> String {
    let meta = revision.meta();
    match method {
        "elicitation/create" => revision.object(&[
            (ALL, "content", r#"{"z":1.0,"a":"é","list":["b","a"]}"#),
            (ALL, "action", r#""accept""#),
            (LEGACY, "_meta", &meta),
        ]),
        "sampling/createMessage" => revision.object(&[
            (ALL, "stopReason", r#""endTurn""#),
            (ALL, "model", r#""m-1""#),
            (ALL, "content", &text_block(revision)),
            (ALL, "role", r#""assistant""#),
            (ALL, "_meta", &meta),
        ]),
        "roots/list" => {
            let root = revision.object(&[
                (ALL, "name", r#""r""#),
                (ALL, "uri", r#""file:///r""#),
                (2..=4, "_meta", &meta),
            ]);
            let roots = format!("[{root}]");
            revision.object(&[(ALL, "roots", &roots), (LEGACY, "_meta", &meta)])
        }
        _ => revision.object(&[]),
    }
}

fn form(revision: Revision) -> String {
    let field = |members: &[(&str, &str)]| {
        let common = [("title", r#""F""#), ("description", r#""d""#)];
        let members = common.iter().chain(members);
        let members: Vec<_> = members.map(|(name, value)| (ALL, *name, *value)).collect();
        revision.object(&members)
    };
    let mut fields = vec![
        field(&[
            ("maxLength", "9"),
            ("minLength", "1"),
            ("format", r#""email""#),
            ("type", r#""string""#),
        ]),
        field(&[
            ("maximum", "1e1"),
            ("minimum", "0.0"),
            ("type", r#""number""#),
        ]),
        field(&[("default", "false"), ("type", r#""boolean""#)]),
        field(&[
            ("enum", r#"["a","b"]"#),
            ("enumNames", r#"["A","B"]"#),
            ("type", r#""string""#),
        ]),
    ];
    if revision.is_in(&(3..=4)) {
        let option = revision.object(&[(ALL, "title", r#""A""#), (ALL, "const", r#""a""#)]);
        fields.push(field(&[
            ("oneOf", &format!("[{option}]")),
            ("default", r#""a""#),
            ("type", r#""string""#),
        ]));
        let items = revision.object(&[(ALL, "anyOf", &format!("[{option}]"))]);
        fields.push(field(&[
            ("items", &items),
            ("maxItems", "2"),
            ("minItems", "0"),
            ("default", r#"["a"]"#),
            ("type", r#""array""#),
        ]));
    }
    let numbered = fields.iter().enumerate();
    let properties: Vec<_> = numbered
        .map(|(number, field)| format!(r#""f{number}":{field}"#))
        .collect();
    let schema = revision.object(&[
        (ALL, "required", r#"["f1"]"#),
        (ALL, "properties", &format!("{{{}}}", properties.join(","))),
        (ALL, "type", r#""object""#),
    ]);
    revision.object(&[
        (ALL, "requestedSchema", &schema),
        (3..=4, "mode", r#""form""#),
        (ALL, "message", r#""Fill this in.""#),
        (LEGACY, "_meta", &revision.meta()),
    ])
}

fn model(revision: Revision, with_tools: bool) -> String {
    let meta = revision.meta();
    let message = revision.object(&[
        (3..=4, "_meta", &meta),
        (ALL, "content", &text_block(revision)),
        (ALL, "role", r#""user""#),
    ]);
    let mut messages = vec![message];
    let choice = revision.object(&[(ALL, "mode", r#""auto""#)]);
    let tools = format!("[{}]", tool(revision, "add"));
    if with_tools {
        let tool_use = revision.object(&[
            (ALL, "type", r#""tool_use""#),
            (ALL, "id", r#""u""#),
            (ALL, "name", r#""add""#),
            (ALL, "input", r#"{"n":1.0}"#),
            (ALL, "_meta", &meta),
        ]);
        let tool_result = revision.object(&[
            (ALL, "type", r#""tool_result""#),
            (ALL, "toolUseId", r#""u""#),
            (ALL, "content", &content(revision)),
            (ALL, "structuredContent", r#"{"s":2.0}"#),
            (ALL, "isError", "false"),
            (ALL, "_meta", &meta),
        ]);
        for (role, block) in [("assistant", tool_use), ("user", tool_result)] {
            let role = format!(r#""{role}""#);
            let blocks = format!("[{block}]");
            messages.push(revision.object(&[(ALL, "content", &blocks), (ALL, "role", &role)]));
        }
    }
    let hint = revision.object(&[(ALL, "name", r#""m""#)]);
    let preferences = revision.object(&[
        (ALL, "hints", &format!("[{hint}]")),
        (ALL, "costPriority", "0.10"),
        (ALL, "speedPriority", "1.0"),
        (ALL, "intelligencePriority", "0"),
    ]);
    let mut members = vec![
        (ALL, "maxTokens", "1e2"),
        (ALL, "systemPrompt", r#""s""#),
        (ALL, "includeContext", r#""thisServer""#),
        (ALL, "temperature", "0.70"),
        (ALL, "stopSequences", r#"["x"]"#),
        (ALL, "metadata", r#"{"b":1.0,"a":[]}"#),
        (ALL, "modelPreferences", &preferences),
    ];
    if with_tools {
        members.push((ALL, "toolChoice", &choice));
        members.push((ALL, "tools", &tools));
    }
    let messages = format!("[{}]", messages.join(","));
    members.push((ALL, "messages", &messages));
    members.push((LEGACY, "_meta", &meta));
    revision.object(&members)
}

/// Returns the requests for input in a modern result: all that the revision has.
pub(crate) fn input_requests(revision: Revision) -> String {
    let requests = SERVER_REQUESTS.iter().filter_map(|(tool, _, _)| {
        let request = input_request(revision, tool)?;
        Some(format!(r#""{tool}":{request}"#))
    });
    format!("{{{}}}", requests.collect::<Vec<_>>().join(","))
}

/// Returns the request for the input of one tool.
pub(crate) fn input_request(revision: Revision, tool: &str) -> Option<String> {
    let (method, params) = server_request(revision, tool)?;
    let method = format!(r#""{method}""#);
    Some(revision.object(&[(ALL, "params", &params), (ALL, "method", &method)]))
}

/// Returns the responses to all input requests.
pub(crate) fn input_responses(revision: Revision) -> String {
    let known = SERVER_REQUESTS
        .iter()
        .filter(|(_, _, range)| revision.is_in(range));
    let responses =
        known.map(|(tool, method, _)| format!(r#""{tool}":{}"#, response(revision, method)));
    format!("{{{}}}", responses.collect::<Vec<_>>().join(","))
}

/// Returns the members of `_meta` that every modern request has, and unknown ones.
pub(crate) fn request_meta(revision: Revision, client: &str, token: &str) -> String {
    revision.object(&[
        (ALL, "progressToken", token),
        (4..=4, "io.modelcontextprotocol/logLevel", r#""debug""#),
        (4..=4, "io.modelcontextprotocol/clientInfo", client),
        (
            4..=4,
            "io.modelcontextprotocol/clientCapabilities",
            &client_capabilities(revision),
        ),
        (
            4..=4,
            "io.modelcontextprotocol/protocolVersion",
            &format!(r#""{}""#, revision.name()),
        ),
    ])
}
