//! Middleware: code that stands around every exchange of a server.
//!
//! A middleware sees a request before its handler, and the outcome after it. It can change both, reject the request, or
//! respond to it without the handler. It cannot send a second outcome, and it cannot leave a request without one.
//!
//! Messages that are rejected before they become a request (malformed JSON, an unknown method, a missing scope over HTTP)
//! do not reach a middleware.

mod audit;
mod caller_key;
mod chain;
mod concurrency_limit;
mod deadline;
mod from_fn;
mod next;
mod observed_transport;
mod outcome;
mod policy;
mod rate_limit;
mod request;
mod response_budget;

use std::any::type_name;
use std::borrow::Cow;
use std::sync::Arc;

use toolwire_proto::methods;
use toolwire_types::ProtocolVersion;

use crate::engine::BoxFuture;
use crate::server::Server;
use crate::server::inspection::short_type_name;

pub use audit::{Audit, AuditLine};
pub(crate) use caller_key::CallerKey;
pub(crate) use chain::{Chain, Endpoint};
pub use concurrency_limit::ConcurrencyLimit;
pub use deadline::Deadline;
pub use from_fn::{FromFn, FromFnWith, from_fn, from_fn_with};
pub use next::Next;
pub use observed_transport::ClientRequestEnd;
pub use outcome::Outcome;
pub use policy::{Policy, PolicyConditions, PolicyHint, PolicyRule};
pub use rate_limit::RateLimit;
pub use request::Request;
pub use response_budget::ResponseBudget;

/// Code that stands around every exchange: calls, reads, prompts, completion, lists, discovery, `initialize`, `ping`,
/// subscriptions, tasks, events and methods of the author, in every revision and on every transport.
///
/// [`from_fn`] makes a middleware of an async closure. Implement the trait for one with settings:
///
/// ```
/// use toolwire::middleware::{Middleware, Next, Outcome, Request};
/// use toolwire::{BoxFuture, ErrorObject, Server};
///
/// /// Rejects calls while the server is in maintenance.
/// struct Maintenance {
///     until: String,
/// }
///
/// impl Middleware for Maintenance {
///     fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
///         Box::pin(async move {
///             if request.method() == "tools/call" {
///                 return Outcome::tool_error(format!("in maintenance until {}", self.until));
///             }
///             next.run(request).await
///         })
///     }
/// }
///
/// let server = Server::new("demo", "1.0.0").with_middleware(Maintenance { until: "noon".to_owned() });
/// # drop(server);
/// ```
///
/// # Panics
/// A panic in a middleware fails only its own request, with −32603.
///
/// # Cancellation
/// If the client cancels the request, the future of the middleware is dropped.
pub trait Middleware: Send + Sync + 'static {
    /// Handles a request. Call [`Next::run`] to pass it on.
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome>;

    /// Returns `false` while the middleware does nothing with requests. If no middleware of a server is active, and its mounts
    /// have none, a request is served as by a server without middleware. Streams of changes still pass it. The method is
    /// called for each request. Default: `true`.
    fn is_active(&self) -> bool {
        true
    }

    /// Is called when this node has opened an HTTP session of a 2025 revision. `session` is its id, which is a credential.
    /// Default: nothing.
    fn session_opened(&self, _session: &str, _version: ProtocolVersion) {}

    /// Is called when an HTTP session has been deleted or has expired, with its id. It may be called more than once, and for
    /// sessions of other nodes. It is not called for sessions that a store such as Redis expires itself. Default: nothing.
    fn session_closed(&self, _session: &str) {}

    /// Is called when a notification was dropped because a queue is full. Default: nothing.
    fn notification_dropped(&self, _dropped: NotificationDrop) {}

    /// Returns the name of the middleware in the reports of `toolwire inspect`. Default: the name of the type.
    fn name(&self) -> Cow<'_, str> {
        short_type_name(type_name::<Self>()).into()
    }

    /// Returns the policy, if the middleware is one. A policy is evaluated where entries are looked up.
    #[doc(hidden)]
    fn policy(&self) -> Option<&Policy> {
        None
    }
}

/// A notification that was dropped because a queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotificationDrop {
    /// One of a client: the handlers of its earlier notifications are slow.
    FromClient,
    /// One of this server for the clients of other nodes: the bus is slow, or the notification is too large.
    ForOtherNodes,
    /// One for a client that reads too slowly: a log message, progress that later progress replaced, or a notification that a
    /// relay passes on. A change that is merged with an equal one is not dropped.
    ForClient,
}

impl<M: Middleware + ?Sized> Middleware for Arc<M> {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        M::handle(self, request, next)
    }

    fn is_active(&self) -> bool {
        M::is_active(self)
    }

    fn session_opened(&self, session: &str, version: ProtocolVersion) {
        M::session_opened(self, session, version);
    }

    fn session_closed(&self, session: &str) {
        M::session_closed(self, session);
    }

    fn notification_dropped(&self, dropped: NotificationDrop) {
        M::notification_dropped(self, dropped);
    }

    fn name(&self) -> Cow<'_, str> {
        M::name(self)
    }

    fn policy(&self) -> Option<&Policy> {
        M::policy(self)
    }
}

/// Returns `true` if a method opens a stream, which has no usual end.
pub(crate) fn is_stream(method: &str) -> bool {
    matches!(method, "subscriptions/listen" | "events/stream")
}

/// Returns `true` if a method runs a handler of the author: a call, a read, a prompt, a completion, or a method that the
/// protocol does not define.
fn runs_handler(method: &str) -> bool {
    let runs = [
        "tools/call",
        "prompts/get",
        "resources/read",
        "completion/complete",
    ];
    runs.contains(&method) || methods::find(method).is_none()
}

impl Server {
    /// Adds a middleware around every exchange. The first one is the outermost: it sees a request first and its outcome
    /// last.
    ///
    /// ```
    /// use std::time::Instant;
    /// use toolwire::Server;
    /// use toolwire::middleware::{Next, Request, from_fn};
    ///
    /// let timed = from_fn(async |request: &mut Request, next: Next<'_>| {
    ///     let start = Instant::now();
    ///     let outcome = next.run(request).await;
    ///     eprintln!("{} took {:?}", request.method(), start.elapsed());
    ///     outcome
    /// });
    /// let server = Server::new("demo", "1.0.0").with_middleware(timed);
    /// # drop(server);
    /// ```
    ///
    /// # Panics
    /// Panics if the middleware is a [`Policy`] and the server is that of a relay, which has no entries to decide about.
    #[must_use]
    #[track_caller]
    pub fn with_middleware(self, middleware: impl Middleware) -> Self {
        self.push_middleware(Arc::new(middleware));
        self
    }

    #[track_caller]
    fn push_middleware(&self, middleware: Arc<dyn Middleware>) {
        if middleware.policy().is_some() {
            self.expect_entries("a policy");
        }
        self.change(|snapshot| {
            if let Some(policy) = middleware.policy() {
                snapshot.policies.push(policy.clone());
                snapshot.is_filtered = true;
                return;
            }
            snapshot.middleware = Some(Chain::with(snapshot.middleware.as_ref(), middleware));
        });
    }
}
