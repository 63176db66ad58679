//! The arguments of the commands that send a request to a server.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clap::{Args, ValueEnum};

use crate::connection_arguments::Server;
use crate::failure::Failure;
use crate::output_arguments::Output;
use crate::saved_calls::{DEFAULT_FILE, SavedCall, SavedCalls, SavedResponse};
use crate::snippet_form::SnippetForm;

/// Responses to input requests of the server, given on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct InputOptions {
    /// Fill in this field when the server requests input; may be repeated
    #[arg(
        long = "answer", // tidy: allow(answer) established name of the option
        value_name = "FIELD=VALUE",
        help_heading = "Input requests of the server"
    )]
    pub(crate) fields: Vec<String>,
    /// Respond with this text when the server requests a message of the client's model (sampling). May be repeated, for
    /// one request after the other; the last text also responds to further requests
    #[arg(
        long = "model-response",
        value_name = "TEXT",
        help_heading = "Input requests of the server"
    )]
    pub(crate) model_texts: Vec<String>,
    /// Decline every input request of the server
    #[arg(
        long,
        conflicts_with_all = ["fields", "model_texts"],
        help_heading = "Input requests of the server"
    )]
    pub(crate) decline: bool,
    /// The responses of a saved call.
    #[arg(skip)]
    pub(crate) saved: Vec<SavedResponse>,
    /// The responses to forms and sampling requests that were sent, for a call that is saved.
    #[arg(skip)]
    pub(crate) sent: Arc<Mutex<Vec<SavedResponse>>>,
}

/// The arguments of a command without options of its own.
#[derive(Debug, Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    pub(crate) server: Server,
}

/// A request with arguments, for a tool or a prompt.
#[derive(Debug, Args)]
pub(crate) struct ArgumentRequest {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Print the request in this form instead of sending it
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    pub(crate) print: Option<SnippetForm>,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) request: ArgumentRequest,
    /// Save images, audio and other binary content to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE", conflicts_with = "print")]
    pub(crate) output: Option<PathBuf>,
    /// Start a task and print its id, without waiting for the result. Without it, a call that becomes a task is waited
    /// for
    #[arg(long, conflicts_with = "print")]
    pub(crate) task: bool,
    /// Also show what happened inside of the server, on standard error: the times of middleware and of the handler, why
    /// arguments or results were rejected, and what is hidden. For a command that starts a server written with toolwire
    #[arg(long, help_heading = "Output", conflicts_with = "print")]
    pub(crate) inside: bool,
    /// Make the call again that is saved under this name, with its responses to input requests
    #[arg(long, value_name = "NAME", group = "named", conflicts_with_all = ["args", "task"])]
    pub(crate) saved: Option<String>,
    /// Save the call under this name when the tool has responded, with the responses to its input requests
    #[arg(long, value_name = "NAME", group = "named", conflicts_with_all = ["task", "print"])]
    pub(crate) save: Option<String>,
    /// The file of the saved calls [default: toolwire-calls.json in the current directory]
    #[arg(long, value_name = "FILE", requires = "named")]
    pub(crate) calls: Option<PathBuf>,
}

/// The arguments of `toolwire saved`.
#[derive(Debug, Args)]
pub(crate) struct Saved {
    /// Delete this call
    #[arg(long, value_name = "NAME")]
    pub(crate) delete: Option<String>,
    /// The file of the saved calls [default: toolwire-calls.json in the current directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) calls: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Returns the file of the saved calls.
pub(crate) fn saved_calls_file(given: Option<&Path>) -> &Path {
    given.unwrap_or(Path::new(DEFAULT_FILE))
}

impl Call {
    /// Reads the call that `--saved` names, and uses its responses.
    pub(crate) fn read_saved(&mut self) -> Result<Option<SavedCall>, Failure> {
        let Some(name) = &self.saved else {
            return Ok(None);
        };
        let path = saved_calls_file(self.calls.as_deref());
        let all = SavedCalls::read(path);
        let all = all.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let Some(call) = all.get(name) else {
            let names: Vec<&str> = all.calls.iter().map(|call| call.name.as_str()).collect();
            let advice = match names.as_slice() {
                [] => "save a call with --save, or on the page of `toolwire inspect`".to_owned(),
                names => format!("the saved calls are {}", names.join(", ")),
            };
            let message = format!("{} has no saved call `{name}`", path.display());
            return Err(Failure::usage(message).with_advice(advice));
        };
        self.request.input.saved.clone_from(&call.responses);
        Ok(Some(call.clone()))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Resources {
    #[command(flatten)]
    pub(crate) server: Server,
    /// List only the templates
    #[arg(long)]
    pub(crate) templates: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// Save the contents to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the request in this form instead of sending it
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        conflicts_with = "output",
        help_heading = "Output"
    )]
    pub(crate) print: Option<SnippetForm>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The kind of the name; by default, a name with a colon is a template
    #[arg(long, value_enum)]
    pub(crate) kind: Option<ReferenceKind>,
}

#[derive(Debug, Args)]
pub(crate) struct Listen {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Show changes of the list of tools
    #[arg(long)]
    pub(crate) tools: bool,
    /// Show changes of the list of prompts
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Show changes of the list of resources
    #[arg(long)]
    pub(crate) resources: bool,
    /// Exit after this many changes
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceKind {
    /// A prompt
    Prompt,
    /// A resource template
    Template,
}
