//! A request as the middleware of its client sees it.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_proto::meta_keys::ForbiddenKey;
use toolwire_proto::methods::{self, NameSource};
use toolwire_proto::raw_object::{RawObject, json_string};
use toolwire_types::{Meta, RawJson};

use crate::error::Error;

/// A request on its way to the server.
///
/// Its parameters are raw JSON. What the client itself writes into `_meta` (the version, its description, a progress
/// token) is added when the request is sent.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    method: Cow<'static, str>,
    params: Option<RawJson>,
    meta: Meta,
}

impl ClientRequest {
    pub(crate) fn new(
        method: Cow<'static, str>,
        params: Option<RawJson>,
        meta: Option<&Meta>,
    ) -> Self {
        Self {
            method,
            params,
            meta: meta.cloned().unwrap_or_default(),
        }
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

    fn name_member(&self) -> Option<&'static str> {
        match methods::find(&self.method)?.name_source {
            NameSource::Name => Some("name"),
            NameSource::Uri => Some("uri"),
            NameSource::TaskId => Some("taskId"),
            _ => None,
        }
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
