//! A request as the middleware of its client sees it.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use toolwire_proto::meta_keys::ForbiddenKey;
use toolwire_proto::methods;
use toolwire_proto::raw_object::{RawObject, json_string};
use toolwire_types::{Meta, ProtocolVersion, RawJson};

use crate::engine::{ConnectionInfo, catch_panic};
use crate::error::Error;
use crate::sync::lock;

/// A request on its way to the server.
///
/// Its parameters are raw JSON. What the client itself writes into `_meta` (the version, its description, a progress
/// token) is added when the request is sent.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    method: Cow<'static, str>,
    params: Option<RawJson>,
    meta: Meta,
    version: ProtocolVersion,
    connection: Arc<ConnectionInfo>,
    sent_id: SentId,
    opening: StreamOpening,
}

/// The id of a request, when it is known. Ids are positive.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentId(Arc<AtomicI64>);

impl SentId {
    pub(crate) fn set(&self, id: i64) {
        self.0.store(id, Ordering::Relaxed);
    }
}

/// The functions that are called when a stream is open. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct StreamOpening(Arc<Mutex<Vec<OpenedFn>>>);

type OpenedFn = Box<dyn FnOnce() + Send>;

impl StreamOpening {
    /// Calls the functions, once. One that panics does not affect the others.
    pub(crate) fn opened(&self) {
        let functions = std::mem::take(&mut *lock(&self.0));
        for function in functions {
            if catch_panic(function).is_err() {
                let _ = catch_panic(|| {
                    tracing::error!("a function for the opening of a stream panicked");
                });
            }
        }
    }
}

impl fmt::Debug for StreamOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamOpening").finish_non_exhaustive()
    }
}

impl ClientRequest {
    pub(crate) fn new(
        method: Cow<'static, str>,
        params: Option<RawJson>,
        meta: Meta,
        version: ProtocolVersion,
        connection: &Arc<ConnectionInfo>,
    ) -> Self {
        Self {
            method,
            params,
            meta,
            version,
            connection: Arc::clone(connection),
            sent_id: SentId::default(),
            opening: StreamOpening::default(),
        }
    }

    /// Sets the id that the request has.
    pub(crate) fn with_id(self, id: i64) -> Self {
        self.sent_id.set(id);
        self
    }

    /// Sets what is called when the stream of the request is open.
    pub(crate) fn with_opening(self, opening: StreamOpening) -> Self {
        Self { opening, ..self }
    }

    /// Returns the place for the id of the message.
    pub(crate) fn id_sink(&self) -> &SentId {
        &self.sent_id
    }

    /// Returns the method, such as `tools/call`.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the name of the tool or prompt, the URI of the resource, or the id of the task, for methods that carry
    /// one.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let params = RawObject::parse(self.params()?)?;
        let name = params.text(self.name_member()?)?;
        Some(name.into_owned())
    }

    /// Returns the arguments of a tool or prompt.
    #[must_use]
    pub fn arguments(&self) -> Option<RawJson> {
        let params = RawObject::parse(self.params()?)?;
        let arguments = params.get("arguments")?;
        Some(RawJson::from(arguments.raw()))
    }

    /// Returns the parameters, without `_meta`.
    #[must_use]
    pub fn params(&self) -> Option<&RawValue> {
        self.params.as_ref().map(RawJson::as_raw_value)
    }

    /// Returns the members of `_meta` that the caller or an outer middleware set.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Returns the protocol version of the request.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns what is known about the connection to the server.
    #[must_use]
    pub fn connection(&self) -> &ConnectionInfo {
        &self.connection
    }

    /// Returns the id of the message, once the request was sent.
    #[must_use]
    pub fn sent_id(&self) -> Option<i64> {
        let id = self.sent_id.0.load(Ordering::Relaxed);
        (id > 0).then_some(id)
    }

    /// Sets the name of the tool or prompt, or the URI of the resource. It has no effect on methods without one.
    pub fn set_name(&mut self, name: &str) {
        if let Some(member) = self.name_member() {
            self.set_member(member, json_string(name));
        }
    }

    /// Sets the arguments of a tool or prompt.
    pub fn set_arguments(&mut self, arguments: RawJson) {
        self.set_member("arguments", arguments);
    }

    /// Sets the parameters, which must be an object. Otherwise the request fails when it is sent.
    pub fn set_params(&mut self, params: RawJson) {
        self.params = Some(params);
    }

    /// Sets a member of `_meta`. The protocol's own members cannot be replaced.
    ///
    /// The request fails before it is sent if the key is malformed, or has a prefix that is reserved for the protocol.
    pub fn set_meta(&mut self, key: impl Into<String>, value: impl Into<RawJson>) {
        self.meta.insert(key.into(), value.into());
    }

    /// Calls a function when the server acknowledges `subscriptions/listen`. For that method, [`ClientNext::run`] returns
    /// only when the stream ends. The function is not called for other methods.
    ///
    /// [`ClientNext::run`]: crate::client_middleware::ClientNext::run
    pub fn on_stream_opened(&self, function: impl FnOnce() + Send + 'static) {
        lock(&self.opening.0).push(Box::new(function));
    }

    fn name_member(&self) -> Option<&'static str> {
        methods::find(&self.method)?.name_source.member()
    }

    fn set_member(&mut self, member: &'static str, value: RawJson) {
        let params = self.params.take().unwrap_or_else(RawJson::empty_object);
        self.params = match RawObject::parse(params.as_raw_value()) {
            Some(mut object) => {
                object.set(member, value);
                Some(object.finish())
            }
            None => Some(params),
        };
    }

    pub(crate) fn parts(&self) -> (&Cow<'static, str>, Option<&RawJson>) {
        (&self.method, self.params.as_ref())
    }

    /// Returns the parameters with the members of `_meta` that the middleware set.
    pub(crate) fn complete_params(&self) -> Result<RawJson, Error> {
        let params = self.params.clone().unwrap_or_else(RawJson::empty_object);
        let Some(added) = self.checked_meta()? else {
            return Ok(params);
        };
        let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
            return Ok(params);
        };
        let meta = members.object_or_empty_mut("_meta");
        for (key, value) in added.iter() {
            meta.set(key, value.clone());
        }
        Ok(members.finish())
    }

    /// Returns the members of `_meta`, if there are any.
    pub(crate) fn checked_meta(&self) -> Result<Option<Box<Meta>>, Error> {
        for (key, _) in self.meta.iter() {
            ForbiddenKey::check(key).map_err(|forbidden| {
                Error::invalid_request(format!("{}: {forbidden}", self.method))
            })?;
        }
        let is_empty = self.meta.iter().next().is_none();
        Ok((!is_empty).then(|| Box::new(self.meta.clone())))
    }
}
