//! Input requests of tasks, and their responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::types::{ElicitRequestFormParams, InputRequests};
use toolwire::{Elicit, Error, RequestContext, Server, ToolHandler, ToolResponse, ask};
use toolwire_tests::peer::{Peer, plain, within};

use crate::peer::{accept, call, get, request, server, start, update, wait_for};

#[derive(Deserialize, Elicit)]
struct Sure {
    sure: bool,
}

/// A tool that has an effect, asks, and has another effect. Returns it with the number of its effects.
fn publish() -> (ToolHandler, Arc<AtomicUsize>) {
    let effects = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&effects);
    let tool = plain("publish", move |ctx: RequestContext| {
        let counter = Arc::clone(&counter);
        async move {
            let effect = |value: &'static str| {
                let counter = Arc::clone(&counter);
                async move {
                    counter.fetch_add(1, Ordering::SeqCst);
                    value.to_owned()
                }
            };
            let before: String = ctx.once("before", effect("a")).await?;
            let sure: Sure = ctx.ask("sure", "Publish?").await?;
            let after: String = ctx.once("after", effect("b")).await?;
            Ok::<_, Error>(format!("{before}{after} {}", sure.sure))
        }
    });
    (tool.with_task(TaskOptions::new()), effects)
}

#[tokio::test]
async fn task_asks_and_continues_with_the_response() {
    let (tool, effects) = publish();
    let mut peer = Peer::connect(&server().tool(tool));
    let id = start(&mut peer, "publish", json!({})).await;
    let task = wait_for(&mut peer, &id, "input_required").await;
    let question = &task["inputRequests"]["sure"];
    assert_eq!(question["method"], "elicitation/create", "{task}");
    assert_eq!(question["params"]["message"], "Publish?");
    assert_eq!(task.get("requestState"), None);

    let invalid = update(&id, "sure", accept(json!({"sure": "maybe"})));
    let error = peer.error_of(invalid, -32602).await;
    assert!(
        error["message"].as_str().unwrap().contains("sure"),
        "{error}"
    );
    let task = peer.result_of(get(&id)).await;
    assert_eq!(
        task["status"], "input_required",
        "an invalid answer changes nothing"
    );
    let ignored = peer
        .result_of(update(&id, "unknown", accept(json!({}))))
        .await;
    assert_eq!(ignored, json!({"resultType": "complete"}));

    let acknowledged = peer.result_of(update(&id, "sure", accept(json!({"sure": true}))));
    assert_eq!(acknowledged.await, json!({"resultType": "complete"}));
    let task = peer.result_of(get(&id)).await;
    assert_eq!(
        task["inputRequests"].get("sure"),
        None,
        "the key is gone at once"
    );
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "ab true");
    assert_eq!(effects.load(Ordering::SeqCst), 2);
    // Late answers are ignored.
    peer.result_of(update(&id, "sure", accept(json!({"sure": false}))))
        .await;
}

