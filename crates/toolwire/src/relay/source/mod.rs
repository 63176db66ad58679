//! An upstream server as a source of tools, prompts and resources, which another server mounts.
//!
//! The source has a relay to the upstream server. It reads the lists over the relay, as a modern client would, and
//! forwards requests for its entries through the relay. So every pair of revisions works as with a relay.

mod caller;
mod entries;
mod forwarded_state;
mod login;
mod resource_streams;
mod sampling_limit;
mod serve;
mod session;
mod state;
mod tasks;
mod updates;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use toolwire_types::{ErrorObject, LoggingLevel, RawJson};

use crate::client::ClientLimits;
use crate::engine::{BoxFuture, KeyLocks};
use crate::error::Error;
use crate::relay::client_key::ClientKey;
use crate::relay::credentials::Credentials;
use crate::relay::forwarder::Relay;
use crate::relay::parked::UpstreamOutcome;
use crate::relay::shared_log_level::LogLevelPause;
use crate::relay::source::entries::UpstreamEntries;
use crate::relay::source::sampling_limit::SamplingLimit;
use crate::relay::source::state::ConnectionStatus;
use crate::relay::upstream::{PermittedInput, Upstream};
use crate::server::{Catalog, RegistrationError, RequestContext, Source, SourceListener};
use crate::sync::lock;

pub use state::{UpstreamState, UpstreamStatus};

/// An upstream server as a source that a server mounts.
///
/// Clones are handles to the same source. If the last one and the mounts are dropped, its connections close.
///
/// Lists are read once, and again if the server announces a change. If it announces none, they are read again when
/// their `ttlMs` is over, at most once per minute. While the server is not reachable, the last entries stay listed and
/// requests for them fail with −32603 and `data.reason` `upstream_unreachable`. The source connects again with pauses of
/// 1 s to 60 s.
#[derive(Clone)]
pub struct UpstreamSource {
    inner: Arc<SourceInner>,
}

pub(super) struct SourceInner {
    name: String,
    input: PermittedInput,
    sampling: Option<SamplingLimit>,
    limits: ClientLimits,
    credentials: Option<Arc<dyn Credentials>>,
    /// Whether each caller has credentials of its own.
    is_per_caller: bool,
    /// The relay that reads the lists and forwards requests.
    relay: Arc<Relay>,
    entries: Mutex<Arc<UpstreamEntries>>,
    freshness: Mutex<ListFreshness>,
    status: watch::Sender<ConnectionStatus>,
    signals: Arc<SourceSignals>,
    listeners: Mutex<Listeners>,
    /// The number of servers with a subscription, by URI.
    subscriptions: Mutex<BTreeMap<String, usize>>,
    /// The task that keeps the entries up to date.
    updating: Mutex<Option<AbortHandle>>,
    /// Held while the session of a legacy client is opened.
    opening: KeyLocks,
    /// The log levels that the sessions of legacy clients have.
    log_levels: Mutex<HashMap<ClientKey, LoggingLevel>>,
    log_level_pause: LogLevelPause,
}

/// Whether the stored lists are those that the upstream server has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ListFreshness {
    /// The server announces all changes.
    Current,
    /// The lists may have changed since they were read.
    #[default]
    Unknown,
    /// The server is not reachable.
    Outdated,
}

/// Wakes the task that keeps the entries up to date.
#[derive(Debug, Default)]
struct SourceSignals {
    lists_changed: Notify,
    subscriptions_changed: Notify,
    retry: Notify,
}

#[derive(Default)]
struct Listeners {
    next: u64,
    by_number: BTreeMap<u64, SourceListener>,
}

impl Upstream {
    /// Returns this server as a source of tools, prompts and resources that another server mounts.
    ///
    /// ```no_run
    /// # async fn serve() -> Result<(), toolwire::Error> {
    /// use toolwire::relay::Upstream;
    /// use toolwire::{Mount, Server, ServerCommand};
    ///
    /// let files = Upstream::new(|builder| builder.spawn(ServerCommand::new("file-server")))
    ///     .with_name("files")
    ///     .source();
    /// files.connect().await?;
    /// let server = Server::new("tools", "1.0.0").mount_with(Mount::new("files", files.clone()));
    /// server.serve_stdio().await?;
    /// files.close().await;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn source(self) -> UpstreamSource {
        UpstreamSource::new(self)
    }
}

