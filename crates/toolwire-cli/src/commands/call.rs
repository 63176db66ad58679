//! Calls a tool.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolwire::types::CallToolResult;
use toolwire::{Called, RawJson, Tool};

use crate::commands::save::save;
use crate::commands::tools::{find_tool, offered_tools};
use crate::commands::{Session, failed, first_and_rest};
use crate::failure::{Exit, Failure, INPUT_ADVICE, is_about_input};
use crate::request_arguments::Call;
use crate::show::{self, Style, plain_text};
use crate::tool_arguments::{AssembledArguments, ParsedArguments, Schema, missing, object};

/// A tool call, checked as far as possible without the server.
#[derive(Debug)]
pub(crate) struct CallPlan {
    tool: String,
    given: ParsedArguments,
    output: Option<PathBuf>,
    as_task: bool,
}

impl CallPlan {
    pub(crate) fn new(call: &Call, words: Vec<String>) -> Result<Self, Failure> {
        let (tool, rest) = first_and_rest(words, "tool", "toolwire call SERVER TOOL name=value")?;
        Ok(Self {
            tool,
            given: ParsedArguments::read(call.request.args.as_deref(), &rest)?,
            output: call.output.clone(),
            as_task: call.task,
        })
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let (client, screen) = (&session.client, &session.screen);
        // Nothing is sent for a tool that is not in the list. Without a list, the server decides.
        let tools = offered_tools(session).await?;
        let tool = match &tools {
            Some(tools) => Some(find_tool(&self.tool, tools)?),
            None => None,
        };
        let arguments = tool_arguments(&self.given, tool)?;
        for warning in &arguments.warnings {
            screen.warn(warning);
        }
        let progress = Arc::clone(screen);
        if self.as_task {
            return self.start(session, arguments.values).await;
        }
        let result = client
            .request(
                "tools/call",
                json!({"name": self.tool, "arguments": arguments.values}),
            )
            .on_progress(move |report| progress.progress(&report))
            .await;
        screen.clear();
        let raw = result.map_err(failed)?;
        let result: CallToolResult = raw.parse().map_err(|error| {
            Failure::new(Exit::Protocol, format!("the result is invalid: {error}"))
        })?;
        print_result(session, &result, &raw, self.output.as_deref())
    }

    /// Starts the call as a task, and prints the id of the task.
    async fn start(
        &self,
        session: &Session,
        arguments: Map<String, Value>,
    ) -> Result<Exit, Failure> {
        let (client, screen) = (&session.client, &session.screen);
        let call = client.call_tool(&self.tool, arguments).as_task();
        match call.await.map_err(failed)? {
            Called::Task(task) if screen.json => {
                screen.print_json(&json!({"taskId": task.id()}))?;
            }
            Called::Task(task) => screen.print(&format!("{}\n", plain_text(task.id())))?,
            Called::Completed(result) => {
                screen.show_line("the server created no task and returned the result at once");
                return print_typed_result(session, &result, self.output.as_deref());
            }
        }
        Ok(Exit::Success)
    }
}

/// Converts the arguments of a command line by the schema of the tool. The failure shows how to call the tool.
pub(super) fn tool_arguments(
    given: &ParsedArguments,
    tool: Option<&Tool>,
) -> Result<AssembledArguments, Failure> {
    let schema = tool.and_then(|tool| tool.input_schema.to_value().ok());
    let schema = schema.unwrap_or(Value::Bool(true));
    let schema = Schema::new(&schema);
    let usage = |failure: Failure| match tool {
        Some(tool) => failure.with_details(usage(tool, schema)),
        None => failure,
    };
    let missing = missing(given, schema.required());
    if !missing.is_empty() {
        return Err(usage(missing_arguments(&missing)));
    }
    object(given, schema).map_err(usage)
}

/// Prints or saves a result, and returns the exit code of a call.
pub(super) fn print_typed_result(
    session: &Session,
    result: &CallToolResult,
    output: Option<&Path>,
) -> Result<Exit, Failure> {
    let raw = RawJson::from_serialize(result)
        .map_err(|error| Failure::new(Exit::Protocol, format!("the result is invalid: {error}")))?;
    print_result(session, result, &raw, output)
}

fn print_result(
    session: &Session,
    result: &CallToolResult,
    raw: &RawJson,
    output: Option<&Path>,
) -> Result<Exit, Failure> {
    let screen = &session.screen;
    let saved = match output {
        Some(path) => save(path, &show::attachments(&result.content), screen)?,
        None => false,
    };
    // If the bytes went to standard output, nothing else is written there.
    if !saved {
        if screen.json {
            screen.print_raw(raw)?;
        } else {
            screen.print(&show::call_result(result, screen.style))?;
        }
    }
    if result.is_error != Some(true) {
        return Ok(Exit::Success);
    }
    // Some servers report a missing capability as an error of the tool.
    let mut texts = result.content.iter().filter_map(|block| block.as_text());
    if !session.has_input && texts.any(is_about_input) {
        screen.show_line(&format!("  try: {INPUT_ADVICE}"));
    }
    Ok(Exit::ToolFailed)
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
