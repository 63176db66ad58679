//! The features of the npm reference server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::Change;
use toolwire::types::{
    CompleteRequestParams, CompletionArgument, PromptReference, SubscriptionFilter,
};
use toolwire::{ContentBlock, LoggingLevel, ResourceContents};

use super::pair::{Failure, MODEL, Outcome, Pair, ROOT, ensure, equal, text_of};

/// One of the resources that support subscriptions.
const DYNAMIC: &str = "demo://resource/dynamic/text/1";

/// The longest time until a message arrives that the server sent before its response.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) async fn lists(pair: &Pair) -> Outcome {
    let tools = pair.client.list_tools().await?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    // The server lists the tools from the fifth on because of the client's capabilities.
    for name in [
        "echo",
        "get-sum",
        "get-structured-content",
        "get-tiny-image",
        "get-roots-list",
        "trigger-elicitation-request",
        "trigger-sampling-request",
    ] {
        ensure(names.contains(&name), || {
            format!("{name} is not in {names:?}")
        })?;
    }
    ensure(!pair.client.list_resources().await?.is_empty(), || {
        "no resources".to_owned()
    })?;
    ensure(
        pair.client.list_resource_templates().await?.len() >= 2,
        || "no templates".to_owned(),
    )?;
    ensure(pair.client.list_prompts().await?.len() >= 3, || {
        "no prompts".to_owned()
    })
}

pub(crate) async fn calls_tools(pair: &Pair) -> Outcome {
    equal(
        pair.call("echo", json!({"message": "grüß dich"})).await?,
        "Echo: grüß dich",
    )?;
    equal(
        pair.call("get-sum", json!({"a": 2, "b": 40})).await?,
        "The sum of 2 and 40 is 42.",
    )?;
    let image = pair.client.call_tool("get-tiny-image", json!({})).await?;
    let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image(_));
    ensure(image.content.iter().any(is_image), || {
        format!("{image:?} has no image")
    })?;
    let links = pair
        .client
        .call_tool("get-resource-links", json!({"count": 2}))
        .await?;
    let is_link = |block: &&ContentBlock| matches!(block, ContentBlock::ResourceLink(_));
    equal(links.content.iter().filter(is_link).count(), 2)
}

