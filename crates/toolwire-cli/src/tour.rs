//! `toolwire demo`: calls the bundled server over HTTP, as a child process and in process, in both eras.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::VersionFeatures;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::types::{
    CompletionArgument, ElicitResult, PromptReference, ReadResourceResult, SubscriptionFilter,
};
use toolwire::{
    CallToolResult, Called, Client, ClientBuilder, Error, ProcessTracker, ProtocolVersion,
    ResourceContents, ServerCommand,
};

use crate::demo;
use crate::failure::{Exit, Failure, Phase};
use crate::own_program;
use crate::screen::Screen;
use crate::show::plain_text;
use crate::sync::lock;

/// Runs the tour.
pub(crate) async fn run(screen: &Screen, processes: &ProcessTracker) -> Result<Exit, Failure> {
    let tour = Tour { screen, processes };
    let listener = HttpListener::bind(demo::server(), "127.0.0.1:0", HttpOptions::new())
        .await
        .map_err(|error| Failure::new(Exit::NoConnection, error.to_string()))?;
    let url = listener.url().to_string();
    tokio::select! {
        ended = listener.run() => {
            ended.map_err(failed)?;
            return Err(Failure::silent(Exit::Interrupted));
        }
        shown = tour.over_http(&url) => shown?,
    }
    tour.over_stdio().await?;
    tour.in_process().await?;
    let toolwire = own_program::as_typed();
    screen.print(&format!(
        "\nNow try it yourself:\n\n    \
         {toolwire} tools -- {toolwire} demo --stdio\n    \
         {toolwire} call add a=1 b=2 -- {toolwire} demo --stdio\n    \
         {toolwire} demo --http\n"
    ))?;
    Ok(Exit::Success)
}

struct Tour<'a> {
    screen: &'a Screen,
    processes: &'a ProcessTracker,
}

