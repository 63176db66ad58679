//! The example `log_in`, run three times, with a logout at the end.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use toolwire::ProtocolVersion;
use toolwire_interop::built_example;

use super::guarded::Guard;
use super::logins::ONE_LOGIN;
use super::token_file::TokenFile;
use super::{Fixture, start};

/// Longer than a login takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn example_logs_in_once() {
    let provider = start(&[]);
    let fixture = Fixture::new(&provider, Guard::Signed).await;
    let file = TokenFile::new("example", ProtocolVersion::LATEST);
    let issuer = provider.issuer();
    let work = [
        format!("logged in at {issuer}, scopes: notes:read"),
        "tool who_calls".to_owned(),
        "tool write".to_owned(),
    ];
    for _ in 0..2 {
        let said = run(&fixture, &file, "--no-browser").await;
        assert!(said.ends_with(&work), "{said:?}");
        assert_eq!(fixture.browser.opened().len(), 1);
    }
    assert_eq!(fixture.seen().await, ONE_LOGIN);
    assert_eq!(run(&fixture, &file, "--log-out").await, ["logged out"]);
    assert_eq!(fixture.seen().await, ["revoked"]);
}

/// Runs the example, opens the address that it prints, and returns its lines.
async fn run(fixture: &Fixture<'_>, file: &TokenFile, flag: &str) -> Vec<String> {
    let program = built_example("interop_log_in").expect("the example is built");
    let mut child = Command::new(program)
        .arg(&fixture.server.url)
        .arg(file.path())
        .arg(flag)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the example starts");
    let mut lines = BufReader::new(child.stderr.take().expect("standard error is piped")).lines();
    let running = async {
        let mut said = Vec::new();
        while let Some(line) = lines.next_line().await.expect("standard error is text") {
            let address = line.trim();
            if address.starts_with("http://") {
                fixture.browser.log_in(address).await;
            }
            said.push(line);
        }
        said
    };
    let said = tokio::time::timeout(TIMEOUT, running).await;
    let said = said.expect("the example exits in time");
    let status = child.wait().await.expect("the example exits");
    assert!(status.success(), "{status}: {said:?}");
    said
}
