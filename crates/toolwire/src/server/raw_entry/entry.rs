//! A raw entry and its handler.

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::stamp;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::{BoxFuture, EncodedResult, Outcome};
use crate::server::RequestContext;
use crate::server::mount::HiddenArguments;
use crate::server::request::Exchange;

type Handler = dyn Fn(RequestContext, RawJson) -> BoxFuture<'static, Result<RawJson, ErrorObject>>
    + Send
    + Sync;

/// A handler that gets the parameters of a request and returns its result, both as raw JSON.
#[derive(Clone)]
pub(crate) struct RawHandler(Arc<Handler>);

impl RawHandler {
    pub(crate) fn new<F, Fut>(handler: F) -> Self
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        Self(Arc::new(move |ctx, params| Box::pin(handler(ctx, params))))
    }

    /// Runs the handler, and adds the members to its result that the revision requires.
    pub(crate) async fn respond(&self, exchange: &Exchange, params: RawJson) -> Outcome {
        let result = (self.0)(exchange.context.clone(), params).await?;
        let target = exchange.snapshot().target(exchange.context.version());
        Ok(EncodedResult::Json(stamp::stamp_raw(result, &target)))
    }
}

impl fmt::Debug for RawHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawHandler")
    }
}

/// What a raw entry has besides the members that routing needs.
#[derive(Debug, Clone)]
pub(crate) struct RawEntry {
    /// The entry of the list.
    pub(crate) descriptor: RawJson,
    /// The name of the tool or prompt at its source. `None` for resources, whose URIs do not change.
    pub(crate) local_name: Option<String>,
    pub(crate) handler: RawHandler,
    /// The arguments that callers do not set.
    pub(crate) hidden: Option<HiddenArguments>,
}

impl RawEntry {
    /// Responds to a request for the entry.
    pub(crate) async fn respond(&self, exchange: &Exchange) -> Outcome {
        self.handler.respond(exchange, self.params(exchange)).await
    }

    /// Returns the parameters with the name that the source has for the entry, and with the hidden arguments.
    fn params(&self, exchange: &Exchange) -> RawJson {
        let params = exchange.params().cloned();
        let params = params.unwrap_or_else(RawJson::empty_object);
        let Some(mut object) = RawObject::parse(params.as_raw_value()) else {
            return params;
        };
        if let Some(name) = &self.local_name {
            object.set_text("name", name);
        }
        // A middleware may have changed them.
        let arguments = exchange.arguments().map(RawJson::from);
        if let Some(hidden) = &self.hidden {
            let arguments = arguments.unwrap_or_else(RawJson::empty_object);
            object.set("arguments", hidden.complete(arguments.as_raw_value()));
        }
        object.finish()
    }

    /// Returns the entry with other members of its descriptor.
    pub(crate) fn with_members<'m>(
        &self,
        members: impl IntoIterator<Item = (&'static str, &'m RawValue)>,
    ) -> Self {
        let mut entry = self.clone();
        if let Some(mut object) = RawObject::parse(self.descriptor.as_raw_value()) {
            for (name, value) in members {
                object.set(name, RawJson::from(value));
            }
            entry.descriptor = object.finish();
        }
        entry
    }
}