impl UpstreamSource {
    fn new(upstream: Upstream) -> Self {
        let (name, input, limits) = (upstream.name.to_string(), upstream.input, upstream.limits());
        let sampling = upstream.sampling_rate.map(SamplingLimit::new);
        let credentials = upstream.credentials.clone();
        let is_per_caller = upstream.has_credentials_per_caller();
        let relay = Arc::new(upstream.relay());
        let inner = SourceInner {
            name,
            input,
            sampling,
            limits,
            credentials,
            is_per_caller,
            relay,
            entries: Mutex::default(),
            freshness: Mutex::default(),
            status: watch::Sender::default(),
            signals: Arc::default(),
            listeners: Mutex::default(),
            subscriptions: Mutex::default(),
            updating: Mutex::default(),
            opening: KeyLocks::default(),
            log_levels: Mutex::default(),
            log_level_pause: LogLevelPause::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Connects to the server and reads its lists. Requires a tokio runtime.
    ///
    /// If that fails, and also if the connection is lost later, the source tries again in the background. A source that
    /// is mounted within a tokio runtime connects in the background also without this call.
    ///
    /// # Errors
    /// Returns an error if this attempt fails, or if the source is closed.
    pub async fn connect(&self) -> Result<(), Error> {
        let mut status = self.inner.status.subscribe();
        let (seen, is_connected) = {
            let status = status.borrow();
            (status.attempts, status.is_connected())
        };
        if is_connected {
            return Ok(());
        }
        self.inner.start();
        if seen > 0 {
            self.inner.signals.retry.notify_one();
        }
        let is_over = |status: &ConnectionStatus| status.attempts > seen || status.is_closed();
        let ended = status.wait_for(is_over).await;
        let status = ended.map_err(|_| Error::closed())?;
        status.outcome()
    }

    /// Closes all connections to the server. Requests fail from then on, and the source stays without entries.
    pub async fn close(&self) {
        if let Some(updating) = lock(&self.inner.updating).take() {
            updating.abort();
        }
        self.inner.status.send_modify(ConnectionStatus::close);
        *lock(&self.inner.entries) = Arc::default();
        self.inner.announce();
        self.inner.relay.close().await;
    }

    /// Serves a call of a tool that does nothing but log its caller in, for a server whose entries are hidden from callers
    /// without a [credential](crate::relay::Credentials). The server is not contacted.
    ///
    /// # Errors
    /// Returns an error if the result cannot be written.
    pub async fn log_in(
        &self,
        ctx: &RequestContext,
        params: &RawJson,
    ) -> Result<RawJson, ErrorObject> {
        self.inner.log_in(ctx, params).await
    }

    /// Returns whether the server is reachable, and the number of its entries.
    #[must_use]
    pub fn state(&self) -> UpstreamState {
        let status = self.inner.status.borrow().public();
        UpstreamState::new(status, &self.inner.entries())
    }

    pub(super) fn relay(&self) -> &Relay {
        &self.inner.relay
    }

    /// Returns the name of the server, see [`Upstream::with_name`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }
}

/// Handles are equal if they belong to the same source.
impl PartialEq for UpstreamSource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for UpstreamSource {}

impl fmt::Debug for UpstreamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamSource")
            .field("name", &self.inner.name)
            .field("status", &*self.inner.status.borrow())
            .finish_non_exhaustive()
    }
}

impl Source for UpstreamSource {
    fn catalog(&self) -> Catalog {
        self.inner.catalog()
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        let mut listeners = lock(&self.inner.listeners);
        let number = listeners.next;
        listeners.next += 1;
        listeners.by_number.insert(number, listener);
        drop(listeners);
        if tokio::runtime::Handle::try_current().is_ok() {
            self.inner.start();
        }
        Box::new(Watch {
            source: Arc::downgrade(&self.inner),
            number,
        })
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        let mut subscriptions = lock(&self.inner.subscriptions);
        if is_subscribed {
            *subscriptions.entry(uri.to_owned()).or_default() += 1;
        } else if let Some(count) = subscriptions.get_mut(uri) {
            *count -= 1;
            if *count == 0 {
                subscriptions.remove(uri);
            }
        }
        drop(subscriptions);
        self.inner.signals.subscriptions_changed.notify_one();
    }
}

