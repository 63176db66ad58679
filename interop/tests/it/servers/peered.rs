//! Our client and a server that is not ours, connected; and what the server has asked and told the client so far.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, LoggingMessageNotificationParams, ReadResourceResult,
    Root, SamplingMessageContentBlock,
};
use toolwire::{
    CallToolResult, Client, ClientBuilder, ErrorObject, ProtocolVersion, ResourceContents,
    ServerCommand,
};
use toolwire_interop::{RunningServer, ServerPeer, ServerWire};

/// What the client says its user works in.
pub(crate) const ROOT: &str = "file:///home/ada/engine";

/// The name of the model behind the client.
pub(crate) const MODEL: &str = "interop-model";

/// Which server, how it is reached, and in which revision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) peer: ServerPeer,
    pub(crate) wire: ServerWire,
    /// The only revision the client speaks; all of them when it is to find out by itself.
    pub(crate) only: Option<ProtocolVersion>,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.only.map_or("any revision", ProtocolVersion::as_str);
        write!(f, "{:?} over {:?} in {version}", self.peer, self.wire)
    }
}

/// A connected client and its server.
#[derive(Debug)]
pub(crate) struct Peered {
    pub(crate) setting: Setting,
    pub(crate) client: Client,
    /// The server, when the client did not start it itself; one check starts it anew.
    pub(crate) server: Option<RefCell<RunningServer>>,
    /// Where the child process, when there is one, has written its id.
    pub(crate) process_id_file: Option<PathBuf>,
    pub(crate) user: Arc<User>,
}

impl Peered {
    /// Starts the server where the wire needs it, and connects.
    pub(crate) async fn connect(setting: Setting) -> Result<Self, Failure> {
        let user = Arc::new(User::default());
        let builder = setting.builder(&user);
        let (client, server, process_id_file) = match setting.wire {
            ServerWire::Stdio => {
                let file = fresh_file(setting);
                let client = builder.spawn(setting.child(&file)?).await?;
                (client, None, Some(file))
            }
            _ => {
                let server = setting.peer.start(setting.wire)?;
                let client = builder.connect(server.url()).await?;
                (client, Some(RefCell::new(server)), None)
            }
        };
        Ok(Self {
            setting,
            client,
            server,
            process_id_file,
            user,
        })
    }

    /// The server, on wires where it listens.
    pub(crate) fn listening(&self) -> Result<&RefCell<RunningServer>, Failure> {
        let server = self.server.as_ref();
        server.ok_or_else(|| Failure::new("the server is a child of the client"))
    }

    /// The text of a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<String, Failure> {
        text_at(&self.client.read_resource(uri).await?)
    }

    /// The text a tool answers with; its failure is one of the check.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: impl Serialize,
    ) -> Result<String, Failure> {
        let result = self.client.call_tool(tool, arguments).await?;
        match result.is_error {
            Some(true) => Err(Failure(format!("{tool} failed: {}", text_of(&result)))),
            _ => Ok(text_of(&result)),
        }
    }
}

/// The text of a resource that is one text.
pub(crate) fn text_at(read: &ReadResourceResult) -> Result<String, Failure> {
    match &read.contents[..] {
        [ResourceContents::Text(contents)] => Ok(contents.text.clone()),
        other => Err(Failure::new(format!("{other:?} is no text"))),
    }
}

impl Setting {
    /// A client with a user behind it who answers everything.
    pub(crate) fn builder(self, user: &Arc<User>) -> ClientBuilder {
        let (forms, addresses, samples, logs) = (
            Arc::clone(user),
            Arc::clone(user),
            Arc::clone(user),
            Arc::clone(user),
        );
        let builder = Client::builder("toolwire-interop", "1.0.0")
            .with_roots([Root::new(ROOT)])
            .on_elicitation(move |form| {
                let answer = forms.fill_in(&form);
                async move { Ok(answer) }
            })
            .on_url_elicitation(move |request| {
                let answer = addresses.visit(&request);
                async move { Ok(answer) }
            })
            .on_sampling(move |request| {
                let answer = samples.sample(&request);
                async move { answer }
            })
            .on_log(move |message| logs.hear(message));
        match self.only {
            Some(version) => builder.with_versions([version]),
            None => builder,
        }
    }

