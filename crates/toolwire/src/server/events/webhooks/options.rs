//! The settings of webhook delivery.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::events::webhook::TtlLimits;
use toolwire_proto::events::webhook::rate::RateLimit;
use toolwire_proto::web_url::WebUrl;

use crate::server::events::webhooks::sender::WebhookSender;
use crate::store::{MemorySubscriptionStore, SubscriptionStore};

/// The default maximum number of subscriptions.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// The default maximum number of subscriptions of one principal.
const MAX_SUBSCRIPTIONS_PER_PRINCIPAL: usize = 32;

/// The default number of requests to one host per second, and at once.
const REQUESTS_PER_SECOND: u32 = 20;
const BURST: u32 = 40;

/// The settings of webhook delivery, for [`Server::with_webhooks`](crate::Server::with_webhooks).
///
/// ```
/// use std::time::Duration;
/// use toolwire::events::WebhookOptions;
///
/// let options = WebhookOptions::new()
///     .with_ttl(Duration::from_secs(3600), Duration::from_secs(24 * 3600))
///     .with_trusted_url("https://hooks.example.com/mcp/");
/// # drop(options);
/// ```
#[derive(Clone)]
#[must_use]
pub struct WebhookOptions {
    pub(crate) store: Arc<dyn SubscriptionStore>,
    pub(crate) sender: Option<Arc<dyn WebhookSender>>,
    pub(super) ttl: TtlLimits,
    pub(super) trusted_urls: Vec<String>,
    pub(super) max_subscriptions: usize,
    pub(super) max_subscriptions_per_principal: usize,
    pub(super) rate: RateLimit,
}

impl WebhookOptions {
    /// Creates the default settings, with a store in memory.
    pub fn new() -> Self {
        Self {
            store: Arc::new(MemorySubscriptionStore::new()),
            sender: None,
            ttl: TtlLimits::DEFAULT,
            trusted_urls: Vec::new(),
            max_subscriptions: MAX_SUBSCRIPTIONS,
            max_subscriptions_per_principal: MAX_SUBSCRIPTIONS_PER_PRINCIPAL,
            rate: RateLimit::new(REQUESTS_PER_SECOND, BURST),
        }
    }

    /// Sets the store of subscriptions. With a durable store, subscriptions continue after a restart, and a client may
    /// request one that does not expire. A store belongs to one server process.
    pub fn with_store(mut self, store: impl SubscriptionStore) -> Self {
        self.ttl.permits_unlimited = store.is_durable();
        self.store = Arc::new(store);
        self
    }

    /// Sets how long a subscription is valid if the client requests no TTL, and the longest TTL. Defaults: 1 h and 24 h.
    /// The shortest TTL is 1 min.
    pub fn with_ttl(mut self, default: Duration, longest: Duration) -> Self {
        self.ttl.default = default;
        self.ttl.longest = longest;
        self
    }

    /// Trusts the URLs with this start: they receive no challenge. The start has an origin and a path that ends with a
    /// slash.
    ///
    /// # Panics
    /// Panics if the text is not such a URL.
    #[track_caller]
    pub fn with_trusted_url(mut self, start: impl Into<String>) -> Self {
        let start = start.into();
        let is_valid = WebUrl::parse(&start).is_ok_and(|url| {
            url.path.ends_with('/')
                && url.query.is_none()
                && !url.has_fragment
                && !url.has_dot_segments()
        });
        assert!(
            is_valid,
            "`{start}` is not the start of trusted URLs; write an https URL whose path ends with a slash"
        );
        self.trusted_urls.push(start);
        self
    }

    /// Sets the maximum number of subscriptions, in total and of one principal. Defaults: 1,000 and 32.
    pub fn with_max_subscriptions(mut self, total: usize, per_principal: usize) -> Self {
        self.max_subscriptions = total;
        self.max_subscriptions_per_principal = per_principal;
        self
    }

    /// Sets how many requests one host gets per second on all its ports, and how many at once. Defaults: 20 and 40.
    pub fn with_rate_limit(mut self, per_second: u32, burst: u32) -> Self {
        self.rate = RateLimit::new(per_second, burst);
        self
    }

    /// Returns `true` if the author trusts a URL.
    pub(super) fn trusts(&self, url: &WebUrl<'_>) -> bool {
        !url.has_dot_segments()
            && self.trusted_urls.iter().any(|start| {
                WebUrl::parse(start).is_ok_and(|start| {
                    start.is_same_origin(url) && url.path.starts_with(start.path)
                })
            })
    }
}

impl Default for WebhookOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for WebhookOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookOptions")
            .field("store", &self.store)
            .field("ttl", &self.ttl)
            .field("trusted_urls", &self.trusted_urls)
            .field("max_subscriptions", &self.max_subscriptions)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trusted_urls_are_compared_by_origin_and_path() {
        let options = WebhookOptions::new().with_trusted_url("https://a.example/hooks/");
        let check = |url: &str, expected: bool| {
            let parsed = WebUrl::parse(url).unwrap();
            assert_eq!(options.trusts(&parsed), expected, "{url}");
        };
        check("https://a.example/hooks/1", true);
        check("https://A.example:443/hooks/1?x=2", true);
        check("https://a.example/hooks", false);
        check("https://a.example/hooks2/", false);
        check("https://a.example/hooks/../admin", false);
        check("https://a.example/hooks/%2e%2e/admin", false);
        check("https://a.example.evil.example/hooks/", false);
        check("https://a.example:8443/hooks/", false);
        check("http://a.example/hooks/", false);
    }

    #[test]
    fn start_of_trusted_urls_ends_with_a_slash() {
        for start in [
            "https://a.example",
            "https://a.example/hooks",
            "a.example/",
            "https://a.example/?x=/",
        ] {
            let result = std::panic::catch_unwind(|| WebhookOptions::new().with_trusted_url(start));
            assert!(result.is_err(), "{start}");
        }
    }
}
