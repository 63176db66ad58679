//! The options of a server.

use std::time::Duration;

use toolwire_proto::cache::CacheHint;
use toolwire_proto::features::SupportedVersions;
use toolwire_types::{Icon, ProtocolVersion};

use crate::server::Server;

impl Server {
    /// Sets the title, a display name.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        self.change(|snapshot| snapshot.info.title = Some(title.into()));
        self
    }

    /// Adds an icon of the server.
    #[must_use]
    pub fn with_icon(self, icon: Icon) -> Self {
        self.change(|snapshot| snapshot.info.icons.get_or_insert_default().push(icon));
        self
    }

    /// Sets instructions for models that use the server.
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        self.change(|snapshot| snapshot.instructions = Some(instructions.into()));
        self
    }

    /// Sets the supported protocol versions. Default: every released version.
    #[must_use]
    pub fn with_versions(self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.change(|snapshot| snapshot.supported = SupportedVersions::from_iter(versions));
        self
    }

    /// Enables log messages to clients that request them ([`RequestContext::log`](crate::RequestContext::log)).
    #[must_use]
    #[deprecated(
        note = "MCP deprecates logging (SEP-2577), and a revision of 28 July 2027 or later may remove it. Write to standard error with `tracing`, or use OpenTelemetry instead"
    )]
    pub fn with_logging(self) -> Self {
        self.change(|snapshot| snapshot.options.logging = true);
        self
    }

    /// Permits clients to subscribe to resources. [`resource_updated`](Self::resource_updated) then notifies them.
    #[must_use]
    pub fn with_resource_subscriptions(self) -> Self {
        self.change(|snapshot| snapshot.options.resource_subscriptions = true);
        self
    }

    /// Sets the number of entries per list page. Default: 0, which sends all entries at once.
    #[must_use]
    pub fn with_page_size(self, entries: usize) -> Self {
        self.change(|snapshot| snapshot.options.page_size = entries);
        self
    }

    /// Omits entries from lists if the caller's access token lacks their scopes ([`ToolHandler::requires_scopes`] and
    /// its siblings). By default lists are complete, so that clients can request the missing scopes.
    ///
    /// [`ToolHandler::requires_scopes`]: crate::ToolHandler::requires_scopes
    #[must_use]
    pub fn with_scope_filtered_lists(self) -> Self {
        self.change(|snapshot| snapshot.options.filter_by_scope = true);
        self
    }

    /// Sets how long, and in which scope, lists and the discovery result may be cached (2026-07-28). Default: see
    /// [`with_default_cache_ttl`](Self::with_default_cache_ttl).
    #[must_use]
    pub fn with_list_cache(self, hint: CacheHint) -> Self {
        self.change(|snapshot| snapshot.options.list_hint = Some(hint));
        self
    }

    /// Sets how long each client may cache results without a cache hint of their own (2026-07-28): lists, the discovery
    /// result and the contents of resources. Default: no caching.
    ///
    /// Clients do not share these results, because they may depend on the caller. Results that clients may share need
    /// their own hint: [`with_list_cache`](Self::with_list_cache) and
    /// [`ResourceHandler::with_cache`](crate::ResourceHandler::with_cache).
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolwire::Server;
    ///
    /// let server = Server::new("demo", "1.0.0").with_default_cache_ttl(Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn with_default_cache_ttl(self, ttl: Duration) -> Self {
        self.change(|snapshot| snapshot.options.default_hint = CacheHint::private(ttl));
        self
    }

    /// Enables checks of structured content against the tool's output schema before it is sent.
    #[cfg(feature = "schema-validation")]
    #[must_use]
    pub fn with_output_validation(self) -> Self {
        self.change(|snapshot| snapshot.options.validate_output = true);
        self
    }

    /// Rejects legacy requests other than `ping` until the client has sent `notifications/initialized`.
    #[must_use]
    pub fn with_strict_initialization(self) -> Self {
        self.change(|snapshot| snapshot.options.require_initialized = true);
        self
    }

    /// Omits the server's identity from the `_meta` of results (2026-07-28).
    #[must_use]
    pub fn without_server_info(self) -> Self {
        self.change(|snapshot| snapshot.options.send_server_info = false);
        self
    }

    /// Sets the timeout of a client's response to an input request. Default: 10 min.
    #[must_use]
    pub fn with_client_response_timeout(self, timeout: Duration) -> Self {
        self.change(|snapshot| snapshot.options.client_response_timeout = timeout);
        self
    }
}
