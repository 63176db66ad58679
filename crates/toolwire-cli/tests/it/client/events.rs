//! `toolwire events`.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use toolwire::Server;
use toolwire::events::{Emitter, Event};

use crate::client::run;
use crate::client::small_server::SmallServer;
use crate::process::{toolwire, within};

/// The filter of the builds.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    /// The lowest number.
    from: u32,
}

/// A build finished.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Build {
    number: u32,
}

#[tokio::test]
async fn events_are_listed_and_watched() {
    let builds =
        Emitter::new().matching(|filter: &Filter, build: &Build| build.number >= filter.from);
    let server = Server::new("desk", "1.0.0").event("build.finished", builds.clone());
    let server = SmallServer::start(server).await;
    let list = run(&["events", "list", server.url()]).await.ok();
    for part in ["build.finished", "poll, push", "A build finished."] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let arguments = [
        "events",
        "watch",
        server.url(),
        "build.finished",
        "from=2",
        "--json",
        "--count",
        "1",
    ];
    let mut command = toolwire(&arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut watching = command.spawn().unwrap();
    let mut stderr_lines = BufReader::new(watching.stderr.take().unwrap()).lines();
    let line = within(stderr_lines.next_line()).await.unwrap().unwrap();
    assert_eq!(line, "watching build.finished");
    for number in [1, 2] {
        let event = Event::new(Build { number }).with_id(format!("build-{number}"));
        builds.emit(event).unwrap();
    }
    let output = within(watching.wait_with_output()).await.unwrap();
    assert!(output.status.success());
    let event: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(event["eventId"], "build-2", "{event}");
    assert_eq!(event["data"], json!({"number": 2}));
}

#[tokio::test]
async fn unknown_events_and_servers_without_events_are_named() {
    let builds = Emitter::<Filter, Build>::new();
    let server = Server::new("desk", "1.0.0").event("build.finished", builds);
    let server = SmallServer::start(server).await;
    let failed = run(&["events", "watch", server.url(), "build.finishd", "from=1"]).await;
    assert!(failed.stderr.contains("build.finished"), "{failed:?}");
    let without = SmallServer::start(Server::new("none", "1.0.0")).await;
    let list = run(&["events", "list", without.url()]).await;
    assert!(list.stderr.contains("does not offer events"), "{list:?}");
}
