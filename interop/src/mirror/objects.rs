//! The objects inside of results, requests and notifications.

use crate::mirror::revision::{ALL, LEGACY, MODERN, Revision};

pub(crate) fn annotations(revision: Revision) -> String {
    revision.object(&[
        (ALL, "priority", "0.50"),
        (ALL, "audience", r#"["user","assistant"]"#),
        (2..=4, "lastModified", r#""2026-01-01T00:00:00Z""#),
    ])
}

pub(crate) fn icons(revision: Revision) -> String {
    let icon = revision.object(&[
        (ALL, "theme", r#""dark""#),
        (ALL, "sizes", r#"["48x48","any"]"#),
        (ALL, "mimeType", r#""image/png""#),
        (ALL, "src", r#""data:image/png;base64,AA==""#),
    ]);
    format!("[{icon}]")
}

/// Returns one content block of each kind that the revision has.
pub(crate) fn content(revision: Revision) -> String {
    let (annotations, meta) = (annotations(revision), revision.meta());
    let block = |kind: &str, members: &[(&str, &str)]| {
        let kind = format!(r#""{kind}""#);
        let mut all = vec![(ALL, "annotations", annotations.as_str())];
        all.extend(members.iter().map(|(name, value)| (ALL, *name, *value)));
        all.push((2..=4, "_meta", &meta));
        all.push((ALL, "type", &kind));
        revision.object(&all)
    };
    let binary: &[(&str, &str)] = &[("data", r#""AA==""#), ("mimeType", r#""a/b""#)];
    let mut blocks = vec![
        block("text", &[("text", r#""t \"q\" \u00e9 é \/ <&>""#)]),
        block("image", binary),
        block("resource", &[("resource", &text_contents(revision))]),
        block("resource", &[("resource", &blob_contents(revision))]),
    ];
    if revision.is_in(&(1..=4)) {
        blocks.push(block("audio", binary));
    }
    if revision.is_in(&(2..=4)) {
        blocks.push(resource(revision, &[("type", r#""resource_link""#)]));
    }
    blocks.push(block("com.example/unknown", &[("value", "1.50")]));
    format!("[{}]", blocks.join(","))
}

pub(crate) fn text_block(revision: Revision) -> String {
    revision.object(&[
        (ALL, "annotations", &annotations(revision)),
        (ALL, "text", r#""t""#),
        (2..=4, "_meta", &revision.meta()),
        (ALL, "type", r#""text""#),
    ])
}

pub(crate) fn text_contents(revision: Revision) -> String {
    revision.object(&[
        (ALL, "mimeType", r#""text/plain""#),
        (2..=4, "_meta", &revision.meta()),
        (ALL, "text", r#""line\nline""#),
        (ALL, "uri", r#""file:///a%20b""#),
    ])
}

pub(crate) fn blob_contents(revision: Revision) -> String {
    revision.object(&[
        (ALL, "uri", r#""file:///b""#),
        (ALL, "blob", r#""AA==""#),
        (ALL, "mimeType", r#""a/b""#),
        (2..=4, "_meta", &revision.meta()),
    ])
}

/// Returns a resource, or a link to one with `more` members.
pub(crate) fn resource(revision: Revision, more: &[(&str, &str)]) -> String {
    let (annotations, meta, icons) = (annotations(revision), revision.meta(), icons(revision));
    let mut members = vec![
        (ALL, "size", "1e3"),
        (ALL, "name", r#""a""#),
        (2..=4, "title", r#""A""#),
        (ALL, "description", r#""d""#),
        (ALL, "mimeType", r#""text/plain""#),
        (ALL, "uri", r#""file:///a%20b""#),
        (ALL, "annotations", &annotations),
        (3..=4, "icons", &icons),
        (2..=4, "_meta", &meta),
    ];
    members.extend(more.iter().map(|(name, value)| (ALL, *name, *value)));
    revision.object(&members)
}

pub(crate) fn resource_template(revision: Revision) -> String {
    revision.object(&[
        (ALL, "uriTemplate", r#""file:///{+path}""#),
        (ALL, "name", r#""files""#),
        (2..=4, "title", r#""Files""#),
        (ALL, "description", r#""d""#),
        (ALL, "mimeType", r#""text/plain""#),
        (ALL, "annotations", &annotations(revision)),
        (3..=4, "icons", &icons(revision)),
        (2..=4, "_meta", &revision.meta()),
    ])
}

pub(crate) fn tool(revision: Revision, name: &str) -> String {
    let hints = revision.object(&[
        (ALL, "title", r#""T""#),
        (ALL, "readOnlyHint", "true"),
        (ALL, "destructiveHint", "false"),
        (ALL, "idempotentHint", "true"),
        (ALL, "openWorldHint", "false"),
    ]);
    let property = revision.object(&[(ALL, "type", r#""number""#), (ALL, "default", "1.0")]);
    let schema = revision.object(&[
        (ALL, "required", r#"["n"]"#),
        (ALL, "properties", &format!(r#"{{"n":{property}}}"#)),
        (ALL, "type", r#""object""#),
        (
            3..=4,
            "$schema",
            r#""https://json-schema.org/draft/2020-12/schema""#,
        ),
    ]);
    let execution = revision.object(&[(ALL, "taskSupport", r#""optional""#)]);
    revision.object(&[
        (3..=3, "execution", &execution),
        (2..=4, "outputSchema", &schema),
        (ALL, "inputSchema", &schema),
        (ALL, "description", r#""d""#),
        (2..=4, "title", r#""T""#),
        (1..=4, "annotations", &hints),
        (3..=4, "icons", &icons(revision)),
        (2..=4, "_meta", &revision.meta()),
        (ALL, "name", &format!(r#""{name}""#)),
    ])
}

pub(crate) fn prompt(revision: Revision) -> String {
    let argument = revision.object(&[
        (ALL, "required", "true"),
        (ALL, "name", r#""city""#),
        (2..=4, "title", r#""City""#),
        (ALL, "description", r#""d""#),
    ]);
    revision.object(&[
        (ALL, "arguments", &format!("[{argument}]")),
        (ALL, "description", r#""d""#),
        (2..=4, "title", r#""P""#),
        (3..=4, "icons", &icons(revision)),
        (2..=4, "_meta", &revision.meta()),
        (ALL, "name", r#""p""#),
    ])
}

pub(crate) fn implementation(revision: Revision, name: &str) -> String {
    revision.object(&[
        (ALL, "version", r#""1.0""#),
        (ALL, "name", &format!(r#""{name}""#)),
        (2..=4, "title", r#""Raw""#),
        (3..=4, "description", r#""d""#),
        (3..=4, "websiteUrl", r#""https://example.com/""#),
        (3..=4, "icons", &icons(revision)),
    ])
}

pub(crate) fn server_capabilities(revision: Revision) -> String {
    let empty = revision.object(&[]);
    let list = revision.object(&[(ALL, "listChanged", "true")]);
    let resources = revision.object(&[(ALL, "listChanged", "true"), (ALL, "subscribe", "true")]);
    let requests = format!(r#"{{"tools":{{"call":{empty}}}}}"#);
    let tasks = revision.object(&[
        (ALL, "list", &empty),
        (ALL, "cancel", &empty),
        (ALL, "requests", &requests),
    ]);
    let named = format!(r#"{{"com.example/a":{empty}}}"#);
    revision.object(&[
        (ALL, "resources", &resources),
        (ALL, "prompts", &list),
        (ALL, "tools", &list),
        (ALL, "logging", &empty),
        (1..=4, "completions", &empty),
        (3..=3, "tasks", &tasks),
        (MODERN, "extensions", &named),
        (ALL, "experimental", &named),
    ])
}

pub(crate) fn client_capabilities(revision: Revision) -> String {
    let empty = revision.object(&[]);
    let roots = revision.object(&[(LEGACY, "listChanged", "true")]);
    let sampling = revision.object(&[(3..=4, "tools", &empty), (3..=4, "context", &empty)]);
    let elicitation = revision.object(&[(3..=4, "form", &empty), (3..=4, "url", &empty)]);
    let named = format!(r#"{{"com.example/b":{empty}}}"#);
    revision.object(&[
        (ALL, "experimental", &named),
        (ALL, "sampling", &sampling),
        (2..=4, "elicitation", &elicitation),
        (ALL, "roots", &roots),
        (MODERN, "extensions", &named),
    ])
}

pub(crate) fn task(revision: Revision, status: &str) -> String {
    revision.object(&[
        (ALL, "status", &format!(r#""{status}""#)),
        (ALL, "statusMessage", r#""m""#),
        (ALL, "createdAt", r#""2026-01-01T00:00:00Z""#),
        (ALL, "lastUpdatedAt", r#""2026-01-01T00:00:00.5Z""#),
        (ALL, "ttl", "60000"),
        (ALL, "pollInterval", "1e3"),
        (ALL, "taskId", r#""t-1""#),
    ])
}
