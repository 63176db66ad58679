//! A toolwire client and an independent server, with the recorded requests and notifications of the server.

use std::cell::RefCell;
use std::ffi::OsString;
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
use toolwire_interop::{ListeningServer, RunningServer, ServerPeer, ServerWire, toolwire_program};

/// The root that the client declares.
pub(crate) const ROOT: &str = "file:///home/ada/engine";

/// The name of the client's model.
pub(crate) const MODEL: &str = "interop-model";

/// The server, the transport and the revision of a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) peer: ServerPeer,
    pub(crate) wire: ServerWire,
    /// The only revision of the client, or `None` for all revisions.
    pub(crate) only: Option<ProtocolVersion>,
    /// How the client reaches the server.
    pub(crate) route: Route,
}

/// How a client reaches a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Without another program.
    Direct,
    /// Through `toolwire proxy`, which the client starts.
    StdioProxy,
    /// Through `toolwire proxy --listen`.
    HttpProxy,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.only.map_or("any revision", ProtocolVersion::as_str);
        write!(f, "{:?} over {:?} in {version}", self.peer, self.wire)?;
        match self.route {
            Route::Direct => Ok(()),
            route => write!(f, ", {route:?}"),
        }
    }
}

/// A connected client and its server.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) setting: Setting,
    pub(crate) client: Client,
    /// The server, if the client did not start it. One check restarts it.
    pub(crate) server: Option<RefCell<RunningServer>>,
    /// The file with the id of the child process, if there is one.
    pub(crate) process_id_file: Option<PathBuf>,
    /// The proxy, if the client did not start it.
    _proxy: Option<ListeningServer>,
    pub(crate) user: Arc<User>,
}

impl Pair {
    /// Starts the server if the transport needs it, and connects.
    pub(crate) async fn connect(setting: Setting) -> Result<Self, Failure> {
        let user = Arc::new(User::default());
        let builder = setting.builder(&user);
        let (server, process_id_file) = match setting.wire {
            // The child of a listening proxy does not end with the client.
            ServerWire::Stdio if setting.route == Route::HttpProxy => (None, None),
            ServerWire::Stdio => (None, Some(fresh_file(setting))),
            wire => (Some(setting.peer.start(wire)?), None),
        };
        let url = server.as_ref().map(RunningServer::url);
        let file = process_id_file.as_deref();
        let mut proxy = None;
        let client = match (setting.route, url) {
            (Route::Direct, Some(url)) => builder.connect(url).await?,
            (Route::HttpProxy, url) => {
                let mut arguments: Vec<OsString> = vec!["proxy".into()];
                arguments.extend(["--listen".into(), "127.0.0.1:0".into()]);
                arguments.extend(setting.target(url, file)?);
                let started = ListeningServer::start_program(&toolwire_program()?, arguments)?;
                let url = started.url().to_owned();
                proxy = Some(started);
                builder.connect(url).await?
            }
            (Route::StdioProxy, Some(url)) => {
                let command = ServerCommand::new(toolwire_program()?).arg("proxy");
                builder.spawn(command.arg(url)).await?
            }
            (Route::Direct | Route::StdioProxy, None) => {
                builder.spawn(setting.child(file)?).await?
            }
        };
        Ok(Self {
            setting,
            client,
            server: server.map(RefCell::new),
            process_id_file,
            _proxy: proxy,
            user,
        })
    }

    /// Returns the listening server. Returns an error if the client started the server.
    pub(crate) fn listening(&self) -> Result<&RefCell<RunningServer>, Failure> {
        let server = self.server.as_ref();
        server.ok_or_else(|| Failure::new("the server is a child of the client"))
    }

    /// Returns the text of a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<String, Failure> {
        text_at(&self.client.read_resource(uri).await?)
    }

    /// Calls a tool and returns its text. Returns an error if the tool reports one.
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

/// Returns the text of a resource that has exactly one text.
pub(crate) fn text_at(read: &ReadResourceResult) -> Result<String, Failure> {
    match &read.contents[..] {
        [ResourceContents::Text(contents)] => Ok(contents.text.clone()),
        other => Err(Failure::new(format!("{other:?} is not text"))),
    }
}

