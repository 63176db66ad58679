//! The page in headless Chromium. The checks are in `page/tests`.
//!
//! Every check is named here, so that a script that omits a check fails its test.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::many_tools::many_tools;
use super::{DEMO, InspectCommand};
use crate::client::TempDirectory;
use crate::client::small_server::SmallServer;
use crate::process::within;

/// The checks of `demo.mjs` in both eras.
const DEMO_CHECKS: [&str; 22] = [
    "secret_leaves_the_address",
    "form_and_json_edit_one_value",
    "invalid_json_is_dropped_with_its_editor",
    "call_shows_structured_content",
    "text_field_keeps_the_focus_and_line_breaks",
    "tool_error_is_shown",
    "progress_and_cancel",
    "input_requests_get_responses",
    "call_is_saved_and_made_again",
    "url_and_sampling_requests",
    "prompt_with_completion",
    "resource_read_and_subscription",
    "template_makes_a_uri",
    "changed_list_is_loaded",
    "copy_as_every_language",
    "log_has_every_message",
    "palette_finds_items_by_keyboard",
    "capability_can_be_withheld",
    "record_is_downloaded",
    "server_does_not_differ_from_its_record",
    "differences_from_a_record_are_shown",
    "record_is_opened_without_its_server",
];

/// The sizes and colours of `demo.mjs` in the modern era.
const MODERN_CHECKS: [&str; 4] = [
    "accessible_360px_light",
    "accessible_1280px_light",
    "accessible_1280px_dark",
    "accessible_zoom_light",
];

/// The sizes and colours of `demo.mjs` in the legacy era.
const LEGACY_CHECKS: [&str; 3] = [
    "accessible_360px_dark",
    "accessible_1280px_light",
    "accessible_zoom_dark",
];

/// The last check of `demo.mjs`.
const LAST_CHECK: [&str; 1] = ["no_violation_of_the_policy"];

/// The checks of `many.mjs`.
const MANY_CHECKS: [&str; 12] = [
    "only_visible_rows_are_laid_out",
    "filter_of_many_tools_is_as_fast_as_of_few",
    "list_is_used_with_the_keyboard",
    "cyclic_nullable_union_is_a_form",
    "items_are_moved_and_every_kind_of_field_is_edited",
    "named_members_are_added_and_removed",
    "hostile_text_is_shown_as_text",
    "large_result_is_folded",
    "hostile_text_is_text_in_every_view",
    "copied_command_and_curl_call_the_tool",
    "faults_reach_the_client",
    "no_violation_of_the_policy",
];

/// The checks of `many.mjs` in the legacy era. The page gets the lists and schemas in the same form.
const MANY_LEGACY_CHECKS: [&str; 3] = [
    "only_visible_rows_are_laid_out",
    "cyclic_nullable_union_is_a_form",
    "no_violation_of_the_policy",
];

/// The checks of `schema.mjs`.
const SCHEMA_CHECKS: [&str; 6] = [
    "numbers_whose_text_would_change_are_found",
    "numbers_are_compared_exactly",
    "depth_is_limited",
    "steps_are_limited",
    "endless_schemas_end",
    "invalid_references_are_no_constraint",
];

/// The checks of `store.mjs`.
const STORE_CHECKS: [&str; 7] = [
    "missed_end_of_a_call_is_in_the_next_state",
    "end_of_a_call_between_two_streams_is_noticed",
    "call_without_a_stored_outcome_ends",
    "log_has_its_newest_entries",
    "responses_belong_to_a_request_of_their_connection",
    "exchanges_end_with_their_response_or_a_failed_http_request",
    "announced_names_are_plain_lines",
];

/// The checks of `hostile.mjs`.
const HOSTILE_CHECKS: [&str; 9] = [
    "endless_schema_is_edited_as_json",
    "invalid_pointer_is_no_constraint",
    "failing_part_leaves_the_rest_of_the_page",
    "names_in_an_input_request_are_plain_lines",
    "image_is_shown_and_sound_is_played",
    "long_names_are_broken",
    "trace_id_is_copied",
    "failed_connection_is_shown_and_opened_again",
    "no_violation_of_the_policy",
];

/// The checks of `foreign.mjs`.
const FOREIGN_CHECKS: [&str; 5] = [
    "other_origin_reads_nothing",
    "other_page_cannot_contain_the_page",
    "form_of_another_page_changes_nothing",
    "other_name_of_this_machine_reaches_nothing",
    "page_without_access_says_what_to_do",
];

