//! Opens the connection to the inspected server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwire::relay::Upstream;
use toolwire::{Client, ClientBuilder, ProcessTracker};

use crate::accounts;
use crate::connect::{connect_with, upstream};
use crate::connection_arguments::Server;
use crate::failure::{Failure, Phase};
use crate::inspect::faults::{DelayRequests, SharedFaults};
use crate::inspect::http_layer::InspectLayer;
use crate::inspect::inputs::Inputs;
use crate::inspect::inside::{Inside, MarkCalls};
use crate::inspect::log::{Direction, Log};
use crate::inspect::recordings::Recordings;
use crate::inspect::settings::Settings;
use crate::inspect::source::{OpenRecord, Source};
use crate::inspect::trace_ids::ReportTrace;
use crate::record_arguments::RecordOptions;
use crate::screen::Screen;
use crate::sync::lock;
use crate::target::Target;

/// The timeout of calls without `--timeout`. The user may take long to respond to an input request.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The parts of the page that the connections use.
pub(super) struct PageParts {
    pub(super) faults: SharedFaults,
    pub(super) inputs: Inputs,
    pub(super) recordings: Recordings,
    pub(super) inside: Inside,
}

/// Connects to one server with changing settings.
pub(super) struct Connector {
    pub(super) source: Source,
    server: Mutex<Server>,
    screen: Arc<Screen>,
    processes: ProcessTracker,
    log: Arc<Log>,
    faults: SharedFaults,
    inputs: Inputs,
    recordings: Recordings,
    inside: Inside,
}

impl Connector {
    pub(super) fn new(
        source: Source,
        server: &Server,
        screen: &Arc<Screen>,
        processes: &ProcessTracker,
        parts: PageParts,
    ) -> Self {
        Self {
            source,
            server: Mutex::new(server.clone()),
            screen: Arc::clone(screen),
            processes: processes.clone(),
            log: Arc::clone(&parts.recordings.log),
            faults: parts.faults,
            inputs: parts.inputs,
            recordings: parts.recordings,
            inside: parts.inside,
        }
    }

    /// Uses changed settings for the next connection.
    pub(super) fn apply(&self, settings: &Settings, before: &Settings) {
        let mut server = lock(&self.server);
        settings.apply(before, &mut server);
    }

    /// Returns the server for a connection of a relay, which is not recorded.
    pub(super) fn upstream(&self, target: &Target) -> Result<Upstream, Failure> {
        let mut server = self.server();
        server.recording = RecordOptions::default();
        upstream(target, &server, false, &self.screen, &self.processes)
    }

    /// Logs in to the server with the browser.
    pub(super) async fn log_in(&self, url: &str) -> Result<(), Failure> {
        accounts::log_in_to(url, &self.server().tls, &self.screen).await
    }

    fn server(&self) -> Server {
        let server = lock(&self.server);
        server.clone()
    }

    pub(super) async fn connect(&self, settings: &Settings) -> Result<Client, Failure> {
        match &self.source {
            Source::Server(target) => {
                self.recordings.begin_connection();
                let client = self.connect_to_server(target, settings).await;
                self.recordings.end_opening();
                client
            }
            Source::Record(record) => self.connect_to_record(record, settings).await,
        }
    }

    /// Connects to the server of a record. Its messages are in the record, so they are not logged again.
    async fn connect_to_record(
        &self,
        record: &OpenRecord,
        settings: &Settings,
    ) -> Result<Client, Failure> {
        let builder = ClientBuilder::new("toolwire", env!("CARGO_PKG_VERSION"))
            .without_cache()
            .with_tasks();
        let builder = self.inputs.register(builder, settings);
        let client = builder.in_process(record.relay.server()).await;
        client.map_err(|error| Failure::of(&error, Phase::Connecting))
    }

    async fn connect_to_server(
        &self,
        target: &Target,
        settings: &Settings,
    ) -> Result<Client, Failure> {
        let server = self.server();
        let (log, recordings) = (self.log.begin_connection(), self.recordings.clone());
        let stderr = (log.clone(), self.recordings.clone());
        let inside = self.inside.clone();
        let mark = MarkCalls(self.inside.clone());
        let hidden = hidden_headers(target);
        let http = InspectLayer::new(&log, &self.faults, &self.recordings, hidden);
        let delay = DelayRequests(self.faults.clone());
        let trace = ReportTrace(self.inputs.calls().clone());
        let has_timeout = server.timeout.is_some();
        let options = |builder: toolwire::ClientBuilder| {
            // The page shows what the server sends now. It has no use for a cache.
            let builder = builder
                .without_cache()
                .with_tasks()
                .with_middleware(delay)
                .with_middleware(trace)
                .with_middleware(mark)
                .with_http_layer(http)
                .on_wire_message(move |message| {
                    let direction = if message.is_sent {
                        Direction::Out
                    } else {
                        Direction::In
                    };
                    log.message(direction, message.bytes);
                    recordings.message(message.is_sent, message.bytes, message.stream);
                });
            let builder = if has_timeout {
                builder
            } else {
                builder.with_timeout(TIMEOUT)
            };
            self.inputs.register(builder, settings)
        };
        let on_stderr = move |line: &str| {
            if inside.take(line) {
                return;
            }
            stderr.0.stderr(line);
            stderr.1.stderr(line);
        };
        connect_with(
            &target.with_reports(),
            &server,
            &self.screen,
            &self.processes,
            options,
            on_stderr,
        )
        .await
    }
}

/// Returns the names of the headers from the command line or a configuration file.
fn hidden_headers(target: &Target) -> Vec<String> {
    match target {
        Target::Http(endpoint) => {
            let names = endpoint.headers.iter().map(|(name, _)| name.clone());
            names.collect()
        }
        Target::Child(_) => Vec::new(),
    }
}
