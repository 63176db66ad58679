//! The page in headless Chromium. The checks are in `page/tests`.
//!
//! Every check is named here, so that a script that omits a check fails its test.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use toolwire::{CallToolResult, LoggingLevel, RawJson, RequestContext, Server, Tool, ToolHandler};

use super::{DEMO, InspectCommand};
use crate::client::small_server::SmallServer;
use crate::process::within;

/// Runs a script of `page/tests` with the page, and compares the names of its checks.
async fn run(script: &str, arguments: &[&str], command: &InspectCommand, expected: &[&str]) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page");
    assert!(
        directory.join("node_modules/.installed-from").exists(),
        "this test needs the packages of the page: run `cargo xtask page`"
    );
    let mut child = Command::new("node")
        .arg(directory.join("tests").join(script))
        .arg(&command.url)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("this test needs Node.js");
    let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
    let mut found = Vec::new();
    while let Some(line) = within(lines.next_line()).await.expect("UTF-8") {
        let line: Value = serde_json::from_str(&line).expect("JSON");
        let Some(name) = line["check"].as_str() else {
            continue;
        };
        assert_eq!(
            line["ok"],
            true,
            "{name}: {}",
            line["detail"].as_str().unwrap_or_default()
        );
        found.push(name.to_owned());
    }
    let status = within(child.wait()).await.expect("the script ends");
    assert!(status.success(), "{status}");
    assert_eq!(found, expected);
}

/// The checks of `demo.mjs` in both eras.
const EVERY_ERA: [&str; 15] = [
    "secret_leaves_the_address",
    "form_and_json_edit_one_value",
    "call_shows_structured_content",
    "tool_error_is_shown",
    "progress_and_cancel",
    "input_requests_get_responses",
    "url_and_sampling_requests",
    "prompt_with_completion",
    "resource_read_and_subscription",
    "template_makes_a_uri",
    "changed_list_is_loaded",
    "copy_as_every_language",
    "log_has_every_message",
    "palette_finds_items_by_keyboard",
    "capability_can_be_withheld",
];

/// The checks of all views, which do not depend on the era.
const ONE_ERA: [&str; 4] = [
    "accessible_360px_light",
    "accessible_1280px_light",
    "accessible_1280px_dark",
    "accessible_zoom_light",
];

/// The last check of `demo.mjs`.
const NO_VIOLATION: &str = "no_violation_of_the_policy";

async fn demo(era: &str, expected: &[&str]) {
    let mut arguments = vec!["--era", era];
    arguments.extend(DEMO);
    let command = InspectCommand::start(&arguments).await;
    run("demo.mjs", &[era], &command, expected).await;
}

#[tokio::test]
async fn page_uses_every_feature_in_the_modern_era() {
    let expected = [&EVERY_ERA[..], &ONE_ERA, &[NO_VIOLATION]].concat();
    demo("modern", &expected).await;
}

#[tokio::test]
async fn page_uses_every_feature_in_the_legacy_era() {
    let expected = [&EVERY_ERA[..], &[NO_VIOLATION]].concat();
    demo("legacy", &expected).await;
}

#[tokio::test]
async fn page_shows_many_tools_and_hostile_text() {
    let server = SmallServer::start(many_tools()).await;
    let command = InspectCommand::start(&[server.url()]).await;
    let expected = [
        "only_visible_rows_are_laid_out",
        "filter_takes_less_than_a_frame_per_hundred_tools",
        "list_is_used_with_the_keyboard",
        "cyclic_nullable_union_is_a_form",
        "hostile_text_is_shown_as_text",
        "large_result_is_folded",
        "many_log_entries_are_laid_out_in_parts",
        "no_violation_of_the_policy",
    ];
    run("many.mjs", &[], &command, &expected).await;
}

#[tokio::test]
async fn other_pages_reach_nothing() {
    let command = InspectCommand::start(&DEMO).await;
    let expected = [
        "other_origin_reads_nothing",
        "other_page_cannot_contain_the_page",
        "form_of_another_page_changes_nothing",
    ];
    run("foreign.mjs", &[], &command, &expected).await;
}

/// Text with markup, a bidirectional control and a terminal escape sequence.
const HOSTILE: &str =
    "<img src=x onerror=alert(1)> \u{202e}gnp.exe \u{1b}[31mred <script>alert(1)</script>";

fn many_tools() -> Server {
    let mut server = Server::new("<b>hostile</b> \u{202e}name", "1").with_logging();
    for number in 0..1000 {
        let tool = Tool::new(format!("tool_{number}"), json!({"type": "object"}))
            .with_description(format!("The tool with the number {number}."));
        server = server.tool(ToolHandler::raw(
            tool,
            move |_: RequestContext, _: RawJson| async move { number.to_string() },
        ));
    }
    let node = json!({
        "title": "node",
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "left": {"$ref": "#/$defs/tree"},
        },
        "required": ["value"],
    });
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/tree"}},
        "required": ["root"],
        "$defs": {"node": node, "tree": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
    });
    let tree = ToolHandler::raw(
        Tool::new("tree", tree),
        |_: RequestContext, arguments: RawJson| async move { arguments.to_string() },
    );
    let hostile = Tool::new("hostile", json!({"type": "object"})).with_description(HOSTILE);
    let hostile = ToolHandler::raw(hostile, |_: RequestContext, _: RawJson| async move {
        let link = json!({"type": "resource_link", "uri": "javascript:alert(1)", "name": HOSTILE});
        let content = json!({"content": [{"type": "text", "text": HOSTILE}, link]});
        serde_json::from_value::<CallToolResult>(content).expect("a valid result")
    });
    let large = Tool::new("large", json!({"type": "object"}));
    let large = ToolHandler::raw(large, |_: RequestContext, _: RawJson| async move {
        "large "
            .repeat(1_000_000)
            .chars()
            .take(5_000_000)
            .collect::<String>()
    });
    let noisy = Tool::new("noisy", json!({"type": "object"}));
    let noisy = ToolHandler::raw(noisy, |ctx: RequestContext, _: RawJson| async move {
        for number in 0..12_000 {
            ctx.report_steps(number, 12_000, Some(HOSTILE));
            if number % 100 == 0 {
                ctx.log(LoggingLevel::Info, HOSTILE);
                tokio::task::yield_now().await;
            }
        }
        "done"
    });
    server.tool(tree).tool(hostile).tool(large).tool(noisy)
}
