//! Lists, calls, resources, prompts and completions: one request, one response.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::VersionFeatures;
use toolwire::types::{CompletionArgument, PromptReference, ResourceTemplateReference};
use toolwire::{CacheMode, ResourceContents};
use toolwire_interop::ServerPeer;

use super::pair::{Failure, Outcome, Pair, ensure, equal, text_at, text_of};

const TOOLS: [&str; 15] = [
    "echo",
    "add",
    "fail",
    "route",
    "count",
    "wait",
    "cancelled",
    "log",
    "release_stream",
    "confirm",
    "interview",
    "summarise",
    "roots",
    "bump",
    "add_tool",
];

pub(crate) async fn returns_server_info(pair: &Pair) -> Outcome {
    let server = pair
        .client
        .server()
        .ok_or_else(|| Failure::new("the server is unknown"))?;
    let name = match pair.setting.peer {
        ServerPeer::TypeScript2 => "interop-typescript-2",
        ServerPeer::TypeScript1 => "interop-typescript-1",
        ServerPeer::Python => "interop-python",
        _ => "mcp-servers/everything",
    };
    let info = server.info.as_ref().map(|info| info.name.as_str());
    equal(info, Some(name))?;
    ensure(server.capabilities.tools.is_some(), || {
        "the server has no tools".to_owned()
    })?;
    ensure(server.capabilities.resources.is_some(), || {
        "the server has no resources".to_owned()
    })?;
    ensure(server.capabilities.prompts.is_some(), || {
        "the server has no prompts".to_owned()
    })
}

pub(crate) async fn lists_tools(pair: &Pair) -> Outcome {
    let tools = pair.client.list_tools().await?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    equal(&names[..], TOOLS)
}

pub(crate) async fn calls_a_tool(pair: &Pair) -> Outcome {
    let text = "grüß dich, 世界\n\"two\" lines \u{2028} and a tab\t";
    equal(pair.call("echo", json!({"text": text})).await?, text)
}

pub(crate) async fn calls_in_parallel(pair: &Pair) -> Outcome {
    let texts: Vec<String> = (0..32).map(|number| format!("call {number}")).collect();
    let calls: Vec<_> = texts
        .iter()
        .map(|text| {
            tokio::spawn(
                pair.client
                    .call_tool("echo", json!({"text": text}))
                    .into_future(),
            )
        })
        .collect();
    for (call, text) in calls.into_iter().zip(&texts) {
        equal(&text_of(&call.await??), text)?;
    }
    Ok(())
}

pub(crate) async fn carries_large_messages(pair: &Pair) -> Outcome {
    let text = "0123456789".repeat(30_000);
    let response = pair.call("echo", json!({"text": text})).await?;
    ensure(response == text, || {
        format!("the response has {} characters", response.len())
    })
}

pub(crate) async fn reads_structured_results(pair: &Pair) -> Outcome {
    #[derive(Deserialize)]
    struct Added {
        sum: f64,
    }

    let tools = pair.client.list_tools().await?;
    let add = tools.iter().find(|tool| tool.name == "add");
    let schema = add.and_then(|add| add.output_schema.as_ref());
    let schema: Value = schema
        .ok_or_else(|| Failure::new("add has no output schema"))?
        .parse()?;
    equal(&schema["properties"]["sum"]["type"], "number")?;
    let result = pair
        .client
        .call_tool("add", json!({"a": -2, "b": 5}))
        .await?;
    let structured = result.structured_content.as_ref();
    let added: Added = structured
        .ok_or_else(|| Failure::new("the result has no structured content"))?
        .parse()?;
    equal(added.sum, 3.0)
}

pub(crate) async fn failing_tool_is_a_result(pair: &Pair) -> Outcome {
    let result = pair
        .client
        .call_tool("fail", json!({"message": "out of paper"}))
        .await?;
    equal(result.is_error, Some(true))?;
    equal(text_of(&result), "out of paper")
}

/// Some servers return a protocol error, others a tool error. The client must report either one.
pub(crate) async fn unknown_tool_is_an_error(pair: &Pair) -> Outcome {
    match pair.client.call_tool("no-such-tool", json!({})).await {
        Ok(result) => equal(result.is_error, Some(true)),
        Err(error) => equal(error.rpc().map(|rpc| rpc.code), Some(-32602)),
    }
}

/// In the newest revision, the region is also in a header, and the server compares the two.
pub(crate) async fn mirrors_arguments_into_headers(pair: &Pair) -> Outcome {
    for region in ["eu-west", "grüße ", ""] {
        let text = pair
            .call("route", json!({"region": region, "count": 3}))
            .await?;
        equal(text, format!("3 to {region}"))?;
    }
    Ok(())
}

