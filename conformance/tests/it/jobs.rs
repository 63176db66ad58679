//! The task tools of `conformance-server` that the suite does not call.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::types::{ElicitRequestFormParams, ElicitResult};
use toolwire::{CallToolResult, Called, Client, Error};
use toolwire_conformance::Fixture;

/// Runs a tool as a task. Returns its outcome and the texts of its input requests.
async fn run(tool: &'static str, arguments: Value) -> (Result<CallToolResult, Error>, Vec<String>) {
    let server = Fixture::start(Path::new(env!("CARGO_BIN_EXE_conformance-server"))).await;
    let server = server.unwrap_or_else(|problem| panic!("{problem}"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let texts = Arc::clone(&asked);
    let client = Client::builder("jobs", "1.0.0")
        .with_tasks()
        .on_elicitation(move |form: ElicitRequestFormParams| {
            texts.lock().expect("no panic").push(form.message);
            async { Ok(ElicitResult::accept().with_content([("confirm", json!(true))])) }
        })
        .connect(server.url())
        .await
        .expect("the server is reachable");
    let outcome = match client.call_tool(tool, arguments).as_task().await {
        Ok(Called::Task(task)) => task.wait().await,
        other => panic!("expected a task: {other:?}"),
    };
    client.close().await;
    let asked = asked.lock().expect("no panic").clone();
    (outcome, asked)
}

#[tokio::test]
async fn task_asks_again_under_the_same_key_with_another_text() {
    let (outcome, asked) = run("reask_job", json!({})).await;
    assert_eq!(outcome.expect("a result").all_text(), "asked twice");
    assert_eq!(asked, ["Round 1?", "Round 2?"]);
}

#[tokio::test]
async fn text_of_a_panic_does_not_reach_the_client() {
    let (outcome, _) = run("panic_job", json!({})).await;
    let error = outcome.expect_err("the task fails");
    assert_eq!(error.rpc().map(|error| error.code), Some(-32603), "{error}");
    assert!(
        !format!("{error:?}").contains("must not reach"),
        "{error:?}"
    );
}

#[tokio::test]
async fn size_of_an_outcome_is_limited() {
    const MIB: usize = 1024 * 1024;

    let (outcome, _) = run("big_job", json!({"bytes": 3 * MIB})).await;
    assert_eq!(outcome.expect("a result").all_text().len(), 3 * MIB);
    let (outcome, _) = run("big_job", json!({"bytes": 4 * MIB})).await;
    let error = outcome.expect_err("the result is too large");
    assert!(error.to_string().contains("4194304 bytes"), "{error}");
}
