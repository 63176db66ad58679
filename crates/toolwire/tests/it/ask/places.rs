//! Where a handler may ask: tools, prompts and resources, however they are written.

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

use super::{BOTH, Diary, LEGACY, MODERN, Name, accept, client, shown};
use crate::peer::plain;

/// What every handler here does: two questions, the second about the answer to the first.
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

async fn connect(server: &Server, version: ProtocolVersion, asked: &Diary) -> Client {
    let answers = [
        ("Who", accept(json!({"name": "Ada"}))),
        ("Mood of Ada", accept(json!({"name": "fine"}))),
    ];
    client(server, version, &answers, asked).await
}

fn prompted(outcome: Result<GetPromptResult, Error>) -> String {
    let result = outcome.map(|result| serde_json::to_value(result).expect("JSON"));
    found(result, "/messages/0/content/text")
}

fn read(outcome: Result<ReadResourceResult, Error>) -> String {
    let result = outcome.map(|result| serde_json::to_value(result).expect("JSON"));
    found(result, "/contents/0/text")
}

fn found(result: Result<Value, Error>, pointer: &str) -> String {
    match result {
        Ok(result) => match result.pointer(pointer).and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => result.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn tools_ask() {
    let server = server();
    for version in BOTH {
        let asked = Diary::default();
        let client = connect(&server, version, &asked).await;
        for (tool, arguments, expected) in [
            ("tool_fn", json!({}), "Ada fine 7"),
            ("tool_argument", json!({"times": 2}), "Ada fine 7"),
            ("tool_closure", json!({}), "Ada fine 7"),
            ("tool_method", json!({}), "hi Ada fine 7"),
        ] {
            let text = shown(client.call_tool(tool, arguments).await);
            assert_eq!(text, expected, "{version} {tool}");
            assert_eq!(asked.take(), ["Who?", "Mood of Ada?"], "{version} {tool}");
        }
    }
}

#[tokio::test]
async fn prompts_ask() {
    let server = server();
    for version in BOTH {
        let asked = Diary::default();
        let client = connect(&server, version, &asked).await;
        for (prompt, expected) in [
            ("prompt_fn", "ho Ada fine 7"),
            ("prompt_closure", "Ada fine 7"),
            ("prompt_method", "hi Ada fine 7"),
        ] {
            let arguments = (prompt == "prompt_fn").then_some(("word", "ho"));
            let text = prompted(client.get_prompt(prompt, arguments).await);
            assert_eq!(text, expected, "{version} {prompt}");
            assert_eq!(asked.take(), ["Who?", "Mood of Ada?"], "{version} {prompt}");
        }
    }
}

#[tokio::test]
async fn resources_and_templates_ask() {
    let server = server();
    for version in BOTH {
        let asked = Diary::default();
        let client = connect(&server, version, &asked).await;
        for (uri, expected) in [
            ("ask://fn", "Ada fine 7"),
            ("ask://closure", "Ada fine 7"),
            ("ask://method", "hi Ada fine 7"),
            ("ask://fn/ho", "ho Ada fine 7"),
            ("ask://closure/ho", "Ada fine 7"),
            ("ask://method/ho", "ho Ada fine 7"),
        ] {
            let text = read(client.read_resource(uri).await);
            assert_eq!(text, expected, "{version} {uri}");
            assert_eq!(asked.take(), ["Who?", "Mood of Ada?"], "{version} {uri}");
        }
    }
}

#[tokio::test]
async fn a_user_who_says_no_fails_a_prompt_and_a_resource() {
    let server = server();
    for version in BOTH {
        let answers = [("Who", json!({"action": "decline"}))];
        let client = client(&server, version, &answers, &Diary::default()).await;
        let prompt = prompted(client.get_prompt("prompt_method", [("", ""); 0]).await);
        let resource = read(client.read_resource("ask://fn").await);
        for text in [prompt, resource] {
            assert_eq!(text, "the user declined \"name\" (-32603)", "{version}");
        }
    }
}

fn elsewhere() -> Server {
    let complete = |ctx: RequestContext, _: CompletionRequest| async move {
        let asked = ctx.ask::<Name>("name", "Who?").await;
        let text = asked.map_or_else(|error| error.to_string(), |name| name.name);
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
async fn other_requests_ask_only_where_the_client_can_be_asked_meanwhile() {
    let server = elsewhere();
    let refusal = "ask for input in tools, prompts and resources";
    for (version, expected, questions) in [(MODERN, refusal, 0), (LEGACY, "Ada", 2)] {
        let asked = Diary::default();
        let client = connect(&server, version, &asked).await;
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
        assert_eq!(asked.take().len(), questions, "{version}");
    }
}
