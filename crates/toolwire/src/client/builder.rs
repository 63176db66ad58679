//! Everything that can be decided before a client connects.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::features::{Era, SupportedVersions, VersionFeatures};
use toolwire_proto::negotiate::DetectedEra;
use toolwire_proto::subscriptions::Change;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, ElicitationCompleteNotificationParams, ErrorObject,
    Implementation, LoggingMessageNotificationParams, Notification, ProtocolVersion, RawJson, Root,
};

use crate::client::config::{ClientConfig, ClientLimits};
use crate::client::handlers::{RootList, asked};

/// A client that has not connected yet. Clone it to connect to several servers in the same way.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolwire::Error> {
/// use toolwire::types::{ElicitResult, Root};
/// use toolwire::{Client, Server};
///
/// let client = Client::builder("my-agent", "1.0.0")
///     .with_roots([Root::new("file:///home/me/project")])
///     .on_elicitation(|form| async move {
///         eprintln!("{}", form.message);
///         Ok(ElicitResult::decline())
///     })
///     .in_process(&Server::new("demo", "1.0.0"))
///     .await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until it connects"]
pub struct ClientBuilder {
    pub(crate) config: ClientConfig,
    #[cfg(feature = "http-client")]
    pub(crate) http: crate::client::http::HttpClientOptions,
}

impl ClientBuilder {
    /// Says who connects.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::default().with_info(Implementation::new(name, version))
    }

    /// Says who connects, with everything an implementation may say of itself.
    pub fn with_info(mut self, info: Implementation) -> Self {
        self.config.info = info;
        self
    }

    /// Keeps `clientInfo` out of requests of revisions where it is optional.
    pub fn without_info(mut self) -> Self {
        self.config.sends_info = false;
        self
    }

    /// Speaks only these revisions. Default: all of them.
    pub fn with_versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.config.versions = versions.into_iter().collect::<SupportedVersions>();
        self
    }

    /// Speaks only the revisions of one era: without sessions from 2026-07-28 on, with `initialize` before.
    pub fn with_era(mut self, era: Era) -> Self {
        let versions = self.config.versions.iter();
        self.config.versions = versions.filter(|version| version.era() == era).collect();
        self
    }

    /// Starts from what an earlier connection found out ([`Client::verdict`](crate::client::Client::verdict)): no
    /// question is asked of a modern server, and a legacy one is initialized at once. Should the server have changed,
    /// the first call finds out and asks anew.
    pub fn with_detected_era(mut self, verdict: DetectedEra) -> Self {
        self.config.known = Some(verdict);
        self
    }

    /// Keeps other bounds.
    pub fn with_limits(mut self, limits: ClientLimits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Waits this long for an answer without a sign of life. Default: 60 s.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.config.limits.timeout = timeout;
        self
    }

    /// Checks the structured content of results against the schema that the tool announced. Results of tools that were
    /// never listed are not checked.
    #[cfg(feature = "schema-validation")]
    pub fn with_output_validation(mut self) -> Self {
        self.config.validates_output = true;
        self
    }

    /// Answers forms (`elicitation/create`, form mode). Defaults of the form are filled in where the answer leaves
    /// something out, and the answer is checked before it is sent.
    pub fn on_elicitation<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitRequestFormParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        self.config.handlers.form = Some(asked(handler));
        self
    }

    /// Sends the user to an address (`elicitation/create`, URL mode). Show the whole address and open it only when the
    /// user agrees; never fetch it.
    pub fn on_url_elicitation<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitRequestURLParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        self.config.handlers.url = Some(asked(handler));
        self
    }

    /// Hears that the user has finished at an address (2025-11-25).
    pub fn on_elicitation_complete(
        mut self,
        listener: impl Fn(ElicitationCompleteNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.elicitation_complete = Some(Arc::new(listener));
        self
    }

    /// Lets the server ask a model. Deprecated by the protocol since 2026-07-28, but served in every revision.
    ///
    /// Before 2025-11-25 an answer is one block: several texts are joined, and other answers of several blocks are refused.
    pub fn on_sampling<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageRequestParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.config.handlers.sampling = Some(asked(handler));
        self
    }

    /// As [`on_sampling`](Self::on_sampling), with a model that may be given tools.
    pub fn on_sampling_with_tools<F, R>(self, handler: F) -> Self
    where
        F: Fn(CreateMessageRequestParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        let mut builder = self.on_sampling(handler);
        builder.config.handlers.sampling_tools = true;
        builder
    }

    /// The roots the server may ask for. Deprecated by the protocol since 2026-07-28, but served in every revision.
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let shelf = RootList::default();
        shelf.replace(roots.into_iter().collect());
        self.config.handlers.roots = Some(shelf);
        self
    }

    /// Hears log messages of the server; see [`Client::set_log_level`](crate::client::Client::set_log_level).
    pub fn on_log(
        mut self,
        listener: impl Fn(LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.log = Some(Arc::new(listener));
        self
    }

    /// Hears that something changed: a list, or a resource that is subscribed to.
    pub fn on_change(mut self, listener: impl Fn(Change) + Send + Sync + 'static) -> Self {
        self.config.handlers.change = Some(Arc::new(listener));
        self
    }

    /// Hears every notification, also of extensions.
    pub fn on_notification(
        mut self,
        listener: impl Fn(Notification) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.notification = Some(Arc::new(listener));
        self
    }

    /// Declares an extension, with its settings.
    pub fn with_extension(mut self, id: impl Into<String>, settings: impl Into<RawJson>) -> Self {
        let declared = std::mem::take(&mut self.config.handlers.declared);
        self.config.handlers.declared = declared.with_extension(id, settings);
        self
    }

    /// Says for each call which trace it belongs to, when the call does not say so itself.
    pub fn with_trace_source(
        mut self,
        source: impl Fn() -> Option<TraceContext> + Send + Sync + 'static,
    ) -> Self {
        self.config.trace = Some(Arc::new(source));
        self
    }
}
