//! The client builder: options that are set before connecting.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::extensions;
use toolwire_proto::features::{Era, SupportedVersions, VersionFeatures};
use toolwire_proto::methods;
use toolwire_proto::negotiate::DetectedEra;
use toolwire_proto::subscriptions::Change;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, ElicitationCompleteNotificationParams, ErrorObject,
    Implementation, LoggingMessageNotificationParams, Notification, ProtocolVersion, RawJson, Root,
};

use crate::client::config::{ClientConfig, ClientLimits};
use crate::client::handlers::{RootList, boxed_handler, request_handler};
use crate::client::middleware::ClientMiddleware;
use crate::client::wire_listeners::WireMessage;

/// A builder for [`Client`](crate::client::Client). Clone it to connect to several servers with the same options.
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
#[doc(alias = "ClientHandler")]
pub struct ClientBuilder {
    pub(crate) config: ClientConfig,
    #[cfg(feature = "http-client")]
    pub(crate) http: crate::client::http::HttpClientOptions,
}

impl ClientBuilder {
    /// Creates a builder with the name and version of the client.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::default().with_info(Implementation::new(name, version))
    }

    /// Sets the client's `Implementation` with all its members.
    pub fn with_info(mut self, info: Implementation) -> Self {
        self.config.info = info;
        self
    }

    /// Omits `clientInfo` from requests of revisions where it is optional.
    pub fn without_info(mut self) -> Self {
        self.config.sends_info = false;
        self
    }

    /// Sets the protocol revisions that the client may use. Default: all.
    pub fn with_versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.config.versions = versions.into_iter().collect::<SupportedVersions>();
        self
    }

    /// Restricts the client to the revisions of one era.
    ///
    /// Legacy revisions use `initialize`. Modern revisions, from 2026-07-28 on, have no sessions. With
    /// [`Era::Legacy`] the client sends no `server/discover`, which some legacy servers on stdio do not survive.
    pub fn with_era(mut self, era: Era) -> Self {
        let versions = self.config.versions.iter();
        self.config.versions = versions.filter(|version| version.era() == era).collect();
        self
    }

    /// Starts from the result of an earlier connection ([`Client::detected_era`](crate::client::Client::detected_era)).
    ///
    /// The client sends no probe to a modern server and initializes a legacy server at once. If the server has changed,
    /// the first call detects it and probes again.
    pub fn with_detected_era(mut self, era: DetectedEra) -> Self {
        self.config.detected_era = Some(era);
        self
    }

    /// Sets the limits of the client.
    pub fn with_limits(mut self, limits: ClientLimits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Sets how long a call waits for a response or progress. Default: 60 s.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.config.limits.timeout = timeout;
        self
    }

    /// Adds a middleware around every request that the client sends. The first one is the outermost: it sees a request
    /// first and its result last.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolwire::Error> {
    /// use std::time::Instant;
    /// use toolwire::client_middleware::{ClientNext, ClientRequest, from_fn};
    /// use toolwire::{Client, Server};
    ///
    /// let timed = from_fn(async |request: &mut ClientRequest, next: ClientNext<'_>| {
    ///     let start = Instant::now();
    ///     let outcome = next.run(request).await;
    ///     eprintln!("{} took {:?}", request.method(), start.elapsed());
    ///     outcome
    /// });
    /// let server = Server::new("demo", "1.0.0");
    /// let client = Client::builder("agent", "1.0.0").with_middleware(timed).in_process(&server).await?;
    /// # drop(client);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_middleware(mut self, middleware: impl ClientMiddleware) -> Self {
        let inner: Arc<dyn ClientMiddleware> = Arc::new(middleware);
        if inner.handles_every_request() {
            let outer = self.config.full_middleware.iter();
            let outer = outer.flat_map(|chain| chain.iter()).cloned();
            let full = outer.chain([Arc::clone(&inner)]).collect();
            self.config.full_middleware = Some(full);
        }
        let outer = self.config.middleware.iter().flat_map(|chain| chain.iter());
        self.config.middleware = Some(outer.cloned().chain([inner]).collect());
        self
    }

    /// Validates the structured content of tool results against the output schema of the tool.
    ///
    /// Results of tools that were never listed are not validated.
    #[cfg(feature = "schema-validation")]
    pub fn with_output_validation(mut self) -> Self {
        self.config.validates_output = true;
        self
    }

    /// Sets the handler of form elicitations (`elicitation/create`, form mode).
    ///
    /// The client adds the defaults of the form to a response that omits them, and validates the response before it is
    /// sent.
    #[doc(alias = "elicitation_handler", alias = "elicitation_callback")]
    pub fn on_elicitation<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitRequestFormParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        self.config.handlers.form = Some(boxed_handler(handler));
        self
    }

    /// Sets the handler of URL elicitations (`elicitation/create`, URL mode).
    ///
    /// The handler must show the complete URL, open it only if the user agrees, and never fetch it.
    pub fn on_url_elicitation<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(ElicitRequestURLParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        self.config.handlers.url = Some(boxed_handler(handler));
        self
    }

    /// Sets the listener for `notifications/elicitation/complete` (2025-11-25): the user finished at the URL.
    ///
    /// The listener is called once for each id that the server announced, in a URL elicitation or in the error −32042
    /// ([`Error::url_elicitations`](crate::Error::url_elicitations)). Other notifications are ignored.
    pub fn on_elicitation_complete(
        mut self,
        listener: impl Fn(ElicitationCompleteNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.elicitation_complete = Some(Arc::new(listener));
        self
    }

    /// Sets the handler of sampling requests, which every revision has.
    ///
    /// Before 2025-11-25 a sampling result is one content block. Several text blocks are joined, and other results with
    /// several blocks are rejected.
    #[doc(alias = "sampling_handler", alias = "sampling_callback")]
    #[deprecated(
        note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
    )]
    pub fn on_sampling<F, R>(mut self, handler: F) -> Self
    where
        F: Fn(CreateMessageRequestParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.config.handlers.sampling = Some(boxed_handler(handler));
        self
    }

    /// Sets the handler like [`on_sampling`](Self::on_sampling), and declares that it accepts tools.
    #[deprecated(
        note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
    )]
    #[expect(deprecated, reason = "it is deprecated itself")]
    pub fn on_sampling_with_tools<F, R>(self, handler: F) -> Self
    where
        F: Fn(CreateMessageRequestParams) -> R + Send + Sync + 'static,
        R: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        let mut builder = self.on_sampling(handler);
        builder.config.handlers.sampling_tools = true;
        builder
    }

    /// Sets the roots that the server may list, which every revision has.
    #[doc(alias = "list_roots")]
    #[deprecated(
        note = "MCP deprecates roots (SEP-2577), and a revision of 28 July 2027 or later may remove them. Pass paths as tool arguments, resource URIs or configuration instead"
    )]
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let list = RootList::default();
        list.replace(roots.into_iter().collect());
        self.config.handlers.roots = Some(list);
        self
    }

    /// Sets the listener for log messages; see [`Client::set_log_level`](crate::client::Client::set_log_level).
    #[deprecated(
        note = "MCP deprecates logging (SEP-2577), and a revision of 28 July 2027 or later may remove it. Write to standard error with `tracing`, or use OpenTelemetry instead"
    )]
    pub fn on_log(
        mut self,
        listener: impl Fn(LoggingMessageNotificationParams) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.log = Some(Arc::new(listener));
        self
    }

    /// Sets the listener for changes of lists and of subscribed resources.
    pub fn on_change(mut self, listener: impl Fn(Change) + Send + Sync + 'static) -> Self {
        self.config.handlers.change = Some(Arc::new(listener));
        self
    }

    /// Sets the listener for all notifications, including those of extensions.
    pub fn on_notification(
        mut self,
        listener: impl Fn(Notification) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.notification = Some(Arc::new(listener));
        self
    }

    /// Adds a listener for every message that the client sends or receives, on all its connections.
    ///
    /// Listeners are called in the order in which they were added. They run in the task that sends or reads, so they must
    /// not block.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolwire::Error> {
    /// use toolwire::{Client, Server};
    ///
    /// let client = Client::builder("my-agent", "1.0.0")
    ///     .on_wire_message(|message| {
    ///         let direction = if message.is_sent { "sent" } else { "received" };
    ///         eprintln!("{direction} {} bytes", message.bytes.len());
    ///     })
    ///     .in_process(&Server::new("demo", "1.0.0"))
    ///     .await?;
    /// # drop(client);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_wire_message(
        mut self,
        listener: impl Fn(WireMessage<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.wire.add(listener);
        self
    }

    /// Sets the handler of a request that the protocol does not define, such as that of an extension. Servers send
    /// requests in revisions up to 2025-11-25.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use toolwire::{Client, ErrorObject};
    ///
    /// let builder = Client::builder("desk", "1.0.0")
    ///     .with_extension("com.example/clipboard", json!({}))
    ///     .on_request("com.example/clipboard/paste", |_params: Value| async {
    ///         Ok::<_, ErrorObject>(json!({"text": "copied"}))
    ///     });
    /// # drop(builder);
    /// ```
    ///
    /// # Panics
    /// Panics if the protocol defines the method, or if it has a handler.
    #[track_caller]
    pub fn on_request<P, R, F, Fut>(mut self, method: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned,
        R: Serialize,
        F: Fn(P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ErrorObject>> + Send + 'static,
    {
        let method = method.into();
        assert!(
            methods::find(&method).is_none(),
            "request `{method}` is defined by the protocol; use its own handler, such as `on_elicitation`"
        );
        let requests = &mut self.config.handlers.requests;
        let earlier = requests.insert(method.clone(), request_handler(handler));
        assert!(
            earlier.is_none(),
            "request `{method}` has two handlers; remove one"
        );
        self
    }

    /// Declares an extension with its settings, a JSON object: with every request of 2026-07-28, and in `initialize` of
    /// 2025-11-25 if that revision has the extension.
    ///
    /// The server's settings are in the capabilities of [`Client::server`](crate::client::Client::server).
    /// [`Client::request`](crate::client::Client::request) calls methods of the extension.
    ///
    /// # Panics
    /// Panics if the id is not a prefix and a name (`com.example/feature`), or if the settings are not a JSON object.
    #[track_caller]
    pub fn with_extension(mut self, id: impl Into<String>, settings: impl Into<RawJson>) -> Self {
        let (id, settings) = (id.into(), settings.into());
        if let Err(error) = extensions::check_declaration(&id, &settings) {
            panic!("{error}");
        }
        let declared = std::mem::take(&mut self.config.handlers.declared);
        self.config.handlers.declared = declared.with_extension(id, settings);
        self
    }

    /// Sets the source of the trace context for calls that do not set their own.
    pub fn with_trace_source(
        mut self,
        source: impl Fn() -> Option<TraceContext> + Send + Sync + 'static,
    ) -> Self {
        self.config.trace = Some(Arc::new(source));
        self
    }
}
