//! The examples of whole jobs: each client uses its server over stdio and over HTTP, in both eras, and prints the same
//! lines.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::client::program;
use crate::http::Example;

/// The timeout of a client, so that a blocked test fails instead of hanging.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(120);

/// The arguments of the client for each era.
const ERAS: [&[&str]; 2] = [&[], &["--legacy"]];

/// Returns the lines that the client of a job prints.
async fn client_lines(
    job: &str,
    directory: &Path,
    token: Option<(&str, &str)>,
    arguments: &[&str],
) -> Vec<String> {
    let mut command = Command::new(program(job));
    command
        .arg("client")
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if let Some((name, value)) = token {
        command.env(name, value);
    }
    let output = timeout(CLIENT_TIMEOUT, command.output()).await;
    let output = output.expect("the client exits").unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{job} {arguments:?}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Starts the server of a job in a directory.
async fn server(job: &str, directory: &Path) -> Example {
    Example::run(Command::new(program(job)).current_dir(directory)).await
}

/// Checks the lines of a client over stdio and over HTTP in both eras. Each client has a server of its own.
async fn check(job: &str, directory: &Path, expected: &[&str]) {
    for era in ERAS {
        let lines = client_lines(job, directory, None, era).await;
        assert_eq!(lines, expected, "{job} over stdio {era:?}");
    }
    for era in ERAS {
        let server = server(job, directory).await;
        let url = server.url();
        let arguments = [&[url.as_str()], era].concat();
        let lines = client_lines(job, directory, None, &arguments).await;
        assert_eq!(lines, expected, "{job} over HTTP {era:?}");
    }
}

/// Returns the lines of the first client of a new server over HTTP, in each era.
async fn lines_with_token(job: &str, token: (&str, &str)) -> [Vec<String>; 2] {
    let mut lines = [const { Vec::new() }; 2];
    for (lines, era) in lines.iter_mut().zip(ERAS) {
        let server = server(job, Path::new(".")).await;
        let url = server.url();
        let arguments = [&[url.as_str()], era].concat();
        *lines = client_lines(job, Path::new("."), Some(token), &arguments).await;
    }
    lines
}

#[tokio::test]
async fn notes_are_stored_and_found_by_their_words() {
    let expected = [
        "stored Bread as notes:///1",
        "stored Tea as notes:///2",
        "stored Baking times as notes:///3",
        "minutes baking: 2 found",
        "  Baking times: Rolls [bake] for fifteen [minutes], bread for forty.",
        "  Bread: Knead the dough for ten [minutes], then [bake]…",
        "  Rolls bake for fifteen minutes, bread for forty.",
        "\"NEAR(: 0 found",
        "80: 1 found",
        "  Tea: Pour water of [80] degrees on the leaves…",
        "  Pour water of 80 degrees on the leaves and wait.",
    ];
    check("sqlite_notes", Path::new("."), &expected).await;
}

#[tokio::test]
async fn files_outside_the_roots_and_the_directory_are_refused() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("file_browser");
    fs::create_dir_all(directory.join("public/drafts")).unwrap();
    fs::write(directory.join("public/a.txt"), "first line\nsecond").unwrap();
    fs::write(directory.join("secret.txt"), "secret").unwrap();
    let expected = [
        "a.txt: first line",
        "drafts/",
        ".: this is outside the roots of the client",
        "../..: ../.. is outside the served directory",
        "files:///secret.txt: this is outside the roots of the client (-32603)",
        "files:///public/../secret.txt: this is outside the roots of the client (-32603)",
    ];
    check("file_browser", &directory, &expected).await;
}

#[tokio::test]
async fn report_is_written_as_a_task_and_asks_once() {
    let expected = [
        "the report is a task",
        "the server asks: The report of 2026 has 22 pages. Send it to the board?",
        "22 pages about 2026, sent",
        "refused: invalid arguments for tool `write_report`: arguments.year: 1066 is less than the minimum of 2000",
    ];
    check("annual_report", Path::new("."), &expected).await;
}

#[tokio::test]
async fn model_calls_tools_until_it_has_an_answer() {
    let expected = [
        "user: What does order 170 cost in francs? Perhaps it was 17.",
        "model calls find_order {\"number\":170}",
        "  there is no order 170; orders have two digits",
        "model calls find_order {\"number\":17}",
        "  {\"item\":\"teapot\",\"price\":2400}",
        "model calls convert {\"cents\":2400,\"currency\":\"CHF\"}",
        "  22.80 CHF",
        "model: Order 17 costs 22.80 CHF.",
    ];
    check("chat", Path::new("."), &expected).await;
}

#[tokio::test]
async fn tracker_over_stdio_permits_everything() {
    for era in ERAS {
        let lines = client_lines("issue_tracker", Path::new("."), None, era).await;
        assert_eq!(lines[0], "tools: list_issues, close_issue");
        assert_eq!(lines[2], "the local user closed issue 1");
        assert_eq!(lines[3], "the tracker responded with 404 Not Found");
    }
}

#[tokio::test]
async fn tracker_over_http_permits_what_the_token_permits() {
    for lines in lines_with_token("issue_tracker", ("TRACKER_TOKEN", "token-of-ann")).await {
        assert_eq!(lines[0], "tools: list_issues");
        assert!(lines[1].contains("The kettle boils over"), "{lines:?}");
        assert!(lines[2].starts_with("not permitted: "), "{lines:?}");
    }
    for lines in lines_with_token("issue_tracker", ("TRACKER_TOKEN", "token-of-bob")).await {
        assert_eq!(lines[0], "tools: list_issues, close_issue");
        assert_eq!(lines[2], "bob closed issue 1");
        assert_eq!(lines[3], "the tracker responded with 404 Not Found");
    }
}

#[tokio::test]
async fn axum_application_shares_its_state_with_the_tools() {
    for lines in lines_with_token("axum_app", ("SHOP_TOKEN", "token-of-bob")).await {
        let expected = [
            "in stock: 1",
            "bob sold a cup, 0 are left",
            "no cups are left; use restock",
        ];
        assert_eq!(lines, expected);
    }
    for lines in lines_with_token("axum_app", ("SHOP_TOKEN", "token-of-ann")).await {
        assert!(lines[1].starts_with("not permitted: "), "{lines:?}");
    }
}