pub(crate) async fn reads_structured_results(pair: &Pair) -> Outcome {
    let chicago = json!({"location": "Chicago"});
    let result = pair
        .client
        .call_tool("get-structured-content", chicago)
        .await?;
    let weather = result.structured_content.as_ref();
    let weather: Value = weather
        .ok_or_else(|| Failure::new("there is no structured content"))?
        .parse()?;
    equal(
        weather,
        json!({"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}),
    )
}

pub(crate) async fn reads_resources(pair: &Pair) -> Outcome {
    let read = pair.client.read_resource(DYNAMIC).await?;
    match &read.contents[..] {
        [ResourceContents::Text(read)] => {
            ensure(read.text.starts_with("Resource 1:"), || read.text.clone())?;
        }
        other => return Err(Failure::new(format!("{other:?} is not text"))),
    }
    let read = pair
        .client
        .read_resource("demo://resource/dynamic/blob/2")
        .await?;
    ensure(
        matches!(&read.contents[..], [ResourceContents::Blob(_)]),
        || format!("{read:?}"),
    )
}

pub(crate) async fn gets_prompts_and_completes(pair: &Pair) -> Outcome {
    let prompt = pair
        .client
        .get_prompt("args-prompt", [("city", "Ulm")])
        .await?;
    let text = prompt
        .messages
        .first()
        .and_then(|message| message.content.as_text());
    equal(text, Some("What's weather in Ulm?"))?;
    let department = CompletionArgument::new("department", "S");
    let prompt = PromptReference::new("completable-prompt");
    let values = pair
        .client
        .complete(prompt.clone(), department)
        .await?
        .completion
        .values;
    equal(&values[..], ["Sales", "Support"])?;
    // The second argument depends on the first.
    let name = CompleteRequestParams::new(prompt, CompletionArgument::new("name", ""))
        .with_known_argument("department", "Sales");
    let values = pair.client.complete_with(name).await?.completion.values;
    equal(&values[..], ["David", "Eve", "Frank"])
}

pub(crate) async fn receives_progress(pair: &Pair) -> Outcome {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&steps);
    let call = pair.client.call_tool(
        "trigger-long-running-operation",
        json!({"duration": 0.1, "steps": 4}),
    );
    let call = call.on_progress(move |step| {
        received
            .lock()
            .expect("no thread panics with the lock")
            .push(step.progress);
    });
    let text = text_of(&call.await?);
    ensure(
        text.starts_with("Long running operation completed."),
        || text.clone(),
    )?;
    let steps = steps
        .lock()
        .expect("no thread panics with the lock")
        .clone();
    equal(&steps[..], [1.0, 2.0, 3.0, 4.0])
}

/// The server does not report the cancellation. Its later messages for the call are ignored.
pub(crate) async fn dropped_call_does_not_affect_others(pair: &Pair) -> Outcome {
    let long = json!({"duration": 1, "steps": 50});
    let call = pair
        .client
        .call_tool("trigger-long-running-operation", long);
    let (call, mut progress) = call.with_progress();
    let mut call = Box::pin(call.into_future());
    tokio::select! {
        response = &mut call => return Err(Failure::new(format!("the call did not wait: {response:?}"))),
        _ = progress.next() => {}
    }
    drop(call);
    equal(
        pair.call("echo", json!({"message": "here"})).await?,
        "Echo: here",
    )?;
    // The cancellation of a legacy call is pending until the server has accepted it.
    while pair.client.pending_operations() > 0 {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// A form with every kind of field. All but the name have defaults or are optional.
pub(crate) async fn elicits(pair: &Pair) -> Outcome {
    pair.user.take_asked();
    let text = pair.call("trigger-elicitation-request", json!({})).await?;
    equal(pair.user.take_asked().len(), 1)?;
    let (_, raw) = text
        .split_once("Raw result: ")
        .ok_or_else(|| Failure::new(text.clone()))?;
    let raw: Value = serde_json::from_str(raw)?;
    equal(&raw["action"], "accept")?;
    for (field, expected) in [
        ("name", json!("Ada")),
        ("firstLine", json!("It was a dark and stormy night.")),
        ("integer", json!(42)),
        ("untitledSingleSelectEnum", json!("Monica")),
        ("untitledMultipleSelectEnum", json!(["Guitar"])),
        ("titledSingleSelectEnum", json!("hero-1")),
        ("titledMultipleSelectEnum", json!(["fish-1"])),
        ("legacyTitledEnum", json!("pet-1")),
    ] {
        ensure(raw["content"][field] == expected, || {
            format!("{field} is {}", raw["content"][field])
        })?;
    }
    Ok(())
}

pub(crate) async fn elicits_a_url(pair: &Pair) -> Outcome {
    pair.user.take_asked();
    let url = "https://example.com/consent";
    let text = pair
        .call("trigger-url-elicitation", json!({"url": url}))
        .await?;
    ensure(
        text.contains("User completed the URL elicitation flow"),
        || text.clone(),
    )?;
    equal(&pair.user.take_asked()[..], [url])
}

/// A server may also return an error that contains the URLs.
pub(crate) async fn url_elicitation_is_an_error(pair: &Pair) -> Outcome {
    let arguments = json!({"url": "https://example.com/first", "errorPath": true});
    let Err(error) = pair
        .client
        .call_tool("trigger-url-elicitation", arguments)
        .await
    else {
        return Err(Failure::new("the call returned no error"));
    };
    equal(error.rpc().map(|rpc| rpc.code), Some(-32042))
}

pub(crate) async fn samples(pair: &Pair) -> Outcome {
    let text = pair
        .call(
            "trigger-sampling-request",
            json!({"prompt": "a story", "maxTokens": 20}),
        )
        .await?;
    ensure(text.contains(MODEL) && text.contains("in short:"), || {
        text.clone()
    })
}

pub(crate) async fn lists_roots(pair: &Pair) -> Outcome {
    let text = pair.call("get-roots-list", json!({})).await?;
    ensure(text.contains(ROOT), || text.clone())
}

pub(crate) async fn receives_resource_changes(pair: &Pair) -> Outcome {
    let mut changes = pair
        .client
        .listen(SubscriptionFilter::new().with_resource(DYNAMIC))
        .await?;
    pair.call("toggle-subscriber-updates", json!({})).await?;
    equal(
        changes.next().await?,
        Some(Change::ResourceUpdated(DYNAMIC.to_owned())),
    )?;
    pair.call("toggle-subscriber-updates", json!({})).await?;
    Ok(())
}

/// The server logs at random levels, so the client requests all levels.
pub(crate) async fn receives_log_messages(pair: &Pair) -> Outcome {
    pair.client.set_log_level(Some(LoggingLevel::Debug)).await?;
    loop {
        // The server sends the first message during the call, and over HTTP on another stream than the response. If the
        // response is faster, a proxy has no request of its 2026-07-28 client any more to which the message belongs.
        pair.call("toggle-simulated-logging", json!({})).await?;
        let is_logged = tokio::time::timeout(FIRST_MESSAGE_TIMEOUT, simulated_message(pair));
        let is_logged = is_logged.await.is_ok();
        pair.call("toggle-simulated-logging", json!({})).await?;
        if is_logged {
            return Ok(());
        }
    }
}

/// Waits for a message that the server logs for `toggle-simulated-logging`. It also logs that it received the roots.
async fn simulated_message(pair: &Pair) {
    while !pair.user.logged().await.data.get().contains("level") {}
}

pub(crate) async fn pings(pair: &Pair) -> Outcome {
    Ok(pair.client.ping().await?)
}
