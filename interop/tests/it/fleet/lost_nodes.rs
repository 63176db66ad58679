//! The work of a node that was killed: its clients get an error, and do not wait for ever.

use serde_json::json;
use tokio::time::{Duration, sleep, timeout};
use toolwire_interop::Fleet;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{legacy, modern_with};

use super::node_client::{LEGACY, NodeClient, in_session, is_response};

/// Longer than the leases of streams and tasks, which are 30 seconds.
const TIMEOUT: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread")]
async fn work_of_a_killed_node_ends() {
    let mut fleet = Fleet::start(1).unwrap_or_else(|problem| panic!("{problem}"));
    let client = NodeClient::new(fleet.addresses());
    let node = client.next_node();
    let session = client.open_session().await.unwrap();
    let params = json!({
        "name": "countdown",
        "arguments": {"from": 100_000, "delay_ms": 50},
        "_meta": {"progressToken": "t"},
    });
    let call = in_session(&session, &legacy(1, "tools/call", params));
    let mut events = client.open(&node, &call).await.unwrap();
    while events.next().await.unwrap().unwrap().data.is_empty() {}

    let task_request = |method: &str, params| {
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        Request::modern(&modern_with(1, method, params, capabilities))
    };
    let arguments = json!({"layers": 1000, "delay_ms": 60_000});
    let bake = task_request(
        "tools/call",
        json!({"name": "bake", "arguments": arguments}),
    );
    let task = client.result_of(&node, &bake).await.unwrap();
    let get = task_request("tasks/get", json!({"taskId": task["taskId"]}));

    fleet
        .add_node()
        .unwrap_or_else(|problem| panic!("{problem}"));
    fleet.kill_node(0);
    let last = events.last_id.clone().unwrap();
    let stream_ends = async {
        let resume = Request::get(&session, LEGACY).with("Last-Event-ID", last);
        let mut events = client.open_when_available(&resume).await.unwrap();
        loop {
            let event = events
                .next()
                .await
                .unwrap()
                .expect("a response comes first");
            let message = event.message();
            if is_response(&message) {
                return message;
            }
        }
    };
    let task_ends = async {
        loop {
            let task = client.result_of(&client.next_node(), &get).await.unwrap();
            if task["status"] != "working" {
                return task;
            }
            sleep(Duration::from_millis(500)).await;
        }
    };
    let (response, task) = timeout(TIMEOUT, async { tokio::join!(stream_ends, task_ends) })
        .await
        .expect("the leases end");
    assert_eq!(response["id"], 1, "{response}");
    assert!(response["error"]["message"].is_string(), "{response}");
    assert_eq!(task["status"], "failed", "{task}");
}
