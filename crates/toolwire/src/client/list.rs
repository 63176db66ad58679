//! Fetches all pages of a list.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolwire_proto::pagination::PageCursor;
use toolwire_types::code;

use crate::client::Client;
use crate::client::cache::CacheMode;
use crate::client::call::{Call, CallOptions};
use crate::engine::BoxFuture;
use crate::error::Error;

/// A list call that fetches all pages when it is awaited.
///
/// It returns an error if the server repeats a cursor, has more pages than [`ClientLimits::pages`], or sends more bytes
/// than [`ClientLimits::list_bytes`].
///
/// [`ClientLimits::pages`]: crate::ClientLimits::pages
/// [`ClientLimits::list_bytes`]: crate::ClientLimits::list_bytes
#[must_use = "a list is fetched when it is awaited"]
pub struct ListCall<P, T> {
    client: Client,
    options: CallOptions,
    page: PageCall<P>,
    take: fn(P) -> (Vec<T>, Option<String>),
}

/// Returns the call for the page with this cursor.
type PageCall<P> = Box<dyn Fn(&Client, Option<String>) -> Call<P> + Send + Sync>;

impl<P, T> ListCall<P, T> {
    pub(crate) fn new(
        client: &Client,
        page: impl Fn(&Client, Option<String>) -> Call<P> + Send + Sync + 'static,
        take: fn(P) -> (Vec<T>, Option<String>),
    ) -> Self {
        Self {
            client: client.clone(),
            options: CallOptions::default(),
            page: Box::new(page),
            take,
        }
    }

    /// Sets the timeout of each page. Default: 60 s.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sends the requests without the middleware of the client, for lists that the client itself needs.
    pub(crate) fn without_middleware(mut self) -> Self {
        self.options.is_behind_middleware = true;
        self
    }

    /// Sets how the call uses cached pages. Default: [`CacheMode::Use`].
    pub fn with_cache(mut self, mode: CacheMode) -> Self {
        self.options.cache = mode;
        self
    }
}

impl<P: Send + 'static, T: Send + 'static> IntoFuture for ListCall<P, T> {
    type Output = Result<Vec<T>, Error>;
    type IntoFuture = BoxFuture<'static, Result<Vec<T>, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let outcome = match self.fetch_pages(&self.options).await {
                // The cursor came from a cached page, and the list has changed since. Fetch it again from the start.
                Err(Stop::RejectedCursor(_)) if self.options.cache == CacheMode::Use => {
                    let mut options = self.options.clone();
                    options.cache = CacheMode::Refresh;
                    self.fetch_pages(&options).await
                }
                outcome => outcome,
            };
            outcome.map_err(|stop| match stop {
                Stop::RejectedCursor(error) | Stop::Failed(error) => error,
            })
        })
    }
}

/// Why fetching the pages ended early.
enum Stop {
    /// The server rejected a cursor that it had returned.
    RejectedCursor(Error),
    Failed(Error),
}

impl<P: Send + 'static, T> ListCall<P, T> {
    async fn fetch_pages(&self, options: &CallOptions) -> Result<Vec<T>, Stop> {
        let limits = &self.client.shared.config.limits;
        let mut pages = PageCursor::new(limits.pages);
        let bytes = Arc::new(AtomicUsize::new(0));
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let is_later_page = cursor.is_some();
            let call = (self.page)(&self.client, cursor).with_options(options.clone());
            let call = call.adding_size_to(&bytes);
            let page = call.await.map_err(|error| match error.rpc() {
                Some(rpc) if is_later_page && rpc.code == code::INVALID_PARAMS => {
                    Stop::RejectedCursor(error)
                }
                _ => Stop::Failed(error),
            })?;
            if bytes.load(Ordering::Relaxed) > limits.list_bytes {
                return Err(Stop::Failed(Error::limit(
                    "the list of the server is larger than ClientLimits::list_bytes; raise this limit",
                )));
            }
            let (mut entries, next) = (self.take)(page);
            all.append(&mut entries);
            cursor = pages
                .next(next.as_deref())
                .map_err(|error| Stop::Failed(Error::limit(error.to_string())))?;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }
}

impl<P, T> fmt::Debug for ListCall<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListCall")
    }
}
