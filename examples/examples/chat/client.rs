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

/// A model that never stops calling tools must not run for ever.
const MAX_TURNS: usize = 8;

/// What the model wants next.
enum Reply {
    /// Call a tool and continue with its result.
    Call {
        tool: &'static str,
        arguments: Value,
    },
    /// The answer for the user.
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

/// A model: gets the tools and the conversation, and returns one reply.
trait Model {
    fn reply(&mut self, tools: &[Tool], conversation: &[Message]) -> Reply;
}

/// A model whose replies are known in advance. The first call is wrong, as calls of real models are sometimes.
struct Script;

impl Model for Script {
    fn reply(&mut self, tools: &[Tool], conversation: &[Message]) -> Reply {
        let offered = |name: &str| tools.iter().any(|tool| tool.name == name);
        if !offered("find_order") || !offered("convert") {
            return Reply::Text("This server cannot look up orders.".to_owned());
        }
        match conversation.last() {
            Some(Message::ToolResult {
                tool,
                is_error: true,
                ..
            }) if tool == "find_order" => Reply::Call {
                tool: "find_order",
                arguments: json!({"number": 17}),
            },
            Some(Message::ToolResult { tool, text, .. }) if tool == "find_order" => {
                let order: Value = serde_json::from_str(text).unwrap_or_default();
                let arguments = json!({"cents": order["price"], "currency": "CHF"});
                Reply::Call {
                    tool: "convert",
                    arguments,
                }
            }
            Some(Message::ToolResult { text, .. }) => {
                Reply::Text(format!("Order 17 costs {text}."))
            }
            _ => Reply::Call {
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
    let question = "What does order 170 cost in francs? Perhaps it was 17.";
    println!("user: {question}");

    let mut model = Script;
    let mut conversation = vec![Message::User(question.to_owned())];
    for _ in 0..MAX_TURNS {
        let (tool, arguments) = match model.reply(&tools, &conversation) {
            Reply::Call { tool, arguments } => (tool, arguments),
            Reply::Text(text) => {
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
        "no answer after {MAX_TURNS} turns to {}",
        first_question(&conversation)
    )
    .into())
}

fn first_question(conversation: &[Message]) -> &str {
    match conversation.first() {
        Some(Message::User(text)) => text,
        _ => "",
    }
}
