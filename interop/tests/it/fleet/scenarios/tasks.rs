//! Tasks that are created at one node, and read and cancelled at others.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{legacy, modern_with};

use crate::fleet::executions;
use crate::fleet::ledger::Failure;
use crate::fleet::node_client::{NodeClient, expect_equal, in_session, text_of};

/// The delay between two polls.
const POLL_DELAY: Duration = Duration::from_millis(50);

fn modern(method: &str, params: Value) -> Request {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    Request::modern(&modern_with(1, method, params, capabilities))
}

/// Lets a task of 2026-07-28 complete, and cancels another one.
pub(crate) async fn run_tasks(client: &NodeClient) -> Result<(), Failure> {
    let first = client.next_node();
    let bake = |layers: u32| {
        let arguments = json!({"layers": layers, "delay_ms": 50});
        modern(
            "tools/call",
            json!({"name": "bake", "arguments": arguments}),
        )
    };
    let short = created(&client.result_of(&first, &bake(3)).await?["taskId"])?;
    let long = created(&client.result_of(&first, &bake(1000)).await?["taskId"])?;
    let key = client.executions.next_key("task");
    let print = modern("tools/call", print_call(&key));
    let printing = created(&client.result_of(&first, &print).await?["taskId"])?;
    let cancel = modern("tasks/cancel", json!({"taskId": long}));
    client
        .result_of(&client.other_node(&first), &cancel)
        .await?;

    let get = |id: &str| modern("tasks/get", json!({"taskId": id}));
    let task = ended(client, &get(&short)).await?;
    expect_status(&task, "completed")?;
    expect_equal(text_of(&task["result"]), "a cake of 3 layers")?;
    let again = client.result_of(&client.next_node(), &get(&short)).await?;
    expect_equal(&again["result"], &task["result"])?;

    let task = ended(client, &get(&printing)).await?;
    expect_status(&task, "completed")?;
    expect_equal(text_of(&task["result"]), "printed")?;
    client.executions.record_success(key);

    let task = ended(client, &get(&long)).await?;
    expect_status(&task, "cancelled")
}

/// Lets a task of 2025-11-25 complete.
pub(crate) async fn run_legacy_task(client: &NodeClient) -> Result<(), Failure> {
    let session = client.open_session().await?;
    let first = client.next_node();
    let request = |method: &str, params: Value| in_session(&session, &legacy(1, method, params));
    let key = client.executions.next_key("legacy task");
    let mut params = print_call(&key);
    params["task"] = json!({});
    let call = request("tools/call", params);
    let id = created(&client.result_of(&first, &call).await?["task"]["taskId"])?;
    let get = request("tasks/get", json!({"taskId": id}));
    let task = ended(client, &get).await?;
    expect_status(&task, "completed")?;
    let result = request("tasks/result", json!({"taskId": id}));
    let result = client
        .result_of(&client.other_node(&first), &result)
        .await?;
    expect_equal(text_of(&result), "printed")?;
    client.executions.record_success(key);
    Ok(())
}

/// Returns the parameters of a call that prints its key.
fn print_call(key: &str) -> Value {
    json!({"name": executions::TOOL, "arguments": executions::arguments(key)})
}

fn created(id: &Value) -> Result<String, Failure> {
    let id = id.as_str().map(str::to_owned);
    id.ok_or_else(|| Failure::Wrong("the call has not become a task".to_owned()))
}

/// Polls a task in turn on all nodes until it has ended.
async fn ended(client: &NodeClient, get: &Request) -> Result<Value, Failure> {
    loop {
        let node = client.next_node();
        let task = client.result_of(&node, get).await?;
        let status = task["status"].as_str().unwrap_or_default();
        if ["completed", "failed", "cancelled"].contains(&status) {
            return Ok(task);
        }
        sleep(POLL_DELAY).await;
    }
}

/// Checks the last status of a task. A task whose node was lost has failed. No fault of the engine makes a task fail.
fn expect_status(task: &Value, expected: &str) -> Result<(), Failure> {
    let lost = "the server stopped while the task ran; call the tool again";
    if task["status"] == "failed" && task["statusMessage"] == lost {
        return Err(Failure::Unavailable(format!("the task is lost: {task}")));
    }
    if task["status"] != expected {
        return Err(Failure::Wrong(format!("expected {expected}: {task}")));
    }
    Ok(())
}
