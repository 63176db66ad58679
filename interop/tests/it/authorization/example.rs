//! The example `log_in`, run three times, with a logout at the end.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use toolwire::ProtocolVersion;
use toolwire_interop::built_example;

use super::logins::ONE_LOGIN;
use super::protected_server::TokenKind;
use super::token_file::TokenFile;
use super::{Fixture, start};

/// Longer than a login takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn example_logs_in_once() {
    let provider = start(&[]);
    let fixture = Fixture::new(&provider, TokenKind::Signed).await;
    let file = TokenFile::new("example", ProtocolVersion::LATEST);
    let issuer = provider.issuer();
    let work = [
        format!("logged in at {issuer}, scopes: notes:read"),
        "tool who_calls".to_owned(),
        "tool write".to_owned(),
    ];
    for _ in 0..2 {
        let output = run(&fixture, &file, "--no-browser").await;
        assert!(output.ends_with(&work), "{output:?}");
        assert_eq!(fixture.browser.opened().len(), 1);
    }
    assert_eq!(fixture.take_events().await, ONE_LOGIN);
    assert_eq!(run(&fixture, &file, "--log-out").await, ["logged out"]);
    assert_eq!(fixture.take_events().await, ["revoked"]);
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
    let mut stderr_lines =
        BufReader::new(child.stderr.take().expect("standard error is piped")).lines();
    let running = async {
        let mut output = Vec::new();
        while let Some(line) = stderr_lines
            .next_line()
            .await
            .expect("standard error is text")
        {
            let address = line.trim();
            if address.starts_with("http://") {
                fixture.browser.log_in(address).await;
            }
            output.push(line);
        }
        output
    };
    let output = tokio::time::timeout(TIMEOUT, running).await;
    let output = output.expect("the example exits in time");
    let status = child.wait().await.expect("the example exits");
    assert!(status.success(), "{status}: {output:?}");
    output
}
