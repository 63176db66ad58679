//! A call with its options, which is sent when it is awaited.

use std::borrow::Cow;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use toolwire_proto::meta_keys::ForbiddenKey;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::{LoggingLevel, Meta, ProgressNotificationParams, RawJson};

use crate::client::Client;
use crate::client::cache::CacheMode;
use crate::client::middleware::SentId;
use crate::client::progress::{LongRoute, OnProgress};
use crate::engine::BoxFuture;
use crate::error::Error;

/// The number of buffered progress reports of a stream that is not read. Newer reports are dropped.
const MAX_BUFFERED_PROGRESS: usize = 64;

/// A call that is sent when it is awaited.
///
/// Dropping the future cancels the call: the client sends a cancellation, or closes the stream of the call.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolwire::Error> {
/// use std::time::Duration;
/// use serde_json::json;
/// use toolwire::{Client, Server, tool};
///
/// /// Adds two integers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 { a + b }
///
/// let client = Client::in_process(&Server::new("demo", "1.0.0").tool(add)).await?;
/// let sum = client
///     .call_tool("add", json!({"a": 1, "b": 2}))
///     .with_timeout(Duration::from_secs(5))
///     .on_progress(|progress| eprintln!("{}", progress.progress))
///     .await?;
/// assert_eq!(sum.content[0].as_text(), Some("3"));
/// # Ok(())
/// # }
/// ```
#[must_use = "a call is sent when it is awaited"]
pub struct Call<T> {
    pub(in crate::client) client: Client,
    pub(in crate::client) method: Cow<'static, str>,
    pub(in crate::client) params: Result<Option<RawJson>, Error>,
    pub(in crate::client) options: CallOptions,
    pub(in crate::client) finish: Finish<T>,
}

pub(in crate::client) type Finish<T> = Box<dyn FnOnce(&Client, RawJson) -> Finished<T> + Send>;

/// The outcome of a call's result.
pub(crate) enum Finished<T> {
    /// The decoded result.
    Now(Result<T, Error>),
    /// A future that checks the decoded result.
    #[cfg_attr(
        not(feature = "schema-validation"),
        allow(dead_code, reason = "only a check of the result runs first")
    )]
    Later(BoxFuture<'static, Result<T, Error>>),
}

/// The options of one call.
#[derive(Clone, Default)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_timeout: Option<Duration>,
    pub(crate) on_progress: Option<OnProgress>,
    /// The route of the progress, if it outlives the request.
    pub(crate) progress_route: Option<Arc<LongRoute>>,
    pub(crate) meta: Option<Box<Meta>>,
    pub(crate) log_level: Option<LoggingLevel>,
    pub(crate) trace: Option<Box<TraceContext>>,
    pub(crate) cache: CacheMode,
    /// Whether an `input_required` result is returned to the caller instead of being resolved by the handlers.
    pub(crate) returns_input_required: bool,
    /// Whether a task is returned to the caller instead of its outcome.
    pub(crate) returns_task: bool,
    /// Gets the id of the message, for the middleware of the client.
    pub(crate) sent_id: Option<SentId>,
    /// Whether the request is sent without the middleware of the client, because it has passed it already, or because
    /// the client needs it for another request.
    pub(crate) is_behind_middleware: bool,
}

impl<T> Call<T> {
    pub(crate) fn new(
        client: &Client,
        method: impl Into<Cow<'static, str>>,
        params: Result<Option<RawJson>, Error>,
        finish: impl FnOnce(&Client, RawJson) -> Result<T, Error> + Send + 'static,
    ) -> Self {
        Self::with_finish(client, method, params, |client, result| {
            Finished::Now(finish(client, result))
        })
    }

    /// Creates a call whose result may need more than decoding.
    pub(crate) fn with_finish(
        client: &Client,
        method: impl Into<Cow<'static, str>>,
        params: Result<Option<RawJson>, Error>,
        finish: impl FnOnce(&Client, RawJson) -> Finished<T> + Send + 'static,
    ) -> Self {
        Self {
            client: client.clone(),
            method: method.into(),
            params,
            options: CallOptions::default(),
            finish: Box::new(finish),
        }
    }