#[tokio::test]
async fn two_input_requests_get_responses_one_by_one() {
    let tool = plain("both", |ctx: RequestContext| async move {
        let questions = (
            ask::form::<Sure>("one", "One?"),
            ask::form::<Sure>("two", "Two?"),
        );
        let (one, two) = ctx.ask_all(questions).await?;
        Ok::<_, Error>(format!("{} {}", one.sure, two.sure))
    });
    let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
    let id = start(&mut peer, "both", json!({})).await;
    let task = wait_for(&mut peer, &id, "input_required").await;
    let keys: Vec<_> = task["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["one", "two"]);
    peer.result_of(update(&id, "one", accept(json!({"sure": true}))))
        .await;
    let task = peer.result_of(get(&id)).await;
    assert_eq!(task["status"], "input_required");
    let keys: Vec<_> = task["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["two"]);
    peer.result_of(update(&id, "two", accept(json!({"sure": false}))))
        .await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "true false");
}

#[tokio::test]
async fn another_input_request_under_the_same_key_gets_another_key() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    // The handler ends with an input request of its own, and asks differently in the second run.
    let tool = plain("again", move |ctx: RequestContext| {
        let run = counter.fetch_add(1, Ordering::SeqCst);
        async move {
            if run == 2 {
                return Ok::<_, Error>(ToolResponse::Text("done".to_owned()));
            }
            let message = format!("Question {run}?");
            let form = ElicitRequestFormParams::new(message, Sure::elicit_schema());
            let requests = InputRequests::new().with("confirm", form);
            let seen = ctx.has_input_response("confirm");
            assert_eq!(seen, run > 0, "the answer of the last run is there");
            Ok(ToolResponse::input_required(
                requests,
                Some(run.to_string()),
            ))
        }
    });
    let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
    let id = start(&mut peer, "again", json!({})).await;
    for (key, message) in [("confirm", "Question 0?"), ("confirm~2", "Question 1?")] {
        let task = within(async {
            loop {
                let task = wait_for(&mut peer, &id, "input_required").await;
                if task["inputRequests"].get(key).is_some() {
                    return task;
                }
            }
        })
        .await;
        assert_eq!(task["inputRequests"][key]["params"]["message"], message);
        peer.result_of(update(&id, key, accept(json!({"sure": true}))))
            .await;
    }
    wait_for(&mut peer, &id, "completed").await;
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn one_run_uses_a_key_for_one_text() {
    let tool = plain("asks", |ctx: RequestContext| async move {
        let first: Sure = ctx.ask("sure", "Publish?").await?;
        let second: Sure = ctx.ask("sure", "Really publish?").await?;
        Ok::<_, Error>((first.sure && second.sure).to_string())
    });
    let mut peer = Peer::connect(&server().tool(tool.with_task(TaskOptions::new())));
    let id = start(&mut peer, "asks", json!({})).await;
    wait_for(&mut peer, &id, "input_required").await;
    peer.result_of(update(&id, "sure", accept(json!({"sure": true}))))
        .await;
    let task = wait_for(&mut peer, &id, "failed").await;
    let message = task["error"]["message"].as_str().unwrap();
    assert!(
        message.contains(r#"key "sure" is used for two"#),
        "{message}"
    );
}

/// Reports the end of a run, completed or dropped.
struct RunEnd(UnboundedSender<()>);

impl Drop for RunEnd {
    fn drop(&mut self) {
        // Fails if the test has ended.
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn another_text_after_a_restart_is_another_input_request() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let (ended, mut ends) = unbounded_channel();
    // The text of the input request depends on the run, which the rule for handlers forbids.
    let tool = plain("asks", move |ctx: RequestContext| {
        let run = counter.fetch_add(1, Ordering::SeqCst);
        let end = RunEnd(ended.clone());
        async move {
            let _end = end;
            let text = if run == 0 {
                "Publish?"
            } else {
                "Really publish?"
            };
            let sure: Sure = ctx.ask("sure", text).await?;
            Ok::<_, Error>(sure.sure.to_string())
        }
    });
    let tasks = Tasks::in_memory().with_park_after(Duration::ZERO);
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(tool.with_task(TaskOptions::new()));
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "asks", json!({})).await;
    wait_for(&mut peer, &id, "input_required").await;
    within(ends.recv()).await.expect("the first run ends");
    peer.result_of(update(&id, "sure", accept(json!({"sure": false}))))
        .await;
    let task = wait_for(&mut peer, &id, "input_required").await;
    let open = task["inputRequests"].as_object().unwrap();
    assert_eq!(open.keys().collect::<Vec<_>>(), ["sure~2"], "{task}");
    assert_eq!(open["sure~2"]["params"]["message"], "Really publish?");
    peer.result_of(update(&id, "sure~2", accept(json!({"sure": true}))))
        .await;
    let task = wait_for(&mut peer, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "true", "{task}");
}

/// A server with the tool `publish`, which asks, and reports the end of each run and each effect.
fn publisher(tasks: Tasks) -> (Server, UnboundedReceiver<()>, Arc<AtomicUsize>) {
    let (ended, runs) = unbounded_channel();
    let effects = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&effects);
    let tool = plain("publish", move |ctx: RequestContext| {
        let (run, counter) = (RunEnd(ended.clone()), Arc::clone(&counter));
        async move {
            let _run = run;
            let effect = async move { counter.fetch_add(1, Ordering::SeqCst) };
            let number: usize = ctx.once("effect", effect).await?;
            let sure: Sure = ctx.ask("sure", "Publish?").await?;
            Ok::<_, Error>(format!("{number} {}", sure.sure))
        }
    });
    let server = toolwire_tests::peer::server()
        .with_tasks(tasks)
        .tool(tool.with_task(TaskOptions::new()));
    (server, runs, effects)
}

/// Responds to the input request of `publish`, and returns the text of its result.
async fn finish_publishing(peer: &mut Peer, id: &str) -> String {
    peer.result_of(update(id, "sure", accept(json!({"sure": true}))))
        .await;
    let task = wait_for(peer, id, "completed").await;
    task["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn handler_that_waits_too_long_ends_and_starts_again() {
    let tasks = Tasks::in_memory().with_park_after(Duration::from_millis(1));
    let (server, mut runs, effects) = publisher(tasks);
    let mut peer = Peer::connect(&server);
    let id = start(&mut peer, "publish", json!({})).await;
    within(runs.recv()).await.expect("the first run ends");
    wait_for(&mut peer, &id, "input_required").await;
    assert_eq!(finish_publishing(&mut peer, &id).await, "0 true");
    within(runs.recv()).await.expect("the second run ends");
    assert_eq!(effects.load(Ordering::SeqCst), 1, "the effect happens once");
}

#[tokio::test]
async fn handler_that_has_waited_longest_makes_room_for_another() {
    let tasks = Tasks::in_memory().with_max_waiting(2);
    let (server, mut runs, effects) = publisher(tasks);
    let mut peer = Peer::connect(&server);
    let mut ids = Vec::new();
    for number in 0..3 {
        assert!(runs.is_empty(), "{number} handlers wait");
        let id = start(&mut peer, "publish", json!({})).await;
        wait_for(&mut peer, &id, "input_required").await;
        ids.push(id);
    }
    within(runs.recv()).await.expect("one handler ends");
    assert!(runs.is_empty(), "two handlers wait");
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(
            finish_publishing(&mut peer, id).await,
            format!("{number} true")
        );
    }
    assert_eq!(effects.load(Ordering::SeqCst), 3);
    drop(peer);
    for _ in 0..3 {
        within(runs.recv())
            .await
            .expect("each task has one more run");
    }
    assert!(runs.is_empty());
}

#[tokio::test]
async fn input_request_before_the_task_is_sent_by_the_call() {
    let tool = plain("order", |ctx: RequestContext| async move {
        let name: String = ctx.ask("user_name", "Who?").await?;
        ctx.start_task().await?;
        let id = ctx.task_id().map(str::to_owned);
        let sure: Sure = ctx.ask("sure", "Sure?").await?;
        Ok::<_, Error>(format!("{name} {} {}", sure.sure, id.is_some()))
    });
    let tool = tool.with_task(TaskOptions::new().required().on_demand());
    let mut peer = Peer::connect(&server().tool(tool));
    let asked = peer.result_of(call("order", json!({}))).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let params = json!({
        "name": "order", "arguments": {},
        "inputResponses": {"user_name": accept(json!({"value": "Ann"}))},
        "requestState": asked["requestState"],
    });
    let created: Value = peer.result_of(request("call", "tools/call", params)).await;
    assert_eq!(created["resultType"], "task", "{created}");
    assert_eq!(created.get("requestState"), None);
    let id = created["taskId"].as_str().unwrap();
    wait_for(&mut peer, id, "input_required").await;
    peer.result_of(update(id, "sure", accept(json!({"sure": true}))))
        .await;
    let task = wait_for(&mut peer, id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "Ann true true");
}
