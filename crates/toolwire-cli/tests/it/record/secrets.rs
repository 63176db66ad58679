//! Planted secrets are not in a record.

use std::sync::atomic::{AtomicUsize, Ordering};

use toolwire::{CallToolResult, Server, tool};

use crate::client::small_server::SmallServer;
use crate::client::{run, run_command};
use crate::process::toolwire;
use crate::record::{RecordFile, against, check_same};

pub(super) const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.Y2FuYXJ5LWNhbmFyeQ";
const CANARY: &str = "canary-7f3a9";

/// Returns a token, in structured content and in a text.
#[tool]
pub(super) async fn log_in(password: String) -> CallToolResult {
    let text = format!("the token is {JWT} for https://me:{CANARY}@example.com/?api_key={CANARY}");
    let structured = serde_json::json!({"access_token": CANARY, "length": password.len()});
    let mut result = CallToolResult::text(text);
    result.structured_content = Some(structured.into());
    result
}

/// The calls of `count_logins`.
static LOGINS: AtomicUsize = AtomicUsize::new(0);

/// Counts its calls.
#[tool]
async fn count_logins(password: String) -> usize {
    assert_eq!(password, CANARY);
    LOGINS.fetch_add(1, Ordering::Relaxed) + 1
}

/// Records a call with secrets, and compares the server with the record.
async fn recorded(options: &[&str]) -> (RecordFile, String) {
    let server = SmallServer::start(Server::new("secrets", "1.0.0").tool(log_in)).await;
    let record = RecordFile::new("secrets");
    let argument = format!("password={CANARY}");
    let tenant = format!("X-Tenant: {CANARY}");
    let mut command = toolwire(&["call", server.url(), "log_in", &argument]);
    command
        .args(["--header", &tenant, "--bearer-env", "CANARY_TOKEN"])
        .args(["--record", &record.name()])
        .args(options)
        .env("CANARY_TOKEN", CANARY);
    let output = run_command(command).await;
    let stderr = output.stderr.clone();
    output.ok();
    if options.contains(&"--unredacted") {
        check_same(&record, &[server.url()], "secrets").await;
    } else {
        // A redacted request is not sent, and a redacted response has no difference.
        let report = against(&record, &[server.url()], &["--yes", "--json"]).await;
        let report = report.json();
        assert_eq!(
            (&report["different"], &report["skipped"]),
            (&0.into(), &1.into()),
            "{report}"
        );
        assert!(report["same"].as_u64() > Some(0), "{report}");
    }
    (record, stderr)
}

#[tokio::test]
async fn planted_secrets_are_not_in_a_record() {
    let (record, _) = recorded(&[]).await;
    let text = record.text();
    for secret in [CANARY, JWT] {
        assert!(!text.contains(secret), "{text}");
    }
    for kept in [
        "[redacted 12 bytes sha256:",
        "x-tenant",
        "password",
        "\"length\":12",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        let metadata = std::fs::metadata(record.path()).expect("the record was written");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn secrets_are_recorded_only_on_demand() {
    let (record, stderr) = recorded(&["--unredacted"]).await;
    assert!(record.text().contains(CANARY));
    assert!(stderr.contains("will contain passwords"), "{stderr}");
    let text = run(&["ping", "http://127.0.0.1:9", "--unredacted"])
        .await
        .failed(2);
    assert!(text.contains("--unredacted needs a record"), "{text}");
}

#[tokio::test]
async fn requests_with_redacted_parts_are_not_sent_again() {
    let server = SmallServer::start(Server::new("secrets", "1.0.0").tool(count_logins)).await;
    let record = RecordFile::new("logins");
    let argument = format!("password={CANARY}");
    let mut command = toolwire(&["call", server.url(), "count_logins", &argument]);
    command.args(["--record", &record.name()]);
    run_command(command).await.ok();
    let replay = [
        "replay",
        &record.name(),
        "--against",
        server.url(),
        "--json",
    ];
    let report = run(&replay).await.json();
    assert_eq!(report["skipped"], 1, "{report}");
    assert_eq!(report["different"], 0, "{report}");
    assert_eq!(LOGINS.load(Ordering::Relaxed), 1);
}