    pub(crate) fn with_options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Adds the size of the result, in bytes, to a total.
    pub(in crate::client) fn adding_size_to(mut self, total: &Arc<AtomicUsize>) -> Self
    where
        T: 'static,
    {
        let (total, finish) = (Arc::clone(total), self.finish);
        self.finish = Box::new(move |client, result| {
            total.fetch_add(result.get().len(), Ordering::Relaxed);
            finish(client, result)
        });
        self
    }

    /// Sets how long the call waits for a response. Progress restarts this timeout. Default: 60 s.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets how long the call waits in total, regardless of progress. Default: 10 min.
    pub fn with_max_timeout(mut self, timeout: Duration) -> Self {
        self.options.max_timeout = Some(timeout);
        self
    }

    /// Requests progress reports and passes them to `listener`, which runs in the reading task and must not block.
    pub fn on_progress(
        mut self,
        listener: impl Fn(ProgressNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.options.on_progress = Some(Arc::new(listener));
        self
    }

    /// Requests progress reports and returns them as a stream, which ends with the call.
    ///
    /// A stream that is not read buffers 64 reports and drops newer ones.
    pub fn with_progress(self) -> (Self, ProgressStream) {
        let (sender, receiver) = mpsc::channel(MAX_BUFFERED_PROGRESS);
        let call = self.on_progress(move |progress| drop(sender.try_send(progress)));
        (call, ProgressStream(receiver))
    }

    /// Adds a member to the request's `_meta`. The protocol's own members cannot be replaced.
    ///
    /// The call fails before it is sent if the key is malformed, or has a prefix that is reserved for the protocol, such as
    /// `io.modelcontextprotocol/`, without being one of its keys.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<RawJson>) -> Self {
        let key = key.into();
        if let Err(forbidden) = ForbiddenKey::check(&key) {
            let method = &self.method;
            let error = Error::invalid_request(format!("{method}: {forbidden}"));
            self.params = self.params.and(Err(error));
        } else {
            let meta = self.options.meta.get_or_insert_default();
            meta.insert(key, value);
        }
        self
    }

    /// Requests the server's log messages for this request, from this level on.
    ///
    /// Applies to revisions without `logging/setLevel`. On older revisions, [`Client::set_log_level`] sets the level
    /// for all calls.
    #[deprecated(
        note = "MCP deprecates logging (SEP-2577), and a revision of 28 July 2027 or later may remove it. Write to standard error with `tracing`, or use OpenTelemetry instead"
    )]
    pub fn with_log_level(mut self, level: LoggingLevel) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Sets the trace context of the request (W3C Trace Context, in `_meta`).
    pub fn with_trace_context(mut self, trace: TraceContext) -> Self {
        self.options.trace = Some(Box::new(trace));
        self
    }

    /// Sets how the call uses the cache. Default: [`CacheMode::Use`].
    pub fn with_cache(mut self, mode: CacheMode) -> Self {
        self.options.cache = mode;
        self
    }
}

impl Call<RawJson> {
    /// Returns an `input_required` result or a task to the caller, which has to send the next request itself.
    pub fn without_input_handling(mut self) -> Self {
        self.options.returns_input_required = true;
        self
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T, Error>;
    type IntoFuture = BoxFuture<'static, Result<T, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let result = self
                .client
                .run(&self.method, self.params?, &self.options)
                .await?;
            match (self.finish)(&self.client, result) {
                Finished::Now(finished) => finished,
                Finished::Later(running) => running.await,
            }
        })
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// The progress reports of one call.
#[derive(Debug)]
pub struct ProgressStream(mpsc::Receiver<ProgressNotificationParams>);

impl ProgressStream {
    /// Returns the next report, or `None` after the end of the call.
    pub async fn next(&mut self) -> Option<ProgressNotificationParams> {
        self.0.recv().await
    }
}
