//! The features of the npm reference server.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::Change;
use toolwire::types::{
    CompleteRequestParams, CompletionArgument, PromptReference, SubscriptionFilter,
};
use toolwire::{ContentBlock, LoggingLevel, ResourceContents};

use super::peered::{Failure, MODEL, Outcome, Peered, ROOT, ensure, equal, text_of};

/// One of the resources that support subscriptions.
const DYNAMIC: &str = "demo://resource/dynamic/text/1";

pub(crate) async fn lists(at: &Peered) -> Outcome {
    let tools = at.client.list_tools().await?;
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
    ensure(!at.client.list_resources().await?.is_empty(), || {
        "no resources".to_owned()
    })?;
    ensure(
        at.client.list_resource_templates().await?.len() >= 2,
        || "no templates".to_owned(),
    )?;
    ensure(at.client.list_prompts().await?.len() >= 3, || {
        "no prompts".to_owned()
    })
}

pub(crate) async fn calls_tools(at: &Peered) -> Outcome {
    equal(
        at.call("echo", json!({"message": "grüß dich"})).await?,
        "Echo: grüß dich",
    )?;
    equal(
        at.call("get-sum", json!({"a": 2, "b": 40})).await?,
        "The sum of 2 and 40 is 42.",
    )?;
    let image = at.client.call_tool("get-tiny-image", json!({})).await?;
    let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image(_));
    ensure(image.content.iter().any(is_image), || {
        format!("{image:?} has no image")
    })?;
    let links = at
        .client
        .call_tool("get-resource-links", json!({"count": 2}))
        .await?;
    let is_link = |block: &&ContentBlock| matches!(block, ContentBlock::ResourceLink(_));
    equal(links.content.iter().filter(is_link).count(), 2)
}

pub(crate) async fn reads_structured_results(at: &Peered) -> Outcome {
    let chicago = json!({"location": "Chicago"});
    let result = at
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

pub(crate) async fn reads_resources(at: &Peered) -> Outcome {
    let read = at.client.read_resource(DYNAMIC).await?;
    match &read.contents[..] {
        [ResourceContents::Text(read)] => {
            ensure(read.text.starts_with("Resource 1:"), || read.text.clone())?;
        }
        other => return Err(Failure::new(format!("{other:?} is not text"))),
    }
    let read = at
        .client
        .read_resource("demo://resource/dynamic/blob/2")
        .await?;
    ensure(
        matches!(&read.contents[..], [ResourceContents::Blob(_)]),
        || format!("{read:?}"),
    )
}

pub(crate) async fn gets_prompts_and_completes(at: &Peered) -> Outcome {
    let prompt = at
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
    let values = at
        .client
        .complete(prompt.clone(), department)
        .await?
        .completion
        .values;
    equal(&values[..], ["Sales", "Support"])?;
    // The second argument depends on the first.
    let name = CompleteRequestParams::new(prompt, CompletionArgument::new("name", ""))
        .with_known_argument("department", "Sales");
    let values = at.client.complete_with(name).await?.completion.values;
    equal(&values[..], ["David", "Eve", "Frank"])
}

pub(crate) async fn receives_progress(at: &Peered) -> Outcome {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&steps);
    let call = at.client.call_tool(
        "trigger-long-running-operation",
        json!({"duration": 0.1, "steps": 4}),
    );
    let call = call.on_progress(move |step| {
        heard
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
pub(crate) async fn dropped_call_does_not_affect_others(at: &Peered) -> Outcome {
    let long = json!({"duration": 1, "steps": 50});
    let call = at.client.call_tool("trigger-long-running-operation", long);
    let (call, mut progress) = call.with_progress();
    let mut call = Box::pin(call.into_future());
    tokio::select! {
        response = &mut call => return Err(Failure::new(format!("the call did not wait: {response:?}"))),
        _ = progress.next() => {}
    }
    drop(call);
    equal(
        at.call("echo", json!({"message": "here"})).await?,
        "Echo: here",
    )?;
    equal(at.client.pending_operations(), 0)
}

/// A form with every kind of field. All but the name have defaults or are optional.
pub(crate) async fn elicits(at: &Peered) -> Outcome {
    at.user.take_asked();
    let text = at.call("trigger-elicitation-request", json!({})).await?;
    equal(at.user.take_asked().len(), 1)?;
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

pub(crate) async fn elicits_a_url(at: &Peered) -> Outcome {
    at.user.take_asked();
    let url = "https://example.com/consent";
    let text = at
        .call("trigger-url-elicitation", json!({"url": url}))
        .await?;
    ensure(
        text.contains("User completed the URL elicitation flow"),
        || text.clone(),
    )?;
    equal(&at.user.take_asked()[..], [url])
}

/// The alternative form: an error that contains the URLs.
pub(crate) async fn url_elicitation_is_an_error(at: &Peered) -> Outcome {
    let arguments = json!({"url": "https://example.com/first", "errorPath": true});
    let Err(error) = at
        .client
        .call_tool("trigger-url-elicitation", arguments)
        .await
    else {
        return Err(Failure::new("the call returned no error"));
    };
    equal(error.rpc().map(|rpc| rpc.code), Some(-32042))
}

pub(crate) async fn samples(at: &Peered) -> Outcome {
    let text = at
        .call(
            "trigger-sampling-request",
            json!({"prompt": "a story", "maxTokens": 20}),
        )
        .await?;
    ensure(text.contains(MODEL) && text.contains("in short:"), || {
        text.clone()
    })
}

pub(crate) async fn lists_roots(at: &Peered) -> Outcome {
    let text = at.call("get-roots-list", json!({})).await?;
    ensure(text.contains(ROOT), || text.clone())
}

pub(crate) async fn receives_resource_changes(at: &Peered) -> Outcome {
    let mut changes = at
        .client
        .listen(SubscriptionFilter::new().with_resource(DYNAMIC))
        .await?;
    at.call("toggle-subscriber-updates", json!({})).await?;
    equal(
        changes.next().await?,
        Some(Change::ResourceUpdated(DYNAMIC.to_owned())),
    )?;
    at.call("toggle-subscriber-updates", json!({})).await?;
    Ok(())
}

/// The level of its messages is random, so the client requests all levels.
pub(crate) async fn receives_log_messages(at: &Peered) -> Outcome {
    at.client.set_log_level(Some(LoggingLevel::Debug)).await?;
    at.call("toggle-simulated-logging", json!({})).await?;
    loop {
        let message = at.user.logged().await;
        // It also logs that it received the roots.
        if message.data.get().contains("level") {
            break;
        }
    }
    at.call("toggle-simulated-logging", json!({})).await?;
    Ok(())
}

pub(crate) async fn pings(at: &Peered) -> Outcome {
    Ok(at.client.ping().await?)
}
