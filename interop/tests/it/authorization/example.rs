//! The example `log_in`, as a user runs it: three times, and logged out at the end.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use toolwire::ProtocolVersion;
use toolwire_interop::built_example;

use super::guarded::Guard;
use super::logins::ONE_LOGIN;
use super::token_file::TokenFile;
use super::{Scene, start};

/// Longer than a login takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_logs_in_once() {
    let provider = start(&[]);
    let scene = Scene::new(&provider, Guard::Signed).await;
    let file = TokenFile::new("example", ProtocolVersion::LATEST);
    let issuer = provider.issuer();
    let work = [
        format!("logged in at {issuer}, scopes: notes:read"),
        "tool who_calls".to_owned(),
        "tool write".to_owned(),
    ];
    for _ in 0..2 {
        let said = run(&scene, &file, "--no-browser").await;
        assert!(said.ends_with(&work), "{said:?}");
        assert_eq!(scene.browser.opened().len(), 1);
    }
    assert_eq!(scene.seen().await, ONE_LOGIN);
    assert_eq!(run(&scene, &file, "--log-out").await, ["logged out"]);
    assert_eq!(scene.seen().await, ["revoked"]);
}

/// Opens the address it shows; all lines that it writes.
async fn run(scene: &Scene<'_>, file: &TokenFile, flag: &str) -> Vec<String> {
    let program = built_example("peered_log_in").expect("it is built");
    let mut child = Command::new(program)
        .arg(&scene.server.url)
        .arg(file.path())
        .arg(flag)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let running = async {
        let mut said = Vec::new();
        while let Some(line) = lines.next_line().await.expect("it is text") {
            let address = line.trim();
            if address.starts_with("http://") {
                scene.browser.log_in(address).await;
            }
            said.push(line);
        }
        said
    };
    let said = tokio::time::timeout(PATIENCE, running).await;
    let said = said.expect("it ends in time");
    let status = child.wait().await.expect("it ends");
    assert!(status.success(), "{status}: {said:?}");
    said
}
