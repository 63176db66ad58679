//! Tasks over HTTP.

use serde_json::{Value, json};
use toolwire::types::ElicitResult;
use toolwire_tests::peer::within;

use super::fake::{Fake, builder};
use super::script::{RecordedRequest, Reply, modern};

/// An id that needs an encoding as a header value.
const ID: &str = "Grüße";
const ENCODED_ID: &str = "=?base64?R3LDvMOfZQ==?=";

fn task(status: &str) -> Value {
    json!({
        "taskId": ID,
        "status": status,
        "createdAt": "2026-11-17T10:00:00Z",
        "lastUpdatedAt": "2026-11-17T10:00:00Z",
        "ttlMs": null,
        "pollIntervalMs": 100,
    })
}

/// The script of a server whose tool calls become tasks, which require input at the first poll.
fn with_tasks(request: &RecordedRequest) -> Reply {
    match (request.method(), request.nth) {
        ("tools/call", _) => {
            let mut created = task("working");
            created["resultType"] = json!("task");
            request.respond(created)
        }
        ("tasks/get", 0) => {
            let mut asking = task("input_required");
            let form = json!({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}});
            asking["inputRequests"] =
                json!({"sure": {"method": "elicitation/create", "params": form}});
            request.respond(asking)
        }
        ("tasks/get", 1) => Reply::status(503),
        ("tasks/get", 2) => Reply::status(429),
        ("tasks/get", 3) => Reply::closed(),
        ("tasks/get", 4) => request.reject(500, json!({"code": -32603, "message": "broken"})),
        ("tasks/get", _) => {
            let mut completed = task("completed");
            completed["resultType"] = json!("complete");
            completed["result"] = request.done();
            request.respond(completed)
        }
        ("tasks/update" | "tasks/cancel", _) => request.respond(json!({"resultType": "complete"})),
        _ => modern(request),
    }
}

#[tokio::test]
async fn failed_polls_are_repeated_and_every_request_names_its_task() {
    let server = Fake::start(with_tasks).await;
    let builder = builder()
        .with_tasks()
        .on_elicitation(|_| async { Ok(ElicitResult::accept()) });
    let client = server.connect_with(builder).await.unwrap();
    let result = within(client.call_tool("render", json!({})).into_future());
    assert_eq!(result.await.unwrap().all_text(), "done");
    within(client.task(ID).cancel()).await.unwrap();
    for (method, count) in [("tasks/get", 6), ("tasks/update", 1), ("tasks/cancel", 1)] {
        let requests = server.record.of("POST", method);
        assert_eq!(requests.len(), count, "{method}");
        for request in requests {
            assert_eq!(request.header("mcp-name"), Some(ENCODED_ID), "{request:?}");
            assert_eq!(request.header("mcp-method"), Some(method));
            assert_eq!(request.body["params"]["taskId"], ID);
        }
    }
}

#[tokio::test]
async fn dropped_call_cancels_its_task() {
    let server = Fake::start(|request| match request.method() {
        "tasks/get" => request.respond(task("working")),
        _ => with_tasks(request),
    })
    .await;
    let client = server.connect_with(builder().with_tasks()).await.unwrap();
    let call = tokio::spawn(client.call_tool("render", json!({})).into_future());
    server.record.nth("POST", "tasks/get", 1).await;
    call.abort();
    let cancel = server.record.nth("POST", "tasks/cancel", 0).await;
    assert_eq!(cancel.header("mcp-name"), Some(ENCODED_ID));
}

#[tokio::test]
async fn rejected_credentials_end_the_wait() {
    let server = Fake::start(|request| match request.method() {
        "tasks/get" => Reply::status(401),
        _ => with_tasks(request),
    })
    .await;
    let client = server.connect_with(builder().with_tasks()).await.unwrap();
    let call = within(client.call_tool("render", json!({})).into_future());
    assert_eq!(call.await.unwrap_err().http_status(), Some(401));
    assert_eq!(server.record.of("POST", "tasks/get").len(), 1);
}
