//! One call that has not been sent yet: its options, then `.await`.

use std::borrow::Cow;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::{LoggingLevel, Meta, ProgressNotificationParams, RawJson};

use crate::client::Client;
use crate::client::cache::CacheMode;
use crate::client::progress::OnProgress;
use crate::engine::BoxFuture;
use crate::error::Error;

/// How many reports of progress wait for a stream that is not read; newer ones are left out meanwhile.
const UNREAD_PROGRESS: usize = 64;

/// A call that is sent when it is awaited.
///
/// Dropping the future takes the call back: the server is told so, or its stream is closed.
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
    client: Client,
    method: Cow<'static, str>,
    params: Result<Option<RawJson>, Error>,
    options: CallOptions,
    finish: Finish<T>,
}

type Finish<T> = Box<dyn FnOnce(&Client, RawJson) -> Finished<T> + Send>;

/// What becomes of a result that came back from the server.
pub(crate) enum Finished<T> {
    /// It is decoded.
    Now(Result<T, Error>),
    /// Something else has to run first.
    #[cfg_attr(
        not(feature = "schema-validation"),
        expect(dead_code, reason = "only a check of the result runs first")
    )]
    Later(BoxFuture<'static, Result<T, Error>>),
}

/// What may be decided for one call.
#[derive(Clone, Default)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) longest_timeout: Option<Duration>,
    pub(crate) on_progress: Option<OnProgress>,
    pub(crate) meta: Option<Box<Meta>>,
    pub(crate) log_level: Option<LoggingLevel>,
    pub(crate) trace: Option<Box<TraceContext>>,
    pub(crate) cache: CacheMode,
    /// Whether an `input_required` result is handed to the caller instead of being answered.
    pub(crate) leaves_questions: bool,
}

impl<T> Call<T> {
    pub(crate) fn new(
        client: &Client,
        method: impl Into<Cow<'static, str>>,
        params: Result<Option<RawJson>, Error>,
        finish: impl FnOnce(&Client, RawJson) -> Result<T, Error> + Send + 'static,
    ) -> Self {
        Self::finishing(client, method, params, |client, result| {
            Finished::Now(finish(client, result))
        })
    }

    /// A call whose result may need more than decoding.
    pub(crate) fn finishing(
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

    /// Waits this long without a sign of life; progress starts the wait anew. Default: 60 s.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Waits this long at most, whatever progress is reported. Default: 10 min.
    pub fn with_max_timeout(mut self, timeout: Duration) -> Self {
        self.options.longest_timeout = Some(timeout);
        self
    }

    /// Asks the server to report progress, and hears of it. The closure runs where messages are read: it must be quick.
    pub fn on_progress(
        mut self,
        listener: impl Fn(ProgressNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.options.on_progress = Some(Arc::new(listener));
        self
    }

    /// Asks the server to report progress, as a stream to read beside the call. It ends with the call.
    ///
    /// A stream that is not read keeps the oldest 64 reports and leaves out newer ones.
    pub fn with_progress(self) -> (Self, ProgressStream) {
        let (sender, receiver) = mpsc::channel(UNREAD_PROGRESS);
        let call = self.on_progress(move |progress| drop(sender.try_send(progress)));
        (call, ProgressStream(receiver))
    }

    /// Adds a member to the request's `_meta`. The protocol's own members cannot be replaced.
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<RawJson>) -> Self {
        let meta = self.options.meta.get_or_insert_default();
        meta.insert(key, value);
        self
    }

    /// Asks for the server's log messages about this request, from this level on (revisions without
    /// `logging/setLevel`; the older ones set the level once for all calls with [`Client::set_log_level`]).
    pub fn with_log_level(mut self, level: LoggingLevel) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Says which trace the request belongs to (W3C trace context, in `_meta`).
    pub fn with_trace_context(mut self, trace: TraceContext) -> Self {
        self.options.trace = Some(Box::new(trace));
        self
    }

    /// Decides whether an answer that was kept will do.
    pub fn with_cache(mut self, mode: CacheMode) -> Self {
        self.options.cache = mode;
        self
    }
}

impl Call<RawJson> {
    /// Hands an `input_required` result to the caller, who repeats the request with the answers.
    pub fn without_input_handling(mut self) -> Self {
        self.options.leaves_questions = true;
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

/// The progress of one call.
#[derive(Debug)]
pub struct ProgressStream(mpsc::Receiver<ProgressNotificationParams>);

impl ProgressStream {
    /// The next report; `None` once the call is over.
    pub async fn next(&mut self) -> Option<ProgressNotificationParams> {
        self.0.recv().await
    }
}
