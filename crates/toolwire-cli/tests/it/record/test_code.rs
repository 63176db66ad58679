//! `toolwire replay --test`: the code compiles and passes.
//!
//! `records/demo.rs` is the code for `records/demo.mcplog`, which is a record of the server below. `UPDATE_RECORDS=1 cargo
//! test -p toolwire-cli test_code` writes both again.

use std::time::Duration;

use toolwire::tasks::Tasks;
use toolwire::{CallToolResult, Elicit, RequestContext, Server, ToolError, tool};

use crate::client::run;
use crate::client::small_server::SmallServer;
use crate::http::HttpDemo;
use crate::process::toolwire;

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[derive(Debug, serde::Deserialize, Elicit)]
struct Confirmation {
    confirmed: bool,
}

/// Asks before it does something.
#[tool]
async fn confirm(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    let Confirmation { confirmed } = ctx.ask("confirmation", "Sure?").await?;
    Ok(if confirmed { "done" } else { "not done" })
}

/// Returns a time that is not that of the record.
#[tool]
async fn clock() -> CallToolResult {
    let since_epoch = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970");
    let time = format!("2026-11-18T10:00:00.{:09}Z", since_epoch.subsec_nanos());
    let structured = serde_json::json!({"time": time, "zone": "UTC"});
    let mut result = CallToolResult::text(structured.to_string());
    result.structured_content = Some(structured.into());
    result
}

/// Becomes a task.
#[tool(task)]
async fn bake() -> &'static str {
    tokio::time::sleep(Duration::from_millis(30)).await;
    "a cake"
}

fn server() -> Server {
    Server::new("recorded", "1.0.0")
        .with_tasks(Tasks::in_memory().with_poll_interval(Duration::from_millis(50)))
        .with_page_size(3)
        .tool(add)
        .tool(confirm)
        .tool(clock)
        .tool(bake)
}

include!("../../records/demo.rs");

#[tokio::test]
async fn code_is_that_of_the_record() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records");
    let record = format!("{directory}/demo.mcplog");
    let is_updating = std::env::var_os("UPDATE_RECORDS").is_some();
    if is_updating {
        // The file may be missing.
        let _ = std::fs::remove_file(&record);
        write_record(&record).await;
    }
    let code = run(&["replay", &record, "--test"]).await.ok();
    let file = format!("{directory}/demo.rs");
    if is_updating {
        std::fs::write(&file, &code).expect("the file is writable");
    }
    let expected = std::fs::read_to_string(file).expect("the file is readable");
    assert_eq!(
        code, expected,
        "run with UPDATE_RECORDS=1 to update the code"
    );
}

/// Records calls in both eras.
async fn write_record(record: &str) {
    let server = SmallServer::start(server()).await;
    let proxy = toolwire(&["record", record, server.url(), "--listen", "127.0.0.1:0"]);
    let proxy = HttpDemo::start_command(proxy).await;
    for era in ["modern", "legacy"] {
        for call in [
            &["add", "a=1", "b=2"][..],
            &["confirm", "--answer", "confirmed=yes"],
            &["clock"],
            &["bake"],
        ] {
            let url = proxy.url();
            let call = [&["call", &url, "--era", era], call].concat();
            run(&call).await.ok();
        }
    }
    // The state of a task is requested until the task ends.
    let url = proxy.url();
    let id = run(&["call", &url, "bake", "--task"]).await.ok();
    loop {
        let task = run(&["task", "get", &url, id.trim()]).await.ok();
        if task.contains("completed") {
            return;
        }
    }
}
