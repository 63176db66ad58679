//! Notifications of the server: progress, log messages and changes. Also cancellation of a call.

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolwire::Change;
use toolwire::LoggingLevel;
use toolwire::types::SubscriptionFilter;

use super::pair::{Failure, Outcome, Pair, equal, text_of};

const COUNTER: &str = "demo://counter";

pub(crate) async fn receives_progress(pair: &Pair) -> Outcome {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&steps);
    let result = pair
        .client
        .call_tool("count", json!({"to": 4, "delay_ms": 5}))
        .on_progress(move |step| {
            let mut received = received.lock().expect("no thread panics with the lock");
            received.push((step.progress, step.total));
        })
        .await?;
    equal(text_of(&result), "counted to 4")?;
    // All progress arrives before the response.
    let steps = steps
        .lock()
        .expect("no thread panics with the lock")
        .clone();
    equal(
        &steps[..],
        [1.0, 2.0, 3.0, 4.0].map(|step| (step, Some(4.0))),
    )
}

/// Dropping the future cancels the handler of the server.
pub(crate) async fn dropped_call_is_cancelled(pair: &Pair) -> Outcome {
    let before: u32 = pair.call("cancelled", json!({})).await?.parse()?;
    let (call, mut progress) = pair.client.call_tool("wait", json!({})).with_progress();
    let mut call = Box::pin(call.into_future());
    tokio::select! {
        response = &mut call => return Err(Failure::new(format!("the call did not wait: {response:?}"))),
        _ = progress.next() => {}
    }
    drop(call);
    // The server may process the cancellation later. The check has a timeout.
    while pair.call("cancelled", json!({})).await?.parse::<u32>()? == before {}
    equal(
        pair.call("cancelled", json!({})).await?.parse::<u32>()?,
        before + 1,
    )
}

/// The server closes the stream of the call and stores the response until the client resumes.
pub(crate) async fn resumes_a_released_stream(pair: &Pair) -> Outcome {
    equal(
        pair.call("release_stream", json!({})).await?,
        "stream released",
    )
}

pub(crate) async fn receives_log_messages(pair: &Pair) -> Outcome {
    pair.client.set_log_level(Some(LoggingLevel::Info)).await?;
    equal(
        pair.call("log", json!({"text": "low on paper"})).await?,
        "logged",
    )?;
    let message = pair.user.logged().await;
    equal(message.level, LoggingLevel::Warning)?;
    equal(message.logger.as_deref(), Some("demo"))?;
    equal(message.data.get(), "\"low on paper\"")
}

pub(crate) async fn receives_resource_changes(pair: &Pair) -> Outcome {
    let filter = SubscriptionFilter::new().with_resource(COUNTER);
    let mut changes = pair.client.listen(filter).await?;
    for _ in 0..2 {
        let value = pair.call("bump", json!({})).await?;
        equal(
            changes.next().await?,
            Some(Change::ResourceUpdated(COUNTER.to_owned())),
        )?;
        // The cached value is invalid.
        equal(pair.read(COUNTER).await?, value)?;
    }
    Ok(())
}

pub(crate) async fn receives_list_changes(pair: &Pair) -> Outcome {
    let filter = SubscriptionFilter::new().with_tools_list_changed();
    let mut changes = pair.client.listen(filter).await?;
    let added = pair.call("add_tool", json!({})).await?;
    equal(changes.next().await?, Some(Change::ToolsListChanged))?;
    let tools = pair.client.list_tools().await?;
    equal(tools.iter().any(|tool| tool.name == added), true)?;
    equal(pair.call(&added, json!({})).await?, added)
}
