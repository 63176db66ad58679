//! The state behind the page: the connection, the settings, calls, input requests and the log.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use clap::ValueEnum;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use toolwire::schema::SchemaChecker;
use toolwire::types::Root;
use toolwire::{Client, Error, ProcessTracker, RawJson};

use crate::connect::era_name;
use crate::connection_arguments::Server;
use crate::failure::{Failure, Phase};
use crate::inspect::calls::Calls;
use crate::inspect::connector::{Connector, PageParts};
use crate::inspect::events::PageEvents;
use crate::inspect::faults::SharedFaults;
use crate::inspect::inputs::Inputs;
use crate::inspect::inside::Inside;
use crate::inspect::lists::{self, ListItems, ListKind};
use crate::inspect::log::{Log, LogLimits};
use crate::inspect::recordings::Recordings;
use crate::inspect::settings::{Faults, Settings, SettingsChange};
use crate::inspect::source::Source;
use crate::inspect::subscriptions::Subscriptions;
use crate::inspect_arguments::{Capability, PageOptions};
use crate::record::Recorder;
use crate::saved_calls::{DEFAULT_FILE, SavedResponse};
use crate::screen::Screen;
use crate::snippet_form::SnippetForm;
use crate::snippets::{self, Exchange, SnippetServer};
use crate::sync::lock;

/// Why a request of the page cannot be processed.
#[derive(Debug)]
pub(super) enum InspectError {
    /// The request is invalid, with the reason and the remedy.
    Invalid(String),
    /// There is no connection to the server.
    NotConnected,
    /// A limit of this command is reached.
    Limit(String),
    /// The server returned an error, or the connection failed.
    Failed(Failure),
}

/// The connection to the server.
#[derive(Debug)]
pub(super) enum Status {
    Connecting,
    Connected(Client),
    Failed(Failure),
}

#[derive(Debug)]
pub(super) struct Current {
    pub(super) status: Status,
    /// The number of connections so far, by which the page recognizes a new one.
    pub(super) connections: u64,
    /// The number of states that were returned, by which the page ignores a state that arrives late.
    states: u64,
    pub(super) settings: Settings,
    pub(super) subscriptions: Subscriptions,
    /// The last build of `toolwire dev`.
    build: Option<Value>,
}

/// The state behind the page.
pub(crate) struct Inspector {
    pub(super) connector: Connector,
    current: Mutex<Current>,
    faults: SharedFaults,
    /// Notified when another connection is requested.
    pub(super) reconnect: Notify,
    pub(super) log: Arc<Log>,
    pub(super) events: PageEvents,
    pub(super) inputs: Inputs,
    pub(super) calls: Calls,
    pub(super) recordings: Recordings,
    inside: Inside,
    /// Permits one comparison with a record at a time.
    pub(super) comparing: Semaphore,
    /// The file of the saved calls.
    saved_path: PathBuf,
    /// Permits one change of the saved calls at a time.
    pub(super) saving: Arc<Semaphore>,
    pub(super) checker: SchemaChecker,
    /// Permits one change of the settings at a time.
    changing: Semaphore,
}

impl Inspector {
    pub(crate) fn new(
        source: impl Into<Source>,
        server: &Server,
        screen: &Arc<Screen>,
        processes: &ProcessTracker,
    ) -> Self {
        let source = source.into();
        let log = Arc::new(Log::new(LogLimits::default()));
        let events = PageEvents::new();
        let calls = Calls::new(&events);
        let inputs = Inputs::new(&events, &calls);
        let recordings = Recordings::new(source.transport(), &log);
        let faults = SharedFaults::default();
        let inside = Inside::new(&log, &calls);
        let parts = PageParts {
            faults: faults.clone(),
            inputs: inputs.clone(),
            recordings: recordings.clone(),
            inside: inside.clone(),
        };
        let connector = Connector::new(source, server, screen, processes, parts);
        let current = Current {
            status: Status::Connecting,
            connections: 0,
            states: 0,
            settings: Settings::new(server),
            subscriptions: Subscriptions::default(),
            build: None,
        };
        Self {
            connector,
            current: Mutex::new(current),
            faults,
            reconnect: Notify::new(),
            log,
            calls,
            events,
            inputs,
            recordings,
            inside,
            comparing: Semaphore::new(1),
            saved_path: DEFAULT_FILE.into(),
            saving: Arc::new(Semaphore::new(1)),
            checker: SchemaChecker::new(),
            changing: Semaphore::new(1),
        }
    }

