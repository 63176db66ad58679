//! Faults that are switched on, with a server that sends notifications over HTTP.

use serde_json::{Value, json};
use tokio::sync::watch;
use toolwire::{RawJson, RequestContext, Server, Tool, ToolHandler};

use super::InspectCommand;
use crate::client::small_server::SmallServer;
use crate::process::within;

/// How many notifications the tool sends.
const STEPS: i64 = 3;

/// A server with a tool that reports progress and then waits until it is released.
fn notifying(released: &watch::Sender<bool>) -> Server {
    let released = released.subscribe();
    let tool = Tool::new("steps", json!({"type": "object"}));
    let tool = ToolHandler::raw(tool, move |ctx: RequestContext, _: RawJson| {
        let mut released = released.clone();
        async move {
            for step in 1..=STEPS {
                ctx.report_steps(step, STEPS, None);
            }
            let _ = released.wait_for(|is_released| *is_released).await;
            "done"
        }
    });
    Server::new("notifying", "1").tool(tool)
}

/// Returns how many progress notifications the log has.
async fn notifications(page: &InspectCommand) -> usize {
    let log = page.get("/api/log").await;
    let entries = log.as_array().expect("a list").iter();
    let is_progress = |entry: &&Value| entry["method"] == "notifications/progress";
    entries.filter(is_progress).count()
}

/// Starts a call, and waits until its last notification has arrived. Returns its path.
async fn start_call(page: &InspectCommand) -> String {
    let body = json!({"method": "tools/call", "params": {"name": "steps", "arguments": {}}});
    let (status, started) = page.request("POST", "/api/calls", Some(&body)).await;
    assert_eq!(status, 202, "{started}");
    let path = format!("/api/calls/{}", started["id"]);
    until(page, &path, |call| call["progress"]["progress"] == 3.0).await;
    path
}

async fn until(page: &InspectCommand, path: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
    within(async {
        loop {
            let value = page.get(path).await;
            if is_expected(&value) {
                return value;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn notifications_arrive_twice() {
    let server = SmallServer::start(notifying(&watch::Sender::new(true))).await;
    for era in ["modern", "legacy"] {
        let page = InspectCommand::start(&["--era", era, server.url()]).await;
        let steps = usize::try_from(STEPS).expect("a small number");
        for (repeats, expected) in [(false, steps), (true, 2 * steps)] {
            let change = json!({"faults": {"repeatNotifications": repeats}});
            page.request("PATCH", "/api/settings", Some(&change)).await;
            page.request("DELETE", "/api/log", None).await;
            let path = start_call(&page).await;
            let outcome = until(&page, &path, |call| call["state"] == "done").await;
            assert_eq!(outcome["failed"], false, "{era}: {outcome}");
            assert_eq!(notifications(&page).await, expected, "{era}, {repeats}");
        }
    }
}

#[tokio::test]
async fn dropped_stream_ends_its_call_or_is_resumed() {
    for era in ["modern", "legacy"] {
        let released = watch::Sender::new(false);
        let server = SmallServer::start(notifying(&released)).await;
        let page = InspectCommand::start(&["--era", era, server.url()]).await;
        let path = start_call(&page).await;
        let (status, _) = page.request("DELETE", "/api/streams", None).await;
        assert_eq!(status, 204);
        // Only legacy streams can be resumed.
        let is_resumed = era == "legacy";
        if is_resumed {
            let resumes = |log: &Value| log.to_string().contains("last-event-id: (hidden)");
            until(&page, "/api/log", resumes).await;
            released.send_replace(true);
        }
        let outcome = until(&page, &path, |call| call["state"] == "done").await;
        assert_eq!(outcome["failed"], !is_resumed, "{era}: {outcome}");
        // The connection is still usable.
        released.send_replace(true);
        let path = start_call(&page).await;
        let outcome = until(&page, &path, |call| call["state"] == "done").await;
        assert_eq!(outcome["failed"], false, "{era}: {outcome}");
    }
}
