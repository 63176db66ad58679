//! Calls a tool.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use toolwire::types::CallToolResult;
use toolwire::{Called, RawJson, Tool};

use crate::commands::save::save;
use crate::commands::tools::{find_tool, offered_tools};
use crate::commands::{Session, failed, first_and_rest, no_more_words};
use crate::failure::{Exit, Failure};
use crate::input_kind::undeclared_input;
use crate::request_arguments::{Call, saved_calls_file};
use crate::saved_calls::{SavedCall, SavedCalls, SavedCallsError, SavedResponse, check_name};
use crate::show::{self, Style, plain_text};
use crate::snippet_form::SnippetForm;
use crate::snippets::{Exchange, ExchangeKind};
use crate::sync::lock;
use crate::tool_arguments::{AssembledArguments, ParsedArguments, Schema, missing, object};

/// A tool call, checked as far as possible without the server.
#[derive(Debug)]
pub(crate) struct CallPlan {
    tool: String,
    given: ParsedArguments,
    output: Option<PathBuf>,
    as_task: bool,
    saving: Option<Saving>,
    print: Option<SnippetForm>,
}

/// How a call is saved.
#[derive(Debug)]
struct Saving {
    name: String,
    file: PathBuf,
    /// The responses to its input requests so far.
    responses: Arc<Mutex<Vec<SavedResponse>>>,
}

impl CallPlan {
    pub(crate) fn new(call: &Call, words: Vec<String>) -> Result<Self, Failure> {
        let (tool, rest) = first_and_rest(words, "tool", "toolwire call SERVER TOOL name=value")?;
        Ok(Self {
            tool,
            given: ParsedArguments::read(call.request.args.as_deref(), &rest)?,
            output: call.output.clone(),
            as_task: call.task,
            saving: Saving::of(call)?,
            print: call.request.print,
        })
    }

    /// Makes a saved call again.
    pub(crate) fn saved(
        call: &Call,
        saved: SavedCall,
        words: Vec<String>,
    ) -> Result<Self, Failure> {
        no_more_words(words)?;
        Ok(Self {
            tool: saved.tool,
            given: ParsedArguments::read(Some(saved.arguments.get()), &[])?,
            output: call.output.clone(),
            as_task: false,
            saving: None,
            print: call.request.print,
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
        if let Some(form) = self.print {
            let exchange = Exchange {
                kind: ExchangeKind::Tools,
                name: self.tool,
                arguments: Value::from(arguments.values).into(),
                schema: tool.map(|tool| tool.input_schema.clone()),
            };
            return session.print_request(form, &exchange);
        }
        if self.as_task {
            return self.start(session, arguments.values).await;
        }
        let progress = Arc::clone(screen);
        let to_save = RawJson::from_serialize(&arguments.values);
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
        let printed = print_result(session, &result, &raw, self.output.as_deref())?;
        if let (Some(saving), Ok(arguments)) = (self.saving, to_save) {
            let file = saving.file.clone();
            let saved = saving.save(self.tool, arguments);
            saved.map_err(|error| unusable(&file, &error))?;
        }
        Ok(printed)
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

impl Saving {
    /// Reads `--save`. An invalid name, or a file that cannot be read, ends the command before the call.
    fn of(call: &Call) -> Result<Option<Self>, Failure> {
        let Some(name) = &call.save else {
            return Ok(None);
        };
        let file = saved_calls_file(call.calls.as_deref());
        check_name(name)
            .and_then(|()| SavedCalls::read(file).map(drop))
            .map_err(|error| unusable(file, &error))?;
        Ok(Some(Self {
            name: name.clone(),
            file: file.to_owned(),
            responses: Arc::clone(&call.request.input.sent),
        }))
    }

    fn save(self, tool: String, arguments: RawJson) -> Result<(), SavedCallsError> {
        let mut calls = SavedCalls::read(&self.file)?;
        calls.insert(SavedCall {
            name: self.name,
            tool,
            arguments,
            responses: std::mem::take(&mut lock(&self.responses)),
        })?;
        calls.write(&self.file)
    }
}

/// Returns the failure for a file of saved calls.
pub(super) fn unusable(file: &Path, error: &SavedCallsError) -> Failure {
    Failure::usage(format!("{}: {error}", file.display()))
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
    let input = texts.find_map(undeclared_input);
    if let Some(input) = input.filter(|input| !session.responds.has(*input)) {
        screen.show_line(&format!("  try: {}", input.advice()));
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