    /// Uses the options of the command line.
    pub(crate) fn with_options(mut self, options: &PageOptions) -> Self {
        if let Some(path) = &options.calls {
            self.saved_path.clone_from(path);
        }
        let faults = Faults::of(&options.faults);
        self.faults.set(faults);
        {
            let mut current = self.lock();
            current.settings.faults = faults;
            let offers = |capability| !options.without.contains(&capability);
            current.settings.elicitation = offers(Capability::Elicitation);
            current.settings.sampling = offers(Capability::Sampling);
        }
        self
    }

    /// Returns the file of the saved calls.
    pub(super) fn saved_path(&self) -> &Path {
        &self.saved_path
    }

    /// Writes all messages to the record of `--record`.
    pub(super) fn with_recorder(self, recorder: Option<Arc<Recorder>>) -> Self {
        if let Some(recorder) = recorder {
            self.recordings.set_file(recorder);
        }
        self
    }

    /// Adds the events of a record to the log, if the page shows a record.
    pub(super) fn show_record(&self) -> Result<(), Failure> {
        match &self.connector.source {
            Source::Record(record) => record.fill(&self.log),
            Source::Server(_) => Ok(()),
        }
    }

    /// Closes the connection.
    pub(crate) async fn close(&self) {
        let status = std::mem::replace(&mut self.lock().status, Status::Connecting);
        if let Status::Connected(client) = status {
            client.close().await;
        }
        // Waits for the disk.
        let recordings = self.recordings.clone();
        let _ = tokio::task::spawn_blocking(move || recordings.close()).await;
    }

    /// Requests another connection.
    pub(crate) fn reconnect(&self) {
        self.reconnect.notify_one();
    }

    /// Shows the state of a build.
    pub(crate) fn set_build(&self, build: Value) {
        self.lock().build = Some(build);
        self.send_state();
    }

    /// Adds an event of this command to the log.
    pub(crate) fn note(&self, text: &str) {
        self.log.note(text);
    }

    /// Takes a line of a server's standard error if it is a report of the server. Returns `false` for other lines.
    pub(crate) fn take_report(&self, line: &str) -> bool {
        self.inside.take(line)
    }

    /// Adds a line of a server's standard error to the log and to the records.
    pub(crate) fn stderr(&self, line: &str) {
        self.log.stderr(line);
        self.recordings.stderr(line);
    }

    /// Returns the connected client.
    pub(super) fn client(&self) -> Result<Client, InspectError> {
        match &self.lock().status {
            Status::Connected(client) => Ok(client.clone()),
            Status::Connecting | Status::Failed(_) => Err(InspectError::NotConnected),
        }
    }

    /// Sends a request to the server. Input requests with one of the messages get these responses. Returns the id of the
    /// call.
    pub(super) fn start_call(
        self: &Arc<Self>,
        method: String,
        params: RawJson,
        responses: Vec<SavedResponse>,
    ) -> Result<u64, InspectError> {
        let client = self.client()?;
        let inspector = Arc::downgrade(self);
        let on_error = move |error: &Error| {
            if let Some(inspector) = inspector.upgrade() {
                inspector.report_lost_connection(error);
            }
        };
        let started = self
            .calls
            .start(client, method, params, responses, on_error);
        started.ok_or_else(|| {
            let message = "too many calls run; wait for one, or cancel one";
            InspectError::Limit(message.to_owned())
        })
    }

    pub(super) async fn list(&self, kind: ListKind) -> Result<ListItems, InspectError> {
        let client = self.client()?;
        lists::read(&client, kind).await.map_err(failed)
    }

    /// Changes settings. If the connection depends on them, it is opened again. A setting that the server rejects, and
    /// those that would follow, stay as they are.
    pub(super) async fn change_settings(&self, change: SettingsChange) -> Result<(), InspectError> {
        // Each change begins with the settings that the one before it left.
        let _permit = self.changing.acquire().await.map_err(invalid)?;
        let before = self.lock().settings.clone();
        let after = before.changed(change).map_err(InspectError::Invalid)?;
        let needs_reconnect = before.needs_reconnect(&after);
        if !needs_reconnect
            && let Ok(client) = self.client()
            && let Err(error) = self.send_settings(&client, &before, &after).await
        {
            // The log level may have changed.
            self.send_state();
            return Err(error);
        }
        self.store_settings(after);
        if needs_reconnect {
            self.reconnect();
        }
        self.send_state();
        Ok(())
    }