impl Setting {
    /// Returns a client that responds to every request of the server.
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
                let result = forms.fill_in(&form);
                async move { Ok(result) }
            })
            .on_url_elicitation(move |request| {
                let result = addresses.visit(&request);
                async move { Ok(result) }
            })
            .on_sampling(move |request| {
                let result = samples.sample(&request);
                async move { result }
            })
            .on_log(move |message| logs.record_log(message));
        match self.only {
            Some(version) => builder.with_versions([version]),
            None => builder,
        }
    }

    /// Returns the command for stdio, with or without a proxy.
    pub(crate) fn child(self, process_id_file: Option<&Path>) -> Result<ServerCommand, Failure> {
        let mut words = self.server_words(process_id_file)?.into_iter();
        match self.route {
            Route::Direct => {
                let program = words.next().unwrap_or_default();
                Ok(ServerCommand::new(program).args(words))
            }
            Route::StdioProxy | Route::HttpProxy => {
                let command = ServerCommand::new(toolwire_program()?);
                Ok(command.args(["proxy", "--"]).args(words))
            }
        }
    }

    /// Returns the server as `toolwire proxy` expects it.
    fn target(
        self,
        url: Option<String>,
        process_id_file: Option<&Path>,
    ) -> Result<Vec<OsString>, Failure> {
        if let Some(url) = url {
            return Ok(vec![url.into()]);
        }
        let mut words = vec!["--".into()];
        words.extend(self.server_words(process_id_file)?);
        Ok(words)
    }

    /// Returns the command of the server for stdio, in a shell that writes the process id to the file.
    fn server_words(self, process_id_file: Option<&Path>) -> Result<Vec<OsString>, Failure> {
        let (program, arguments) = self.peer.command(self.wire, 0)?;
        let mut words: Vec<OsString> = Vec::new();
        if let Some(file) = process_id_file.filter(|_| cfg!(unix)) {
            words.extend(["sh".into(), "-c".into()]);
            words.extend(["echo $$ > \"$0\" && exec \"$@\"".into(), file.into()]);
        }
        words.push(program.into());
        words.extend(arguments);
        Ok(words)
    }
}

/// Returns a unique file name: the tests of one process have different settings.
fn fresh_file(setting: Setting) -> PathBuf {
    let name = format!("{setting}").replace([' ', ','], "-");
    std::env::temp_dir().join(format!("toolwire-{}-{name}.pid", std::process::id()))
}

/// A user who decides by the message alone, and records it.
#[derive(Debug, Default)]
pub(crate) struct User {
    asked: Mutex<Vec<String>>,
    log: Log,
}

#[derive(Debug)]
struct Log {
    sender: UnboundedSender<LoggingMessageNotificationParams>,
    unread: tokio::sync::Mutex<UnboundedReceiver<LoggingMessageNotificationParams>>,
}

impl Default for Log {
    fn default() -> Self {
        let (sender, unread) = unbounded_channel();
        Self {
            sender,
            unread: tokio::sync::Mutex::new(unread),
        }
    }
}

impl User {
    /// Returns the messages since the last call.
    pub(crate) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the next log message.
    pub(crate) async fn logged(&self) -> LoggingMessageNotificationParams {
        let message = self.log.unread.lock().await.recv().await;
        message.expect("the sender is not dropped before the receiver")
    }

    fn record(&self, message: &str) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(message.to_owned());
    }

    fn fill_in(&self, form: &ElicitRequestFormParams) -> ElicitResult {
        self.record(&form.message);
        let filled_in = match form.message.as_str() {
            // The client fills in fields with a default.
            "Launch?" => json!({"confirmed": true}),
            "Your name?" => json!({"value": "Ada"}),
            "Your colour?" => json!({"value": "green"}),
            "Password?" => json!({"value": "xyzzy"}),
            "Who signs?" => json!({"value": "Grace"}),
            "Please provide inputs for the following fields:" => json!({"name": "Ada"}),
            "Cancel?" => return ElicitResult::cancel(),
            _ => return ElicitResult::decline(),
        };
        let Value::Object(filled_in) = filled_in else {
            unreachable!("every content is an object");
        };
        ElicitResult::accept().with_content(filled_in)
    }

    fn visit(&self, request: &ElicitRequestURLParams) -> ElicitResult {
        self.record(&request.url);
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
        self.record(&words);
        let content = SamplingMessageContentBlock::text(format!("in short: {words}"));
        Ok(CreateMessageResult::new(MODEL, content))
    }

    fn record_log(&self, message: LoggingMessageNotificationParams) {
        // After the check, no task reads the log.
        let _ = self.log.sender.send(message);
    }
}

/// An error with its causes.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// The outcome of a check.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
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
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }
}

/// Returns an error with both values if they differ.
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

/// Returns an error if the condition is false.
pub(crate) fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(Failure(otherwise()))
    }
}

/// Returns all text of a result.
pub(crate) fn text_of(result: &CallToolResult) -> String {
    result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect()
}
