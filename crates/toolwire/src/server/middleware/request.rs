//! A request as its middleware sees it.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::value::RawValue;
use toolwire_proto::inspection::SpanKind;
use toolwire_types::{Meta, Notification, ProtocolVersion, RawJson};

use crate::engine;
use crate::server::RequestContext;
use crate::server::inspection::{Observation, OpenSpan};
use crate::server::middleware::observed_transport::{
    ClientRequestEnd, ObservedTransport, Observer,
};
use crate::server::middleware::{Chain, Outcome};
use crate::server::request::{Exchange, ParamChange, RequestScope};

/// A request on its way to the handler.
///
/// Its values are raw JSON until they are decoded. Changes have an effect only before the request is passed on.
#[derive(Debug)]
pub struct Request {
    context: RequestContext,
    /// The name that a mounted server has for the entry, while its middleware runs.
    shown_name: Option<Arc<str>>,
    /// The name that the source of a mount has for the entry, from its middleware on.
    source_name: Option<Arc<str>>,
    /// Set if the exchange is reported to the developer.
    observation: Option<Arc<Observation>>,
}

impl Request {
    pub(crate) fn new(exchange: Exchange, observation: Option<Arc<Observation>>) -> Self {
        Self {
            context: exchange.context,
            shown_name: None,
            source_name: None,
            observation,
        }
    }

    /// Returns the method, such as `tools/call`.
    #[must_use]
    pub fn method(&self) -> &str {
        self.scope().route.name()
    }