    /// The command that serves over stdio, behind a shell that writes the id of the process into the file.
    pub(crate) fn child(self, process_id_file: &Path) -> Result<ServerCommand, Failure> {
        let (program, arguments) = self.peer.command(self.wire, 0)?;
        let command = if cfg!(unix) {
            ServerCommand::new("sh")
                .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
                .arg(process_id_file)
                .arg(program)
        } else {
            ServerCommand::new(program)
        };
        Ok(command.args(arguments))
    }
}

/// A name nobody else uses: the tests of one process have different settings.
fn fresh_file(setting: Setting) -> PathBuf {
    let name = format!("{setting}").replace(' ', "-");
    std::env::temp_dir().join(format!("toolwire-{}-{name}.pid", std::process::id()))
}

/// Who is asked: decides by the question alone, and remembers it.
#[derive(Debug, Default)]
pub(crate) struct User {
    asked: Mutex<Vec<String>>,
    log: Log,
}

#[derive(Debug)]
struct Log {
    heard: UnboundedSender<LoggingMessageNotificationParams>,
    unread: tokio::sync::Mutex<UnboundedReceiver<LoggingMessageNotificationParams>>,
}

impl Default for Log {
    fn default() -> Self {
        let (heard, unread) = unbounded_channel();
        Self {
            heard,
            unread: tokio::sync::Mutex::new(unread),
        }
    }
}

impl User {
    /// Everything the user was asked since this was called last.
    pub(crate) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next log message.
    pub(crate) async fn logged(&self) -> LoggingMessageNotificationParams {
        let message = self.log.unread.lock().await.recv().await;
        message.expect("the sender lives as long as the receiver")
    }

    fn remember(&self, question: &str) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(question.to_owned());
    }

    fn fill_in(&self, form: &ElicitRequestFormParams) -> ElicitResult {
        self.remember(&form.message);
        let filled_in = match form.message.as_str() {
            // What has a default is left to the client.
            "Launch?" => json!({"confirmed": true}),
            "Your name?" => json!({"value": "Ada"}),
            "Your colour?" => json!({"value": "green"}),
            "Password?" => json!({"value": "xyzzy"}),
            "Who signs?" => json!({"value": "Grace"}),
            "Please provide inputs for the following fields:" => json!({"name": "Ada"}),
            "Turn away?" => return ElicitResult::cancel(),
            _ => return ElicitResult::decline(),
        };
        let Value::Object(filled_in) = filled_in else {
            unreachable!("all of them are objects");
        };
        ElicitResult::accept().with_content(filled_in)
    }

    fn visit(&self, request: &ElicitRequestURLParams) -> ElicitResult {
        self.remember(&request.url);
        ElicitResult::accept()
    }

    fn sample(
        &self,
        request: &CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let words = request
            .messages
            .iter()
            .flat_map(|message| message.content.blocks());
        let words: Vec<&str> = words
            .filter_map(SamplingMessageContentBlock::as_text)
            .collect();
        let words = words.join(" ");
        self.remember(&words);
        let answer = SamplingMessageContentBlock::text(format!("in short: {words}"));
        Ok(CreateMessageResult::new(MODEL, answer))
    }

    fn hear(&self, message: LoggingMessageNotificationParams) {
        // Nobody reads any more when the check is over.
        let _ = self.log.heard.send(message);
    }
}

/// What was wrong, with everything behind it.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// How a check ends.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(deeper) = source {
            text.push_str(": ");
            text.push_str(&deeper.to_string());
            source = deeper.source();
        }
        Self(text)
    }
}

/// Compares, and says both when they differ.
pub(crate) fn equal<A: fmt::Debug + PartialEq<B>, B: fmt::Debug>(
    actual: A,
    expected: B,
) -> Outcome {
    if actual == expected {
        Ok(())
    } else {
        Err(Failure(format!("{actual:?} is not {expected:?}")))
    }
}

/// Says what should have been.
pub(crate) fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(Failure(otherwise()))
    }
}

/// All text of a result.
pub(crate) fn text_of(result: &CallToolResult) -> String {
    result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect()
}