/// The checks of `build.mjs`.
const BUILD_CHECKS: [&str; 3] = [
    "error_of_the_previous_build_stays_during_a_build",
    "successful_build_shows_nothing_but_its_progress",
    "no_violation_of_the_policy",
];

/// The checks of `log.mjs`.
const LOG_CHECKS: [&str; 6] = [
    "words_are_found_in_whole_entries",
    "failed_search_is_shown",
    "rows_begin_with_what_the_entries_are_about",
    "timeline_shows_failures_and_open_requests",
    "connection_is_a_part_of_the_filter",
    "log_of_20000_entries_is_as_fast_as_of_1000",
];

/// The checks of `large.mjs`.
const LARGE_CHECKS: [&str; 5] = [
    "results_of_5_mb_are_folded",
    "folded_blocks_are_shown_in_parts",
    "log_entry_of_5_mb_is_folded",
    "full_log_has_its_newest_entries",
    "no_violation_of_the_policy",
];

/// The checks of `inside.mjs`.
const INSIDE_CHECKS: [&str; 6] = [
    "parts_of_a_call_have_their_times",
    "rejected_arguments_have_their_path",
    "report_is_in_the_log",
    "no_violation_of_the_policy",
    "report_of_a_hostile_server_is_shown_as_text",
    "no_violation_of_the_policy_by_reports",
];

/// One test, so that the checks share one browser.
#[tokio::test]
async fn page_passes_all_checks() {
    let directory = TempDirectory::new("inspect-browser");
    let demo = async |era: &str| {
        let calls = directory.0.join(format!("{era}.json"));
        let calls = calls.display().to_string();
        let arguments = [&["--era", era, "--calls", &calls][..], &DEMO].concat();
        InspectCommand::start(&arguments).await
    };
    let server = SmallServer::start(many_tools()).await;
    let (modern, legacy) = (demo("modern").await, demo("legacy").await);
    let many = InspectCommand::start(&[server.url()]).await;
    let many_legacy = InspectCommand::start(&["--era", "legacy", server.url()]).await;
    let foreign = InspectCommand::start(&DEMO).await;
    let modern_checks = [&DEMO_CHECKS[..], &MODERN_CHECKS, &LAST_CHECK].concat();
    let legacy_checks = [&DEMO_CHECKS[..], &LEGACY_CHECKS, &LAST_CHECK].concat();
    let pages = [
        ("modern", modern.url.as_str(), &modern_checks[..]),
        ("legacy", &legacy.url, &legacy_checks),
        ("many", &many.url, &MANY_CHECKS),
        ("many_legacy", &many_legacy.url, &MANY_LEGACY_CHECKS),
        ("foreign", &foreign.url, &FOREIGN_CHECKS),
        // These checks need no command, or start their own ones.
        ("schema", "", &SCHEMA_CHECKS),
        ("store", "", &STORE_CHECKS),
        ("hostile", "", &HOSTILE_CHECKS),
        ("build", "", &BUILD_CHECKS),
        ("log", "", &LOG_CHECKS),
        ("large", "", &LARGE_CHECKS),
        ("inside", "", &INSIDE_CHECKS),
    ];
    let expected = pages.iter().flat_map(|(page, _, checks)| {
        let checks = checks.iter();
        checks.map(move |check| format!("{page} {check}"))
    });
    let expected: Vec<String> = expected.collect();
    let addresses = pages.map(|(page, url, _)| (page.to_owned(), url.into()));
    let addresses = Value::Object(addresses.into_iter().collect());
    assert_eq!(run(&addresses).await, expected);
}

/// Runs the checks, and returns their names. Panics if one fails.
async fn run(addresses: &Value) -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page");
    assert!(
        directory.join("node_modules/.installed-from").exists(),
        "this test needs the packages of the page: run `cargo xtask page`"
    );
    let mut child = Command::new("node")
        .arg(directory.join("tests/run.mjs"))
        .arg(addresses.to_string())
        .env("TOOLWIRE", env!("CARGO_BIN_EXE_toolwire"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("this test needs Node.js");
    let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped")).lines();
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    while let Some(line) = within(lines.next_line()).await.expect("UTF-8") {
        let line: Value = serde_json::from_str(&line).expect("JSON");
        let name = line["check"].as_str().expect("a name").to_owned();
        if line["ok"] != true {
            let detail = line["detail"].as_str().unwrap_or_default();
            failed.push(format!("{name}: {detail}"));
        }
        found.push(name);
    }
    let status = within(child.wait()).await.expect("the script ends");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(status.success(), "{status}");
    found
}