impl Tour<'_> {
    async fn over_http(&self, url: &str) -> Result<(), Failure> {
        self.title("Over HTTP, with the modern protocol")?;
        let client = builder().with_tasks().connect(url).await;
        let client = client.map_err(cannot_connect)?;
        self.connected(&client, url)?;
        let (tools, resources) = (client.list_tools().await, client.list_resources().await);
        let (tools, resources) = (
            tools.map_err(failed)?.len(),
            resources.map_err(failed)?.len(),
        );
        self.line("lists", &format!("{tools} tools, {resources} resources"))?;
        self.call(&client, "add", json!({"a": 19, "b": 23})).await?;
        self.count_down(&client).await?;
        self.run_task(&client).await?;
        client.close().await;

        self.title("The same address, with the legacy protocol")?;
        let legacy = ProtocolVersion::ALL
            .into_iter()
            .filter(|version| version.is_legacy());
        let builder = builder().with_versions(legacy).on_elicitation(|_| async {
            Ok(ElicitResult::accept().with_content([("confirmed", true)]))
        });
        let client = builder.connect(url).await.map_err(cannot_connect)?;
        self.connected(&client, url)?;
        self.call(
            &client,
            "echo",
            json!({"text": "hello from a legacy client"}),
        )
        .await?;
        self.call(&client, "confirm", json!({"question": "Really?"})) // tidy: allow(question) argument of the tool
            .await?;
        client.close().await;
        Ok(())
    }

    async fn over_stdio(&self) -> Result<(), Failure> {
        self.title("A child process, over its standard input and output")?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(Exit::NoConnection, error.to_string()))?;
        let command = ServerCommand::new(program)
            .args(["demo", "--stdio"])
            .with_tracker(self.processes);
        let client = builder().spawn(command).await.map_err(cannot_connect)?;
        self.connected(&client, "toolwire demo --stdio")?;
        let note = client
            .read_resource("demo://notes/first")
            .await
            .map_err(failed)?;
        self.line("read demo://notes/first", &text_of(&note))?;
        let argument = CompletionArgument::new("name", "A");
        let names = client
            .complete(PromptReference::new("greet"), argument)
            .await;
        let names = names.map_err(failed)?.completion.values;
        self.line("complete greet name=A", &names.join(", "))?;
        let prompt = client
            .get_prompt("greet", [("name", "Ada")])
            .await
            .map_err(failed)?;
        let texts = prompt
            .messages
            .iter()
            .filter_map(|message| message.content.as_text());
        self.line(
            "prompt greet name=Ada",
            &texts.collect::<Vec<_>>().join(" "),
        )?;
        let filter = SubscriptionFilter::new().with_resource("demo://counter");
        let mut changes = client.listen(filter).await.map_err(failed)?;
        client.call_tool("bump", json!({})).await.map_err(failed)?;
        let received = match changes.next().await.map_err(failed)? {
            Some(_) => "received a change",
            None => "received no change",
        };
        self.line("listen demo://counter", received)?;
        drop(changes);
        client.close().await;
        Ok(())
    }

    async fn in_process(&self) -> Result<(), Failure> {
        self.title("In the same process, without any transport")?;
        let client = builder()
            .in_process(&demo::server())
            .await
            .map_err(cannot_connect)?;
        self.connected(&client, "a value of type Server")?;
        self.call(&client, "fail", json!({"message": "as requested"}))
            .await?;
        client.close().await;
        Ok(())
    }

    fn title(&self, title: &str) -> Result<(), Failure> {
        let title = self.screen.style.paint.bold(title);
        self.screen.print(&format!("\n{title}\n"))
    }

    fn connected(&self, client: &Client, target: &str) -> Result<(), Failure> {
        let connection = format!("{target}, revision {}", client.version());
        self.line("connected to", &connection)
    }

    fn line(&self, what: &str, outcome: &str) -> Result<(), Failure> {
        let what = self.screen.style.paint.cyan(&format!("{what:<24}"));
        let outcome = plain_text(outcome);
        self.screen.print(&format!("  {what} {outcome}\n"))
    }

    async fn call(&self, client: &Client, tool: &str, arguments: Value) -> Result<(), Failure> {
        let result = client.call_tool(tool, arguments).await.map_err(failed)?;
        self.line(&format!("call {tool}"), &outcome(&result))
    }

    async fn count_down(&self, client: &Client) -> Result<(), Failure> {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&steps);
        let arguments = json!({"from": 3, "delay_ms": 20});
        let call = client
            .call_tool("countdown", arguments)
            .on_progress(move |progress| {
                let mut steps = lock(&received);
                steps.push(progress.message.unwrap_or_default());
            });
        let result = call.await.map_err(failed)?;
        let steps = lock(&steps).join(", ");
        self.line("call countdown", &format!("{steps}; {}", outcome(&result)))
    }

    async fn run_task(&self, client: &Client) -> Result<(), Failure> {
        let arguments = json!({"layers": 3, "delay_ms": 20});
        let called = client.call_tool("bake", arguments).as_task().await;
        let result = match called.map_err(failed)? {
            Called::Task(task) => task.wait().await.map_err(failed)?,
            Called::Completed(result) => result,
        };
        self.line("call bake as a task", &outcome(&result))
    }
}

fn builder() -> ClientBuilder {
    Client::builder("toolwire", env!("CARGO_PKG_VERSION"))
}

fn outcome(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let text = texts.collect::<Vec<_>>().join(" ");
    match result.is_error {
        Some(true) => format!("the tool failed: {text}"),
        _ => text,
    }
}

fn text_of(result: &ReadResourceResult) -> String {
    let texts = result
        .contents
        .iter()
        .filter_map(|contents| match contents {
            ResourceContents::Text(contents) => Some(contents.text.as_str()),
            _ => None,
        });
    texts.collect::<Vec<_>>().join(" ")
}

fn cannot_connect(error: Error) -> Failure {
    Failure::of(&error, Phase::Connecting)
}

fn failed(error: Error) -> Failure {
    Failure::of(&error, Phase::Calling)
}
