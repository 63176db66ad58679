//! The client's side of a request that a source forwards.
//!
//! The upstream server reaches the client only through here: changes go to the source, which announces them, and input
//! requests need permission and name the server.

use std::sync::{Arc, Weak};

use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::name_upstream;
use toolwire_proto::relay::secret_forms::secret_field;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::{
    BoxFuture, Cancellation, ConnectionInfo, ConnectionState, OutgoingNotification, TokenInfo,
    TransportContext,
};
use crate::error::Error;
use crate::relay::source::SourceInner;
use crate::relay::source::sampling_limit::SamplingOfCaller;
use crate::relay::source::tasks::{TaskIds, relate, relate_notification};
use crate::relay::upstream::PermittedInput;

/// The client of a forwarded request, or its channel outside of requests.
#[derive(Debug)]
pub(super) struct CallingClient {
    inner: Arc<dyn TransportContext>,
    source: Weak<SourceInner>,
    rules: InputRules,
    /// The task that the request is about.
    task: Option<TaskIds>,
}

/// The rules for input requests of an upstream server.
#[derive(Debug, Clone)]
pub(super) struct InputRules {
    pub(super) permitted: PermittedInput,
    /// How often the caller can be asked for sampling. `None`: without a limit.
    pub(super) sampling: Option<SamplingOfCaller>,
    pub(super) upstream: String,
    /// Whether messages to the user name the server, because others could ask as well.
    pub(super) names_upstream: bool,
}

impl CallingClient {
    pub(super) fn new(
        inner: Arc<dyn TransportContext>,
        source: Weak<SourceInner>,
        rules: InputRules,
        task: Option<TaskIds>,
    ) -> Self {
        Self {
            inner,
            source,
            rules,
            task,
        }
    }

    /// Returns the parameters of an input request with the id that the client has for the task.
    fn with_client_task(&self, params: RawJson) -> RawJson {
        let related = RawObject::parse(params.as_raw_value()).and_then(|mut members| {
            relate(&mut members, self.task.as_ref());
            members.finish_if_edited()
        });
        related.unwrap_or(params)
    }
}

impl InputRules {
    /// Returns the parameters of an input request, with the name of the server in the message to the user.
    ///
    /// # Errors
    /// Returns an error if the server may not request this input, or requested it too often.
    pub(super) fn apply(&self, method: &str, params: RawJson) -> Result<RawJson, ErrorObject> {
        let is_permitted = match method {
            "sampling/createMessage" => self.permitted.sampling,
            "roots/list" => self.permitted.roots,
            _ => true,
        };
        if !is_permitted {
            return Err(ErrorObject::internal(format!(
                "the upstream server `{}` requested `{method}`, which is not permitted",
                self.upstream
            )));
        }
        if method == "sampling/createMessage"
            && let Some(sampling) = &self.sampling
        {
            sampling.count()?;
        }
        if method == "elicitation/create"
            && !self.permitted.secret_forms
            && let Some(field) = secret_field(params.as_raw_value())
        {
            return Err(ErrorObject::invalid_params(format!(
                "the upstream server `{}` requested the secret `{field}` with a form, which is not permitted; a server \
                 requests secrets with a URL elicitation",
                self.upstream
            )));
        }
        if !self.names_upstream {
            return Ok(params);
        }
        let named = RawObject::parse(params.as_raw_value()).and_then(|mut members| {
            name_upstream(method, &mut members, &self.upstream);
            members.finish_if_edited()
        });
        Ok(named.unwrap_or_else(|| params.clone()))
    }

    /// Removes the capabilities for input that the server may not request.
    pub(super) fn restrict(&self, capabilities: &mut RawObject<'_>) {
        if !self.permitted.sampling {
            capabilities.remove("sampling");
        }
        if !self.permitted.roots {
            capabilities.remove("roots");
        }
    }
}

impl TransportContext for CallingClient {
    fn notify(&self, notification: OutgoingNotification) {
        match &notification.kind {
            OutgoingKind::ListChanged { .. } => {
                if let Some(source) = self.source.upgrade() {
                    source.signals.lists_changed.notify_one();
                }
            }
            OutgoingKind::ResourceUpdated { uri, .. } => {
                if let Some(source) = self.source.upgrade() {
                    source.resource_updated(uri);
                }
            }
            // Clients poll the tasks of the upstream server, whose ids here are not known to them.
            OutgoingKind::TaskChanged { .. } => {}
            _ => {
                let notification = relate_notification(notification, self.task.as_ref());
                self.inner.notify(notification);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.inner.is_full()
    }

    fn report_drop(&self) {
        self.inner.report_drop();
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let params = self.rules.apply(method, params)?;
            let params = self.with_client_task(params);
            self.inner.request(method, params).await
        })
    }

    fn can_request(&self) -> bool {
        self.inner.can_request()
    }

    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.inner.connection_state()
    }

    fn connection_token(&self) -> Option<&str> {
        self.inner.connection_token()
    }

    fn connection_info(&self) -> Option<&ConnectionInfo> {
        self.inner.connection_info()
    }

    fn client_channel(&self) -> Option<Arc<dyn TransportContext>> {
        let channel = self.inner.client_channel()?;
        let (source, rules) = (Weak::clone(&self.source), self.rules.clone());
        Some(Arc::new(Self::new(channel, source, rules, None)))
    }

    fn ended(&self) -> Option<Cancellation> {
        self.inner.ended()
    }

    fn streaming(&self) -> bool {
        self.inner.streaming()
    }

    fn next_event_id(&self) -> Option<String> {
        self.inner.next_event_id()
    }

    fn is_cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }

    fn cancellation(&self) -> Option<Cancellation> {
        self.inner.cancellation()
    }

    fn release_stream(&self) -> bool {
        self.inner.release_stream()
    }

    fn uses_tokens(&self) -> bool {
        self.inner.uses_tokens()
    }

    fn auth(&self) -> &TokenInfo {
        self.inner.auth()
    }
}
