//! Input requests in tools, prompts and resources, written as closures, functions and methods.

use std::error::Error as StdError;

use serde_json::{Value, json};
use toolwire::types::{
    CompletionArgument, GetPromptResult, PromptArgument, PromptReference, ReadResourceResult,
};
use toolwire::{
    Client, CompletionRequest, CompletionValues, Error, PromptArguments, PromptHandler,
    ProtocolVersion, RequestContext, ResourceHandler, ResourceTemplateHandler, Server, ToolError,
    prompt, resource, resource_template, tool,
};
use toolwire_tests::peer::plain;

use super::{BOTH, LEGACY, MODERN, Name, Recorder, accept, client, result_text};

/// The body of every handler here: two input requests, the second of which depends on the first response.
async fn greeting(ctx: &RequestContext) -> Result<String, Error> {
    let name: Name = ctx.ask("name", "Who?").await?;
    let number = ctx.once("number", async { 7 }).await?;
    let text = format!("Mood of {}?", name.name);
    let mood: Name = ctx.ask("mood", text).await?;
    Ok(format!("{} {} {number}", name.name, mood.name))
}

/// Greets.
#[tool]
async fn tool_fn(ctx: &RequestContext) -> Result<String, Error> {
    greeting(ctx).await
}

/// Greets, with an argument.
#[tool]
async fn tool_argument(times: u8, ctx: RequestContext) -> Result<String, ToolError> {
    let greeting = greeting(&ctx).await?;
    assert_eq!(times, 2, "the arguments of every run are the same");
    Ok(greeting)
}

#[prompt]
async fn prompt_fn(ctx: &RequestContext, word: String) -> Result<String, Error> {
    Ok(format!("{word} {}", greeting(ctx).await?))
}

#[resource(uri = "ask://fn")]
async fn resource_fn(ctx: &RequestContext) -> Result<String, Error> {
    greeting(ctx).await
}

#[resource_template(uri = "ask://fn/{word}")]
async fn template_fn(ctx: &RequestContext, word: String) -> Result<String, Error> {
    Ok(format!("{word} {}", greeting(ctx).await?))
}

struct Greeter {
    word: &'static str,
}

#[toolwire::server]
impl Greeter {
    /// Greets.
    #[tool]
    async fn tool_method(&self, ctx: &RequestContext) -> Result<String, Error> {
        Ok(format!("{} {}", self.word, greeting(ctx).await?))
    }

    #[prompt]
    async fn prompt_method(&self, ctx: &RequestContext) -> Result<String, Error> {
        Ok(format!("{} {}", self.word, greeting(ctx).await?))
    }

    #[resource(uri = "ask://method")]
    async fn resource_method(&self, ctx: &RequestContext) -> Result<String, Error> {
        Ok(format!("{} {}", self.word, greeting(ctx).await?))
    }

    #[resource_template(uri = "ask://method/{name}")]
    async fn template_method(&self, ctx: &RequestContext, name: String) -> Result<String, Error> {
        Ok(format!("{name} {}", greeting(ctx).await?))
    }
}

fn server() -> Server {
    let closure = plain("tool_closure", |ctx: RequestContext| async move {
        greeting(&ctx).await
    });
    Server::new("test", "1")
        .tool(tool_fn)
        .tool(tool_argument)
        .tool(closure)
        .prompt(prompt_fn)
        .prompt(PromptHandler::new(
            "prompt_closure",
            |ctx: RequestContext, _: PromptArguments| async move { greeting(&ctx).await },
        ))
        .resource(resource_fn)
        .resource(ResourceHandler::new(
            "ask://closure",
            "closure",
            |ctx: RequestContext, _| async move { greeting(&ctx).await },
        ))
        .resource_template(template_fn)
        .resource_template(ResourceTemplateHandler::new(
            "ask://closure/{word}",
            "closure",
            |ctx: RequestContext, _, _| async move { greeting(&ctx).await },
        ))
        .handlers(Greeter { word: "hi" })
}

async fn connect(server: &Server, version: ProtocolVersion, requested: &Recorder) -> Client {
    let responses = [
        ("Who", accept(json!({"name": "Ada"}))),
        ("Mood of Ada", accept(json!({"name": "fine"}))),
    ];
    client(server, version, &responses, requested).await
}

fn prompt_text(outcome: Result<GetPromptResult, Error>) -> String {
    let result = outcome.map(|result| serde_json::to_value(result).expect("JSON"));
    text_at(result, "/messages/0/content/text")
}

fn resource_text(outcome: Result<ReadResourceResult, Error>) -> String {
    let result = outcome.map(|result| serde_json::to_value(result).expect("JSON"));
    text_at(result, "/contents/0/text")
}