    /// Sends the changed settings of which the server must know.
    async fn send_settings(
        &self,
        client: &Client,
        before: &Settings,
        after: &Settings,
    ) -> Result<(), InspectError> {
        if before.log_level != after.log_level {
            let level = after.log_level;
            client.set_log_level(level).await.map_err(failed)?;
            self.store_settings(Settings {
                log_level: level,
                ..before.clone()
            });
        }
        if before.roots != after.roots {
            let roots = after.roots.iter().map(Root::new);
            if let Err(error) = client.set_roots(roots).await {
                // The client has the new roots, although it could not notify the server.
                let _ = client.set_roots(before.roots.iter().map(Root::new)).await;
                return Err(failed(error));
            }
        }
        Ok(())
    }

    fn store_settings(&self, after: Settings) {
        self.faults.set(after.faults);
        let before = std::mem::replace(&mut self.lock().settings, after.clone());
        self.connector.apply(&after, &before);
    }

    /// Drops all HTTP streams that are open, as a failing network would.
    pub(super) fn drop_streams(&self) {
        self.log.note("dropping open streams");
        self.faults.drop_streams();
    }

    /// Starts or stops the record of the page.
    pub(super) async fn record(&self, is_running: bool) -> Result<(), InspectError> {
        if let Source::Record(_) = self.connector.source {
            let message = "this page shows a record; inspect a server to make another one";
            return Err(InspectError::Invalid(message.to_owned()));
        }
        let recordings = self.recordings.clone();
        // Waits for the disk.
        let changed = tokio::task::spawn_blocking(move || {
            if is_running {
                return recordings.start();
            }
            recordings.stop();
            Ok(())
        });
        let changed = changed.await.map_err(invalid)?;
        changed.map_err(invalid)?;
        self.send_state();
        Ok(())
    }

    /// Returns the text of the record of the page, or of what is written so far.
    pub(super) async fn record_text(&self) -> Result<String, InspectError> {
        let recordings = self.recordings.clone();
        // Waits for the disk, and reads a long file.
        let text = tokio::task::spawn_blocking(move || recordings.text()).await;
        text.map_err(invalid)?.map_err(invalid)
    }

    /// Returns what the page shows about the connection.
    pub(super) fn state(&self) -> Value {
        let mut current = self.lock();
        current.states += 1;
        let (connection, server) = match &current.status {
            Status::Connecting => (json!({"status": "connecting"}), None),
            Status::Failed(failure) => {
                let error = failure.message_with_advice();
                (json!({"status": "failed", "error": error}), None)
            }
            Status::Connected(client) => {
                let connection = json!({
                    "status": "connected",
                    "number": current.connections,
                    "era": era_name(client.detected_era()),
                    "version": client.version().as_str(),
                });
                (connection, client.server())
            }
        };
        let mut state = json!({
            "toolwire": env!("CARGO_PKG_VERSION"),
            "number": current.states,
            "target": self.connector.source.value(),
            "connection": connection,
            "settings": current.settings,
            "subscriptions": current.subscriptions.uris(),
            "calls": self.calls.list(),
            "inputs": self.inputs.list(),
            "record": self.recordings.value(),
        });
        if let Some(build) = &current.build {
            state["build"] = build.clone();
        }
        if let Some(server) = server {
            state["server"] = json!({
                "info": server.info,
                "capabilities": server.capabilities,
                "instructions": server.instructions,
                "versions": server.versions,
            });
        }
        state
    }

    /// Returns a request in all forms, for the page to copy.
    pub(super) fn snippets(&self, exchange: &Exchange) -> Result<Value, InspectError> {
        let Source::Server(target) = &self.connector.source else {
            return Err(invalid("a record has no server to send a request to"));
        };
        let current = self.lock();
        let connection = match &current.status {
            Status::Connected(client) => Some((client.detected_era(), client.version())),
            Status::Connecting | Status::Failed(_) => None,
        };
        let server = SnippetServer::new(target, current.settings.era.into(), connection);
        let forms = SnippetForm::value_variants().iter();
        let texts = forms.map(
            |form| json!({"title": form.title(), "text": snippets::text(*form, exchange, &server)}),
        );
        Ok(texts.collect())
    }

    pub(super) fn send_state(&self) {
        self.events.send("state", &self.state());
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Current> {
        lock(&self.current)
    }
}

/// Returns the reason why a request is rejected.
pub(super) fn invalid(error: impl fmt::Display) -> InspectError {
    InspectError::Invalid(error.to_string())
}

/// Returns the failure of a request to the server.
pub(super) fn failed(error: Error) -> InspectError {
    InspectError::Failed(Failure::of(&error, Phase::Calling))
}
