//! Calls a tool.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::Tool;
use toolwire::types::CallToolResult;

use crate::arguments::Call;
use crate::commands::save::save;
use crate::commands::tools::{known_tools, with_similar_tools};
use crate::commands::{Session, failed, first_and_rest};
use crate::failure::{Exit, Failure};
use crate::show::{self, Style};
use crate::tool_arguments::{ParsedArguments, Schema, missing, object};

/// A tool call, checked as far as possible without the server.
#[derive(Debug)]
pub(crate) struct CallPlan {
    tool: String,
    given: ParsedArguments,
    output: Option<PathBuf>,
}

impl CallPlan {
    pub(crate) fn new(call: &Call, words: Vec<String>) -> Result<Self, Failure> {
        let (tool, rest) = first_and_rest(words, "tool", "toolwire call SERVER TOOL name=value")?;
        Ok(Self {
            tool,
            given: ParsedArguments::read(call.args.as_deref(), &rest)?,
            output: call.output.clone(),
        })
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let (client, screen) = (&session.client, &session.screen);
        let tools = known_tools(client).await?;
        let tool = tools.iter().find(|tool| tool.name == self.tool);
        let arguments = self.arguments(tool)?;
        let progress = Arc::clone(screen);
        let result = client
            .request(
                "tools/call",
                json!({"name": self.tool, "arguments": arguments}),
            )
            .on_progress(move |report| progress.progress(&report))
            .await;
        screen.clear();
        let raw = result.map_err(|error| {
            let failure = failed(error);
            match tool {
                Some(_) => failure,
                // A server may have tools that it does not list, so its error comes first.
                None => with_similar_tools(failure, &self.tool, &tools),
            }
        })?;
        let result: CallToolResult = raw.parse().map_err(|error| {
            Failure::new(Exit::Protocol, format!("the result is invalid: {error}"))
        })?;
        let saved = match &self.output {
            Some(path) => save(path, &show::attachments(&result.content), screen)?,
            None => false,
        };
        // If the bytes went to standard output, nothing else is written there.
        if !saved {
            if screen.json {
                screen.print_raw(&raw)?;
            } else {
                screen.print(&show::call_result(&result, screen.style))?;
            }
        }
        Ok(match result.is_error {
            Some(true) => Exit::ToolFailed,
            _ => Exit::Success,
        })
    }

    fn arguments(&self, tool: Option<&Tool>) -> Result<Value, Failure> {
        let schema = tool.and_then(|tool| tool.input_schema.to_value().ok());
        let schema = schema.unwrap_or(Value::Bool(true));
        let schema = Schema::new(&schema);
        let usage = |failure: Failure| match tool {
            Some(tool) => failure.with_details(usage(tool, schema)),
            None => failure,
        };
        let missing = missing(&self.given, schema.required());
        if !missing.is_empty() {
            return Err(usage(missing_arguments(&missing)));
        }
        object(&self.given, schema)
            .map(Value::Object)
            .map_err(usage)
    }
}

fn usage(tool: &Tool, schema: Schema<'_>) -> String {
    let description = tool.description.as_deref().unwrap_or_default().trim();
    let usage = show::usage(&tool.name, schema, Style::default());
    if description.is_empty() {
        format!("\n{usage}")
    } else {
        format!("\n{description}\n\n{usage}")
    }
}

/// Returns the failure for missing arguments.
pub(super) fn missing_arguments(names: &[&str]) -> Failure {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let verb = match names.len() {
        1 => "is",
        _ => "are",
    };
    Failure::usage(format!("{} {verb} missing", quoted.join(", ")))
}
