//! A line of JSON for each exchange.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;
use serde::Serialize;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::{RawJson, RequestId};

use crate::engine::{BoxFuture, CatchPanic, Principal, catch_panic};
use crate::server::middleware::chain::panic_error;
use crate::server::middleware::{Middleware, Next, Outcome, Request};

/// Writes a line of JSON for each exchange: who called what, and how it ended.
///
/// | Member | Value |
/// |---|---|
/// | `time` | when the request began, in milliseconds since 1970 |
/// | `id`, `method`, `name`, `version` | of the request |
/// | `principal` | issuer and subject of the access token, absent without one |
/// | `client` | the name that the client gives itself, which is unverified |
/// | `outcome` | `ok`, `tool_error`, `input_required`, `error` or `cancelled` |
/// | `code` | of an error |
/// | `rule` | the rule of a [`Policy`](crate::middleware::Policy) that denied the request |
/// | `retry` | `true` if the request is a further round of a call |
/// | `durationMs`, `bytes` | of the exchange and of its result |
/// | `traceId` | of the trace context, absent without one |
/// | `arguments` | those that [`with_arguments`](Self::with_arguments) names |
///
/// Tokens and request states are never written.
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

    /// Returns the arguments that may be written.
    fn arguments_of(&self, request: &Request) -> Option<IndexMap<String, RawJson>> {
        let arguments = request.arguments().filter(|_| !self.arguments.is_empty())?;
        let arguments: IndexMap<String, RawJson> = serde_json::from_str(arguments.get()).ok()?;
        let permitted = |(name, _): &(String, RawJson)| self.arguments.contains(name);
        Some(arguments.into_iter().filter(permitted).collect())
    }
}

impl Middleware for Audit {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let mut entry = AuditEntry {
                sink: &*self.sink,
                line: AuditLine::of(request, self.arguments_of(request)),
                start: Instant::now(),
            };
            let outcome = match CatchPanic::new(next.run(request)).await {
                Ok(outcome) => outcome,
                Err(_) => panic_error(request).into(),
            };
            entry.line.end(&outcome);
            if outcome.error().is_some() {
                entry.line.rule = request.denying_rule();
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
    start: Instant,
}

impl Drop for AuditEntry<'_> {
    fn drop(&mut self) {
        let duration = self.start.elapsed().as_millis();
        self.line.duration_ms = u64::try_from(duration).unwrap_or(u64::MAX);
        match serde_json::to_string(&self.line) {
            Ok(line) => {
                if catch_panic(|| (self.sink)(&line)).is_err() {
                    let _ = catch_panic(|| tracing::error!("the sink of the audit log panicked"));
                }
            }
            Err(error) => tracing::error!(%error, "an audit entry could not be written as JSON"),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuditLine {
    time: u64,
    id: RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<AuditPrincipal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    version: &'static str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    retry: bool,
    duration_ms: u64,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<IndexMap<String, RawJson>>,
}

#[derive(Serialize)]
struct AuditPrincipal {
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
}

impl AuditLine {
    fn of(request: &Request, arguments: Option<IndexMap<String, RawJson>>) -> Self {
        let scope = request.scope();
        let token = scope.auth();
        let is_known = Principal::of(token) != Principal::anonymous();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_millis();
        Self {
            time: u64::try_from(now).unwrap_or(u64::MAX),
            id: scope.request_id().clone(),
            principal: is_known.then(|| AuditPrincipal {
                issuer: token
                    .claims
                    .get("iss")
                    .and_then(|issuer| issuer.as_str())
                    .map(str::to_owned),
                subject: token.subject.clone(),
            }),
            client: scope.client_info().map(|client| client.name.clone()),
            method: request.method().to_owned(),
            name: request.name().map(str::to_owned),
            version: request.version().as_str(),
            outcome: "cancelled",
            code: None,
            rule: None,
            retry: request.is_retry(),
            duration_ms: 0,
            bytes: 0,
            trace_id: TraceContext::from_meta(request.meta())
                .trace_id()
                .map(str::to_owned),
            arguments,
        }
    }

    fn end(&mut self, outcome: &Outcome) {
        self.code = outcome.error().map(|error| error.code);
        self.bytes = outcome.size();
        self.outcome = if self.code.is_some() {
            "error"
        } else if outcome.is_tool_error() {
            "tool_error"
        } else if outcome.is_input_required() {
            "input_required"
        } else {
            "ok"
        };
    }
}
