//! A line of JSON for each exchange.

mod line;

use std::fmt;
use std::sync::Arc;

use crate::engine::{BoxFuture, CatchPanic, catch_panic};
use crate::server::middleware::chain::panic_error;
use crate::server::middleware::{Middleware, Next, Outcome, Request};

pub use line::AuditLine;

/// Writes a line of JSON for each exchange: who called what, and how it ended.
///
/// | Member | Value |
/// |---|---|
/// | `time` | when the request began, in milliseconds since 1970 |
/// | `id`, `method`, `name`, `version` | of the request |
/// | `principal` | `issuer`, `subject` and `clientId` of the access token, absent without one |
/// | `client` | the name that the client gives itself, which is unverified |
/// | `outcome` | `ok`, `tool_error`, `input_required`, `error` or `cancelled` |
/// | `code`, `reason` | of an error: its code, and the member `reason` of its data |
/// | `rule` | the rule of a [`Policy`](crate::middleware::Policy) that denied the request |
/// | `retry` | `true` if the request is a further round of a call |
/// | `inputRequests` | how often the client was asked for input in this exchange |
/// | `durationMs`, `bytes` | of the exchange and of its result |
/// | `traceId` | of the trace context, absent without one |
/// | `arguments` | those that [`with_arguments`](Self::with_arguments) names |
///
/// Tokens and request states are never written. Control and invisible characters are written as escapes. A name
/// has at most 512 characters, and arguments of more than 16 KiB are left out.
///
/// ```
/// use toolwire::Server;
/// use toolwire::middleware::Audit;
///
/// let audit = Audit::new(|line: &str| eprintln!("{line}")).with_arguments(["path"]);
/// let server = Server::new("demo", "1.0.0").with_middleware(audit);
/// # drop(server);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Audit {
    sink: Arc<dyn Fn(&str) + Send + Sync>,
    arguments: Vec<String>,
}

impl Audit {
    /// Creates an audit log. The sink gets each line without its line end. It should not block. If it panics, the line is
    /// lost and the request continues.
    pub fn new(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            sink: Arc::new(sink),
            arguments: Vec::new(),
        }
    }

    /// Writes the values of these arguments of tools and prompts. By default, arguments are not written.
    #[must_use]
    pub fn with_arguments<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(names.into_iter().map(Into::into));
        self
    }
}

impl Middleware for Audit {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let mut entry = AuditEntry {
                sink: &*self.sink,
                line: AuditLine::new(request, &self.arguments),
            };
            let outcome = match CatchPanic::new(next.run(request)).await {
                Ok(outcome) => outcome,
                Err(_) => panic_error(request).into(),
            };
            entry.line.end(&outcome);
            if outcome.error().is_some()
                && let Some(rule) = request.denying_rule()
            {
                entry.line.set_rule(rule);
            }
            outcome
        })
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").finish_non_exhaustive()
    }
}

/// A line that is written when the value is dropped, also if the request is cancelled.
struct AuditEntry<'a> {
    sink: &'a (dyn Fn(&str) + Send + Sync),
    line: AuditLine,
}

impl Drop for AuditEntry<'_> {
    fn drop(&mut self) {
        self.line.stop();
        match serde_json::to_string(&self.line) {
            Ok(line) => {
                let line = AuditLine::escape_invisible(&line);
                if catch_panic(|| (self.sink)(&line)).is_err() {
                    let _ = catch_panic(|| tracing::error!("the sink of the audit log panicked"));
                }
            }
            Err(error) => tracing::error!(%error, "an audit entry could not be written as JSON"),
        }
    }
}
