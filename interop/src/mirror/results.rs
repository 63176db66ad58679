//! The result of each method.

use crate::mirror::objects::{
    blob_contents, content, implementation, prompt, resource, resource_template,
    server_capabilities, task, text_block, text_contents, tool,
};
use crate::mirror::revision::{ALL, LEGACY, MODERN, Member, Revision};
use crate::mirror::server_requests::{input_request, input_requests};

/// Returns the result of a method, or `None` if the revision does not have it. `echo` is what the server received.
pub(crate) fn result(revision: Revision, method: &str, echo: &str) -> Option<String> {
    let list = |name: &'static str, items: &[String]| {
        let items = format!("[{}]", items.join(","));
        let members = [(ALL, "nextCursor", r#""c é""#), (ALL, name, items.as_str())];
        cacheable(revision, echo, &members)
    };
    Some(match method {
        "initialize" if !revision.is_modern() => {
            let version = format!(r#""{}""#, revision.name());
            let members: [Member<'_>; 4] = [
                (LEGACY, "instructions", r#""Read \u0074his.""#),
                (LEGACY, "serverInfo", &implementation(revision, "raw")),
                (LEGACY, "capabilities", &server_capabilities(revision)),
                (LEGACY, "protocolVersion", &version),
            ];
            complete(revision, echo, &members)
        }
        "server/discover" if revision.is_modern() => {
            let members: [Member<'_>; 3] = [
                (MODERN, "instructions", r#""Read \u0074his.""#),
                (MODERN, "capabilities", &server_capabilities(revision)),
                (MODERN, "supportedVersions", r#"["2026-07-28"]"#),
            ];
            cacheable(revision, echo, &members)
        }
        "tools/list" => list(
            "tools",
            &[tool(revision, "all"), tool(revision, "ask_form")],
        ),
        "prompts/list" => list("prompts", &[prompt(revision)]),
        "resources/list" => list("resources", &[resource(revision, &[])]),
        "resources/templates/list" => list("resourceTemplates", &[resource_template(revision)]),
        "resources/read" => {
            let contents = format!("[{},{}]", text_contents(revision), blob_contents(revision));
            cacheable(revision, echo, &[(ALL, "contents", &contents)])
        }
        "prompts/get" => {
            let message = revision.object(&[
                (ALL, "content", &text_block(revision)),
                (ALL, "role", r#""user""#),
            ]);
            let messages = format!("[{message}]");
            let members = [
                (ALL, "messages", messages.as_str()),
                (ALL, "description", r#""d""#),
            ];
            complete(revision, echo, &members)
        }
        "completion/complete" => {
            let completion = revision.object(&[
                (ALL, "total", "1e2"),
                (ALL, "hasMore", "true"),
                (ALL, "values", r#"["a","b"]"#),
            ]);
            complete(revision, echo, &[(ALL, "completion", &completion)])
        }
        "tasks/get" | "tasks/cancel" if revision.is_in(&(3..=3)) => task(revision, "working"),
        "tasks/list" if revision.is_in(&(3..=3)) => list(
            "tasks",
            &[task(revision, "working"), task(revision, "failed")],
        ),
        "tasks/result" if revision.is_in(&(3..=3)) => tool_result(revision, echo),
        "tools/call" => tool_result(revision, echo),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
            if !revision.is_modern() =>
        {
            complete(revision, echo, &[])
        }
        "com.example/odd" => complete(revision, echo, &[]),
        _ => return None,
    })
}

/// Returns the result of a call that became a task.
pub(crate) fn created_task(revision: Revision, echo: &str) -> String {
    complete(revision, echo, &[(ALL, "task", &task(revision, "working"))])
}

/// Returns the modern result that asks for input.
pub(crate) fn input_required(revision: Revision, echo: &str) -> String {
    asking(revision, echo, &input_requests(revision))
}

/// Returns the modern result that asks for the input of one tool.
pub(crate) fn input_required_of(revision: Revision, echo: &str, tool: &str) -> String {
    let request = input_request(revision, tool).unwrap_or_default();
    asking(revision, echo, &format!(r#"{{"q1":{request}}}"#))
}

fn asking(revision: Revision, echo: &str, requests: &str) -> String {
    revision.object(&[
        (ALL, "requestState", r#""state \u00e9""#),
        (ALL, "inputRequests", requests),
        (ALL, "x-echo", echo),
        (ALL, "_meta", &result_meta(revision)),
        (ALL, "resultType", r#""input_required""#),
    ])
}

/// Returns an error with unknown members in its data.
pub(crate) fn error(revision: Revision, code: i32) -> String {
    let data = revision.object(&[(ALL, "uri", r#""file:///a""#)]);
    format!(r#"{{"code":{code},"message":"own é","data":{data}}}"#)
}

fn tool_result(revision: Revision, echo: &str) -> String {
    let structured = revision.object(&[(ALL, "sum", "4.20")]);
    let members: [Member<'_>; 3] = [
        (ALL, "isError", "false"),
        (2..=4, "structuredContent", structured.as_str()),
        (ALL, "content", &content(revision)),
    ];
    complete(revision, echo, &members)
}

fn cacheable(revision: Revision, echo: &str, members: &[Member<'_>]) -> String {
    let mut all = vec![
        (MODERN, "cacheScope", r#""private""#),
        (MODERN, "ttlMs", "1e3"),
    ];
    all.extend_from_slice(members);
    complete(revision, echo, &all)
}

fn complete(revision: Revision, echo: &str, members: &[Member<'_>]) -> String {
    let meta = result_meta(revision);
    let mut all = vec![(ALL, "x-echo", echo)];
    all.extend_from_slice(members);
    all.push((MODERN, "resultType", r#""complete""#));
    all.push((ALL, "_meta", &meta));
    revision.object(&all)
}

fn result_meta(revision: Revision) -> String {
    let info = implementation(revision, "raw");
    revision.object(&[
        (MODERN, "io.modelcontextprotocol/serverInfo", &info),
        (ALL, "com.example/trace", r#""t""#),
    ])
}
