//! Opens the connection to the inspected server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolwire::{Client, ProcessTracker};

use crate::connect::connect_with;
use crate::connection_arguments::Server;
use crate::failure::Failure;
use crate::inspect::faults::{DelayRequests, SharedFaults};
use crate::inspect::http_layer::InspectLayer;
use crate::inspect::inputs::Inputs;
use crate::inspect::log::{Direction, Log};
use crate::inspect::settings::Settings;
use crate::screen::Screen;
use crate::target::Target;

/// The timeout of calls without `--timeout`. The user may take long to respond to an input request.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Connects to one server with changing settings.
pub(super) struct Connector {
    pub(super) target: Target,
    server: Mutex<Server>,
    screen: Arc<Screen>,
    processes: ProcessTracker,
    log: Arc<Log>,
    faults: SharedFaults,
    inputs: Inputs,
}

impl Connector {
    pub(super) fn new(
        target: Target,
        server: &Server,
        screen: &Arc<Screen>,
        processes: &ProcessTracker,
        log: &Arc<Log>,
        faults: &SharedFaults,
        inputs: &Inputs,
    ) -> Self {
        Self {
            target,
            server: Mutex::new(server.clone()),
            screen: Arc::clone(screen),
            processes: processes.clone(),
            log: Arc::clone(log),
            faults: faults.clone(),
            inputs: inputs.clone(),
        }
    }

    /// Uses changed settings for the next connection.
    pub(super) fn apply(&self, settings: &Settings, before: &Settings) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        settings.apply(before, &mut server);
    }

    pub(super) async fn connect(&self, settings: &Settings) -> Result<Client, Failure> {
        let server = {
            let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
            server.clone()
        };
        let messages = Arc::clone(&self.log);
        let stderr = Arc::clone(&self.log);
        let http = InspectLayer::new(&self.log, &self.faults, self.hidden_headers());
        let delay = DelayRequests(self.faults.clone());
        let has_timeout = server.timeout.is_some();
        let options = |builder: toolwire::ClientBuilder| {
            // The page shows what the server sends now. It has no use for a cache.
            let builder = builder
                .without_cache()
                .with_tasks()
                .with_middleware(delay)
                .with_http_layer(http)
                .on_wire_message(move |message| {
                    let direction = if message.is_sent {
                        Direction::Out
                    } else {
                        Direction::In
                    };
                    messages.message(direction, message.bytes);
                });
            let builder = if has_timeout {
                builder
            } else {
                builder.with_timeout(TIMEOUT)
            };
            self.inputs.register(builder, settings)
        };
        let on_stderr = move |line: &str| stderr.stderr(line);
        connect_with(
            &self.target,
            &server,
            &self.screen,
            &self.processes,
            options,
            on_stderr,
        )
        .await
    }

    /// Returns the names of the headers from the command line or a configuration file.
    fn hidden_headers(&self) -> Vec<String> {
        match &self.target {
            Target::Http(endpoint) => {
                let names = endpoint.headers.iter().map(|(name, _)| name.clone());
                names.collect()
            }
            Target::Child(_) => Vec::new(),
        }
    }
}
