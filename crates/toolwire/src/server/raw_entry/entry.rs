//! A raw entry and its handler.

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::{Conversion, ResultMembers};
use toolwire_proto::relay::names::FULL_NAME_KEY;
use toolwire_proto::stamp;
use toolwire_types::{ErrorObject, Meta, ProtocolVersion, RawJson};

use crate::engine::{BoxFuture, EncodedResult, Outcome};
use crate::server::RequestContext;
use crate::server::mount::{HiddenArguments, UriExposure};
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

    /// Runs the handler, and converts its result to the revision of the request.
    pub(crate) async fn respond(&self, exchange: &Exchange, params: RawJson) -> Outcome {
        let result = (self.0)(exchange.context.clone(), params).await?;
        let version = exchange.context.version();
        let result = converted(exchange.route().name(), result, version)?;
        let target = exchange.snapshot().target(version);
        Ok(EncodedResult::Json(stamp::stamp_raw(result, &target)))
    }
}

/// Returns a result of the newest revision without what the revision of the request does not define.
fn converted(
    method: &str,
    result: RawJson,
    version: ProtocolVersion,
) -> Result<RawJson, ErrorObject> {
    let conversion = Conversion::new(ProtocolVersion::LATEST, version);
    if conversion.is_same_revision() {
        return Ok(result);
    }
    let Some(mut object) = RawObject::parse(result.as_raw_value()) else {
        return Ok(result);
    };
    let conversion = conversion.result(method, &mut object, &ResultMembers::default());
    conversion.map_err(|error| ErrorObject::internal(error.to_string()))?;
    let edited = object.finish_if_edited();
    Ok(edited.unwrap_or(result))
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
    /// The name of the tool or prompt at its source. `None` for resources, whose URIs are in `exposures`.
    pub(crate) local_name: Option<String>,
    pub(crate) handler: RawHandler,
    /// The arguments that callers do not set.
    pub(crate) hidden: Option<HiddenArguments>,
    /// How the URIs are exposed, on each level of mounts. The outermost is the last.
    pub(crate) exposures: Vec<UriExposure>,
}

impl RawEntry {
    /// Responds to a request for the entry.
    pub(crate) async fn respond(&self, exchange: &Exchange) -> Outcome {
        let outcome = self.handler.respond(exchange, self.params(exchange)).await;
        let method = exchange.route().name();
        let exposures = self.exposures.iter();
        exposures.fold(outcome, |outcome, exposure| match outcome {
            Ok(EncodedResult::Json(result)) => {
                Ok(EncodedResult::Json(exposure.exposed_result(method, result)))
            }
            Ok(other) => Ok(other),
            Err(error) => Err(exposure.exposed_error(error)),
        })
    }

    /// Responds to a request about a task of the tool.
    #[cfg(feature = "relay")]
    pub(crate) async fn respond_about_task(&self, exchange: &Exchange) -> Outcome {
        let params = exchange.params().cloned();
        let params = params.unwrap_or_else(RawJson::empty_object);
        let result = match self.handler.respond(exchange, params).await? {
            EncodedResult::Json(result) => result,
            other => return Ok(other),
        };
        let exposures = self.exposures.iter();
        let result = exposures.fold(result, |result, exposure| {
            match exchange.route().name() {
                // The result is that of the call.
                "tasks/result" => exposure.exposed_result("tools/call", result),
                _ => exposure.exposed_task(result),
            }
        });
        Ok(EncodedResult::Json(result))
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
        for uris in UriExposure::levels_of_request(&self.exposures, &exchange.snapshot().uris) {
            uris.edit_request(exchange.route().name(), &mut object);
        }
        if let Some(hidden) = &self.hidden {
            let arguments = exchange.arguments().map(RawJson::from);
            let arguments = arguments.unwrap_or_else(RawJson::empty_object);
            object.set("arguments", hidden.complete(arguments.as_raw_value()));
        }
        object.finish()
    }

    /// Returns the entry as a server exposes it that mounted its source.
    pub(crate) fn exposed(&self, exposure: &UriExposure) -> Self {
        let mut entry = self.clone();
        entry.exposures.push(exposure.clone());
        entry
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
    /// Returns the entry with the full name of a tool or prompt whose name is shortened in the `_meta` of its descriptor.
    /// The other members of `_meta` keep their text.
    pub(crate) fn with_full_name(mut self, meta: Option<&Meta>) -> Self {
        let full = meta.and_then(|meta| meta.get(FULL_NAME_KEY));
        if let Some(full) = full
            && let Some(mut object) = RawObject::parse(self.descriptor.as_raw_value())
        {
            let meta = object.object_or_empty_mut("_meta");
            meta.set(FULL_NAME_KEY, full.clone());
            self.descriptor = object.finish();
        }
        self
    }
}