pub(crate) async fn follows_pages(pair: &Pair) -> Outcome {
    let first = pair.client.list_resources_page(None).await?;
    equal(first.resources.len(), 2)?;
    ensure(first.next_cursor.is_some(), || {
        "there is only one page".to_owned()
    })?;
    let all = pair.client.list_resources().await?;
    let uris: Vec<&str> = all.iter().map(|resource| resource.uri.as_str()).collect();
    equal(
        &uris[..],
        [
            "demo://motto",
            "demo://counter",
            "demo://pixel",
            "demo://almanac",
        ],
    )
}

pub(crate) async fn reads_resources(pair: &Pair) -> Outcome {
    equal(pair.read("demo://motto").await?, "less is more")?;
    let pixel = pair.client.read_resource("demo://pixel").await?;
    match &pixel.contents[..] {
        [ResourceContents::Blob(pixel)] => {
            equal(&pixel.uri[..], "demo://pixel")?;
            equal(&pixel.blob[..], "iVBORw0KGgo=")
        }
        other => Err(Failure::new(format!("{other:?} are not bytes"))),
    }
}

/// A cacheable result is not requested twice. Older revisions have no cache hints.
pub(crate) async fn caches_results(pair: &Pair) -> Outcome {
    let almanac = "demo://almanac";
    let first = pair.read(almanac).await?;
    let second = pair.read(almanac).await?;
    equal(first == second, pair.client.version().has_cache_hints())?;
    let request = pair.client.read_resource(almanac);
    let third = text_at(&request.with_cache(CacheMode::Bypass).await?)?;
    ensure(third != second, || format!("{third:?} came from the cache"))
}

pub(crate) async fn reads_templates(pair: &Pair) -> Outcome {
    let templates = pair.client.list_resource_templates().await?;
    let mut templates: Vec<&str> = templates
        .iter()
        .map(|entry| entry.uri_template.as_str())
        .collect();
    templates.sort_unstable();
    equal(
        &templates[..],
        ["demo://notes/{name}", "demo://secrets/{name}"],
    )?;
    equal(pair.read("demo://notes/first").await?, "a note of first")
}

pub(crate) async fn missing_resource_is_an_error(pair: &Pair) -> Outcome {
    let Err(error) = pair.client.read_resource("demo://nowhere").await else {
        return Err(Failure::new("the resource was read"));
    };
    let code = error.rpc().map(|rpc| rpc.code);
    // Some SDKs use the error code of another revision.
    ensure(matches!(code, Some(-32602 | -32002)), || format!("{error}"))
}

pub(crate) async fn gets_prompts(pair: &Pair) -> Outcome {
    let prompts = pair.client.list_prompts().await?;
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    equal(&names[..], ["greet", "signed"])?;
    let greeting = pair.client.get_prompt("greet", [("name", "Ada")]).await?;
    let text = greeting
        .messages
        .first()
        .and_then(|message| message.content.as_text());
    equal(text, Some("Say hello to Ada."))
}

pub(crate) async fn completes(pair: &Pair) -> Outcome {
    let argument = CompletionArgument::new("name", "A");
    let names = pair
        .client
        .complete(PromptReference::new("greet"), argument)
        .await?;
    equal(&names.completion.values[..], ["Ada", "Alan"])?;
    let template = ResourceTemplateReference::new("demo://notes/{name}");
    let argument = CompletionArgument::new("name", "G");
    let names = pair.client.complete(template, argument).await?;
    equal(&names.completion.values[..], ["Grace"])
}

pub(crate) async fn pings(pair: &Pair) -> Outcome {
    Ok(pair.client.ping().await?)
}

/// A new connection starts from the detected era of an earlier one, without probing.
pub(crate) async fn starts_from_a_detected_era(pair: &Pair) -> Outcome {
    let builder = pair
        .setting
        .builder(&pair.user)
        .with_detected_era(pair.client.detected_era());
    let url = pair.listening()?.borrow().url();
    let second = builder.connect(url).await?;
    equal(second.version(), pair.client.version())?;
    // A modern server gets no request at all. A legacy server is initialized, and its response has the server info.
    equal(second.server().is_none(), pair.client.version().is_modern())?;
    let result = second.call_tool("echo", json!({"text": "again"})).await?;
    equal(text_of(&result), "again")?;
    second.close().await;
    // The other connection is still open.
    equal(
        pair.call("echo", json!({"text": "still here"})).await?,
        "still here",
    )
}