fn text_at(result: Result<Value, Error>, pointer: &str) -> String {
    match result {
        Ok(result) => match result.pointer(pointer).and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => result.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn tools_may_send_input_requests() {
    let server = server();
    for version in BOTH {
        let requested = Recorder::default();
        let client = connect(&server, version, &requested).await;
        for (tool, arguments, expected) in [
            ("tool_fn", json!({}), "Ada fine 7"),
            ("tool_argument", json!({"times": 2}), "Ada fine 7"),
            ("tool_closure", json!({}), "Ada fine 7"),
            ("tool_method", json!({}), "hi Ada fine 7"),
        ] {
            let text = result_text(client.call_tool(tool, arguments).await);
            assert_eq!(text, expected, "{version} {tool}");
            assert_eq!(
                requested.take(),
                ["Who?", "Mood of Ada?"],
                "{version} {tool}"
            );
        }
    }
}

#[tokio::test]
async fn prompts_may_send_input_requests() {
    let server = server();
    for version in BOTH {
        let requested = Recorder::default();
        let client = connect(&server, version, &requested).await;
        for (prompt, expected) in [
            ("prompt_fn", "ho Ada fine 7"),
            ("prompt_closure", "Ada fine 7"),
            ("prompt_method", "hi Ada fine 7"),
        ] {
            let word = (prompt == "prompt_fn").then_some(("word", "ho"));
            let arguments: Vec<_> = word.into_iter().collect();
            let text = prompt_text(client.get_prompt(prompt, arguments).await);
            assert_eq!(text, expected, "{version} {prompt}");
            assert_eq!(
                requested.take(),
                ["Who?", "Mood of Ada?"],
                "{version} {prompt}"
            );
        }
    }
}

#[tokio::test]
async fn resources_and_templates_may_send_input_requests() {
    let server = server();
    for version in BOTH {
        let requested = Recorder::default();
        let client = connect(&server, version, &requested).await;
        for (uri, expected) in [
            ("ask://fn", "Ada fine 7"),
            ("ask://closure", "Ada fine 7"),
            ("ask://method", "hi Ada fine 7"),
            ("ask://fn/ho", "ho Ada fine 7"),
            ("ask://closure/ho", "Ada fine 7"),
            ("ask://method/ho", "ho Ada fine 7"),
        ] {
            let text = resource_text(client.read_resource(uri).await);
            assert_eq!(text, expected, "{version} {uri}");
            assert_eq!(
                requested.take(),
                ["Who?", "Mood of Ada?"],
                "{version} {uri}"
            );
        }
    }
}

#[tokio::test]
async fn declined_form_fails_a_prompt_and_a_resource() {
    let server = server();
    for version in BOTH {
        let responses = [("Who", json!({"action": "decline"}))];
        let client = client(&server, version, &responses, &Recorder::default()).await;
        let prompt = prompt_text(client.get_prompt("prompt_method", [("", ""); 0]).await);
        let resource = resource_text(client.read_resource("ask://fn").await);
        for text in [prompt, resource] {
            assert_eq!(text, "the user declined \"name\" (-32603)", "{version}");
        }
    }
}

fn server_with_other_methods() -> Server {
    let complete = |ctx: RequestContext, _: CompletionRequest| async move {
        let outcome = ctx.ask::<Name>("name", "Who?").await;
        let text = outcome.map_or_else(|error| error.to_string(), |name| name.name);
        CompletionValues::new(vec![text])
    };
    let prompt = PromptHandler::new("p", |_, _| async { "hi" })
        .with_argument(PromptArgument::new("word"))
        .with_completion("word", complete);
    Server::new("test", "1").prompt(prompt).method(
        "com.example/greet",
        |ctx: RequestContext, _: Value| async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            Ok::<_, Box<dyn StdError + Send + Sync>>(json!({"name": name.name}))
        },
    )
}

#[tokio::test]
async fn other_methods_may_send_input_requests_in_legacy_revisions_only() {
    let server = server_with_other_methods();
    let error_text = "ask for input in tools, prompts and resources";
    for (version, expected, input_requests) in [(MODERN, error_text, 0), (LEGACY, "Ada", 2)] {
        let requested = Recorder::default();
        let client = connect(&server, version, &requested).await;
        let argument = CompletionArgument::new("word", "");
        let completed = client.complete(PromptReference::new("p"), argument).await;
        let completed = serde_json::to_string(&completed.expect("values")).expect("JSON");
        assert!(completed.contains(expected), "{version}: {completed}");

        let greeted = client.request("com.example/greet", json!({})).await;
        let greeted = match greeted {
            Ok(result) => result.get().to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(greeted.contains(expected), "{version}: {greeted}");
        assert_eq!(requested.take().len(), input_requests, "{version}");
    }
}