    /// Returns the name of the tool or prompt, the URI of the resource, or the id of the task, for methods that carry
    /// one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let actual = self.scope().request_params.name();
        self.shown_name.as_deref().or(actual)
    }

    /// Returns the name that the source of a mount has for the tool or prompt, or the URI that it has for the resource.
    /// `None` before the middleware of the mount runs, and for entries of the server itself.
    ///
    /// Unlike [`name`](Self::name), it has no prefix and is not shortened. The source is that of the outermost mount.
    #[must_use]
    pub fn source_name(&self) -> Option<&str> {
        self.source_name.as_deref()
    }

    /// Returns the arguments of a tool or prompt.
    #[must_use]
    pub fn arguments(&self) -> Option<&RawValue> {
        self.scope().request_params.arguments()
    }

    /// Returns all parameters. `None` for `tools/call`, which has only a name, arguments and `_meta`, and for requests
    /// without parameters.
    #[must_use]
    pub fn params(&self) -> Option<&RawValue> {
        self.scope().params.as_ref().map(RawJson::as_raw_value)
    }

    /// Returns the `_meta` of the request, decoded at first use.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.scope().meta()
    }

    /// Returns the protocol version of the request.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.scope().version()
    }

    /// Returns the scope of the request: its id, its caller, its client and its transport.
    #[must_use]
    pub fn scope(&self) -> &RequestScope {
        self.context.scope()
    }

    /// Returns `true` if the client repeats a request with input that an earlier outcome asked for. The rounds of one
    /// call are several requests (2026-07-28).
    ///
    /// A client may send such input without an earlier round, so do not exempt these requests from a check.
    #[must_use]
    pub fn is_retry(&self) -> bool {
        self.scope().round.is_retry()
    }

    /// Returns the request state of an earlier round, as the client sent it. It is the `requestState` of that round's
    /// outcome.
    #[must_use]
    pub fn sent_request_state(&self) -> Option<&str> {
        self.scope().round.sent_state()
    }

    /// Sets the name of the tool or prompt, or the URI of the resource. It has no effect on methods without one.
    ///
    /// The middleware of a mount and of a mounted server cannot set it: the request would leave the mount, without the
    /// middleware of its new target. The name then stays, and a warning is logged. Set it in a middleware of the server
    /// that has the transports.
    pub fn set_name(&mut self, name: &str) {
        if self.source_name.is_some() {
            tracing::warn!(
                name,
                "the middleware of a mount cannot set the name of a request"
            );
        } else {
            self.change(&ParamChange::Name(name));
        }
    }

    /// Sets the arguments of a tool or prompt.
    pub fn set_arguments(&mut self, arguments: &RawJson) {
        self.change(&ParamChange::Arguments(arguments.as_raw_value()));
    }

    /// Sets the `_meta` of the request. The version, the progress token, the log level and what the client declared about
    /// itself keep the values that the client sent.
    ///
    /// # Panics
    /// Panics if a value of `_meta` cannot be written as JSON.
    pub fn set_meta(&mut self, meta: &Meta) {
        let meta = RawJson::from_serialize(meta).expect("`_meta` consists of JSON values");
        self.change(&ParamChange::Meta(meta.as_raw_value()));
    }

    /// Sets a function that sees every notification of this request before it is sent. It returns the notification to
    /// send, or `None` to drop it. If it panics, the notification is dropped.
    pub fn on_notification(
        &mut self,
        observe: impl Fn(Notification) -> Option<Notification> + Send + Sync + 'static,
    ) {
        self.observe(Observer::Notifications(Box::new(observe)));
    }

    /// Sets a function that is called before the server sends a request to the client for this request: an elicitation,
    /// sampling, or roots of a client before 2026-07-28. It may change the parameters, and returns a function for the
    /// outcome, which is dropped if the request is cancelled.
    pub fn on_client_request(
        &mut self,
        observe: impl Fn(&str, &mut RawJson) -> ClientRequestEnd + Send + Sync + 'static,
    ) {
        self.observe(Observer::ClientRequests(Box::new(observe)));
    }

    fn observe(&mut self, observer: Observer) {
        if let Some(scope) = self.context.scope_mut() {
            let observed = ObservedTransport::new(scope.transport.clone(), observer);
            scope.transport = Arc::new(observed);
        }
    }

    /// Counts the input requests that the client gets while this request runs, before 2026-07-28.
    pub(crate) fn count_input_requests(&mut self) -> Arc<AtomicU32> {
        let count: Arc<AtomicU32> = Arc::default();
        if !self.scope().is_stateless() {
            let sent = Arc::clone(&count);
            self.on_client_request(move |_, _| {
                sent.fetch_add(1, Ordering::Relaxed);
                Box::new(|_| ())
            });
        }
        count
    }

    /// Begins the span of a middleware or handler, if the exchange is reported. It ends when the value is dropped.
    pub(crate) fn begin_span<'n>(
        &self,
        kind: SpanKind,
        name: impl FnOnce() -> Cow<'n, str>,
    ) -> Option<OpenSpan> {
        let observation = self.observation.as_ref()?;
        Some(observation.begin_span(kind, &name()))
    }

    /// Sets the name that the following middleware sees, and returns the previous one.
    pub(crate) fn replace_shown_name(&mut self, name: Option<Arc<str>>) -> Option<Arc<str>> {
        std::mem::replace(&mut self.shown_name, name)
    }

    /// Returns the rule of a policy that denies the request, in words.
    pub(crate) fn denying_rule(&self) -> Option<String> {
        self.exchange().denying_rule()
    }

    /// Returns the middleware of the mount that the request is for. From then on, its name cannot change.
    pub(crate) fn enter_mount(&mut self) -> Option<Chain> {
        let route = self.exchange().mount_route()?;
        self.source_name = Some(route.source_name);
        Some(route.chain)
    }

    fn change(&mut self, change: &ParamChange<'_>) {
        if let Some(scope) = self.context.scope_mut() {
            scope.change_params(change);
        }
    }

    /// Returns the exchange for the dispatch of the request. From then on, the request cannot change.
    pub(crate) fn exchange(&self) -> Exchange {
        Exchange {
            context: self.context.clone(),
        }
    }

    /// Ends the request with its outcome, stamped for its revision.
    pub(crate) fn finish(self, outcome: Outcome) -> engine::Outcome {
        self.context.scope().complete();
        outcome.into_encoded(&self.exchange())
    }
}