/// The interest of a server in the changes of a source, until it is dropped.
struct Watch {
    source: Weak<SourceInner>,
    number: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(source) = self.source.upgrade() {
            let removed = lock(&source.listeners).by_number.remove(&self.number);
            drop(removed);
        }
    }
}

impl SourceInner {
    /// Starts the task that keeps the entries up to date, unless it runs or the source is closed.
    fn start(self: &Arc<Self>) {
        let mut updating = lock(&self.updating);
        if updating.is_none() && !self.status.borrow().is_closed() {
            let task = updates::run(Arc::downgrade(self), Arc::clone(&self.signals));
            *updating = Some(tokio::spawn(task).abort_handle());
        }
    }

    /// Marks the lists as those of a server that is not reachable.
    fn set_outdated(&self) {
        let last = std::mem::replace(&mut *lock(&self.freshness), ListFreshness::Outdated);
        if last != ListFreshness::Outdated && self.entries().are_known {
            self.announce();
        }
    }

    fn entries(&self) -> Arc<UpstreamEntries> {
        Arc::clone(&lock(&self.entries))
    }

    /// Returns the entries with handlers that forward requests. Invalid entries are left out.
    fn catalog(self: &Arc<Self>) -> Catalog {
        let entries = self.entries();
        let mut catalog = Catalog::new();
        if !entries.are_known {
            return catalog.with_unknown_entries();
        }
        for tool in &entries.tools {
            let added = catalog.add_raw_tool(tool.clone(), self.handler("tools/call"));
            self.warn_if_invalid(added);
        }
        for prompt in &entries.prompts {
            let added = catalog.add_raw_prompt(prompt.clone(), self.handler("prompts/get"));
            self.warn_if_invalid(added);
        }
        let read = "resources/read";
        for resource in &entries.resources {
            let added = catalog.add_raw_resource(resource.clone(), self.handler(read));
            self.warn_if_invalid(added);
        }
        for template in &entries.templates {
            let added = catalog.add_raw_resource_template(template.clone(), self.handler(read));
            self.warn_if_invalid(added);
        }
        if entries.has_completions {
            catalog = catalog.with_raw_completion(self.handler("completion/complete"));
        }
        if entries.has_subscriptions {
            catalog = catalog.with_resource_subscriptions();
        }
        if entries.has_logging {
            catalog = catalog.with_logging();
        }
        let freshness = *lock(&self.freshness);
        catalog.declarations.is_outdated = freshness == ListFreshness::Outdated;
        // Of other lists, it is not known how old they are.
        if freshness == ListFreshness::Current {
            catalog.declarations.list_hint = entries.hint;
        }
        catalog.declarations.tasks = entries.tasks;
        if self.input.roots {
            let source = Arc::clone(self);
            catalog = catalog.with_roots_listener(move |client| {
                let source = Arc::clone(&source);
                Box::pin(async move { source.roots_changed(client).await })
            });
        }
        if let Some(instructions) = &entries.instructions {
            catalog = catalog.with_instructions(instructions);
        }
        catalog
    }

    /// Returns the handler of a method.
    fn handler(
        self: &Arc<Self>,
        method: &'static str,
    ) -> impl Fn(RequestContext, RawJson) -> BoxFuture<'static, UpstreamOutcome> + Send + Sync + 'static
    {
        let source = Arc::clone(self);
        move |ctx, params| {
            let source = Arc::clone(&source);
            Box::pin(async move { source.serve(method, &ctx, params).await })
        }
    }

    fn warn_if_invalid(&self, added: Result<(), RegistrationError>) {
        if let Err(error) = added {
            tracing::warn!(upstream = self.name, %error, "an entry of the upstream server is left out");
        }
    }

    /// Tells the servers that mounted the source that its entries may have changed.
    fn announce(&self) {
        for listener in self.listeners() {
            listener.catalog_changed();
        }
    }

    /// Tells the servers that mounted the source that a resource changed.
    fn resource_updated(&self, uri: &str) {
        for listener in self.listeners() {
            listener.resource_updated(uri);
        }
    }

    fn listeners(&self) -> Vec<SourceListener> {
        lock(&self.listeners).by_number.values().cloned().collect()
    }
}

impl Drop for SourceInner {
    fn drop(&mut self) {
        if let Some(updating) = lock(&self.updating).take() {
            updating.abort();
        }
    }
}

impl fmt::Debug for SourceInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SourceInner").field(&self.name).finish()
    }
}
