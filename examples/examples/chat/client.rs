//! The client: the loop that every agent has.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::{Value, json};
use toolwire::Client;
use toolwire::types::Tool;
use toolwire_examples::job::ServerChoice;

/// A model that never stops calling tools must not run without end.
const MAX_TURNS: usize = 8;

/// What the model wants next.
enum ModelOutput {
    /// Call a tool and continue with its result.
    Call {
        tool: &'static str,
        arguments: Value,
    },
    /// The text for the user.
    Text(String),
}

/// The conversation so far, as the model sees it.
enum Message {
    User(String),
    ToolResult {
        tool: String,
        text: String,
        is_error: bool,
    },
}

/// A model: gets the tools and the conversation, and returns what it wants next.
trait Model {
    fn respond(&mut self, tools: &[Tool], conversation: &[Message]) -> ModelOutput;
}

/// A model whose outputs are known in advance. The first call is wrong, as calls of real models are sometimes.
struct Script;

impl Model for Script {
    fn respond(&mut self, tools: &[Tool], conversation: &[Message]) -> ModelOutput {
        let offered = |name: &str| tools.iter().any(|tool| tool.name == name);
        if !offered("find_order") || !offered("convert") {
            return ModelOutput::Text("This server cannot look up orders.".to_owned());
        }
        match conversation.last() {
            Some(Message::ToolResult {
                tool,
                is_error: true,
                ..
            }) if tool == "find_order" => ModelOutput::Call {
                tool: "find_order",
                arguments: json!({"number": 17}),
            },
            Some(Message::ToolResult { tool, text, .. }) if tool == "find_order" => {
                let order: Value = serde_json::from_str(text).unwrap_or_default();
                let arguments = json!({"cents": order["price"], "currency": "CHF"});
                ModelOutput::Call {
                    tool: "convert",
                    arguments,
                }
            }
            Some(Message::ToolResult { text, .. }) => {
                ModelOutput::Text(format!("Order 17 costs {text}."))
            }
            _ => ModelOutput::Call {
                tool: "find_order",
                arguments: json!({"number": 170}),
            },
        }
    }
}

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("chat-client", "1.0.0"))
        .await?;
    // A real client gives the name, description and input schema of each tool to the model.
    let tools = client.list_tools().await?;
    let request = "What does order 170 cost in francs? Perhaps it was 17.";
    println!("user: {request}");

    let mut model = Script;
    let mut conversation = vec![Message::User(request.to_owned())];
    for _ in 0..MAX_TURNS {
        let (tool, arguments) = match model.respond(&tools, &conversation) {
            ModelOutput::Call { tool, arguments } => (tool, arguments),
            ModelOutput::Text(text) => {
                println!("model: {text}");
                client.close().await;
                return Ok(());
            }
        };
        println!("model calls {tool} {arguments}");
        let result = client.call_tool(tool, arguments).await?;
        println!("  {}", result.all_text());
        conversation.push(Message::ToolResult {
            tool: tool.to_owned(),
            text: result.all_text(),
            is_error: result.is_error.unwrap_or_default(),
        });
    }
    Err(format!(
        "no text after {MAX_TURNS} turns for: {}",
        first_message(&conversation)
    )
    .into())
}

fn first_message(conversation: &[Message]) -> &str {
    match conversation.first() {
        Some(Message::User(text)) => text,
        _ => "",
    }
}
