//! Reports about the inside of a server: what happened in each exchange, for the developer who started it.
//!
//! Reports are off by default. A server on standard input and output writes them to standard error if the environment
//! variable [`VARIABLE`] is `1`, which `toolwire inspect` and `toolwire dev` set. No client gets them, whatever the
//! transport is, and exchanges over HTTP are not reported.
//!
//! The chain of middleware starts the observation of an exchange, and measures its parts. A server without middleware gets
//! an empty chain. The code that rejects or hides something adds its reason with [`rejected`] and [`hidden`].

mod observation;
mod type_name;

use std::fmt;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolwire_proto::inspection::{
    InspectionLine, Load, Rejected, StartedServer, VARIABLE, is_switched_on,
};

use crate::server::Server;
use crate::server::middleware::Chain;
use crate::server::request::Exchange;
use observation::with_current;
pub(crate) use observation::{Observation, OpenSpan, observe};
pub(crate) use type_name::short_type_name;

/// The transport whose exchanges are reported: standard input and output.
const STDIO_TRANSPORT: &str = "pipe";

/// Writes the reports of one server.
pub(crate) struct Inspection {
    running: AtomicUsize,
    streams: AtomicUsize,
    write: Box<WriteLine>,
}

type WriteLine = dyn Fn(String) + Send + Sync;

impl Inspection {
    /// Returns the writer of the reports, if the exchange is reported: reports are on, and it came over standard input and
    /// output.
    fn of(exchange: &Exchange) -> Option<&Arc<Self>> {
        let inspection = exchange.snapshot().inspection.as_ref()?;
        let info = exchange.context.scope().transport().connection_info();
        let transport = info.and_then(|info| info.network_transport);
        (transport == Some(STDIO_TRANSPORT)).then_some(inspection)
    }

    /// Counts an exchange that starts. Returns what the server does now.
    fn begin(&self, is_stream: bool) -> Load {
        let own = if is_stream {
            &self.streams
        } else {
            &self.running
        };
        own.fetch_add(1, Ordering::Relaxed);
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Load::new(count(&self.running), count(&self.streams))
    }

    fn end(&self, is_stream: bool) {
        let own = if is_stream {
            &self.streams
        } else {
            &self.running
        };
        own.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspection").finish_non_exhaustive()
    }
}

impl Server {
    /// Starts to report exchanges if the environment asks for it.
    pub(crate) fn start_inspection(&self) {
        let value = std::env::var(VARIABLE).ok();
        if is_switched_on(value.as_deref()) {
            self.report_exchanges(|mut line| {
                // One write, so that lines of other programs with the same standard error are not inside of it. The server
                // also runs if it fails.
                line.push('\n');
                let _ = io::stderr().write_all(line.as_bytes());
            });
        }
    }

    /// Reports the exchanges over standard input and output from now on.
    #[cold]
    pub(crate) fn report_exchanges(&self, write: impl Fn(String) + Send + Sync + 'static) {
        let started = StartedServer::new(&self.snapshot().info.name, env!("CARGO_PKG_VERSION"));
        write(InspectionLine::Started(started).write());
        let inspection = Arc::new(Inspection {
            running: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
            write: Box::new(write),
        });
        self.change(|snapshot| {
            snapshot.inspection = Some(inspection);
            snapshot.middleware.get_or_insert_with(Chain::empty);
        });
    }
}

/// Adds to the report of the current exchange why arguments or a result were rejected. `violations` has a line per violation,
/// which starts with its path.
#[cold]
pub(crate) fn rejected(what: Rejected, violations: &str) {
    with_current(|report| report.add_violations(what, violations));
}

/// Adds to the report of the current exchange why an entry is hidden from the caller. Without a kind, it is that of the
/// method.
#[cold]
pub(crate) fn hidden(kind: Option<&str>, name: &str, because: &str) {
    with_current(|report| {
        let of_method = match report.method.split_once('/') {
            Some(("prompts", _)) => "prompt",
            Some(("resources", _)) => "resource",
            _ => "entry",
        };
        report.add_hidden(kind.unwrap_or(of_method), name, because);
    });
}
