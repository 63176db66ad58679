//! The request parameters that a handler needs, copied into one allocation.

use indexmap::IndexMap;
use serde_json::value::RawValue;
use toolwire_proto::admit::Admitted;
use toolwire_types::{RawJson, json};

use crate::server::request::MethodRoute;

/// The name, `_meta` and arguments of a request.
///
/// Handlers outlive the message that started them, and not every transport can lend the message to them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestParams {
    /// The three parts, concatenated.
    text: Box<str>,
    name: Option<usize>,
    meta: Option<usize>,
    arguments: bool,
}

impl RequestParams {
    pub(crate) fn of(request: &Admitted<'_>) -> Self {
        Self::new(request.name.as_deref(), request.meta(), request.arguments())
    }

    #[inline]
    pub(crate) fn new(
        name: Option<&str>,
        meta: Option<&RawValue>,
        arguments: Option<&RawValue>,
    ) -> Self {
        let parts = [
            name.unwrap_or_default(),
            meta.map_or("", RawValue::get),
            arguments.map_or("", RawValue::get),
        ];
        let [first, second, third] = parts;
        let mut text = String::with_capacity(first.len() + second.len() + third.len());
        for part in parts {
            text.push_str(part);
        }
        Self {
            text: text.into_boxed_str(),
            name: name.map(str::len),
            meta: meta.map(|meta| meta.get().len()),
            arguments: arguments.is_some(),
        }
    }

    /// Returns the parameters with a change.
    pub(crate) fn changed(&self, change: &ParamChange<'_>) -> Self {
        let (mut name, mut meta, mut arguments) = (self.name(), self.meta(), self.arguments());
        match change {
            ParamChange::Name(value) => name = Some(value),
            ParamChange::Meta(value) => meta = Some(value),
            ParamChange::Arguments(value) => arguments = Some(value),
        }
        Self::new(name, meta, arguments)
    }

    /// Returns the name of the tool or prompt, or the URI, for methods that carry one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.map(|length| &self.text[..length])
    }

    /// Returns `_meta`.
    pub(crate) fn meta(&self) -> Option<&RawValue> {
        let start = self.name.unwrap_or_default();
        self.meta
            .map(|length| json::checked_raw(&self.text[start..start + length]))
    }

    /// Returns `arguments`.
    pub(crate) fn arguments(&self) -> Option<&RawValue> {
        let start = self.name.unwrap_or_default() + self.meta.unwrap_or_default();
        self.arguments
            .then(|| json::checked_raw(&self.text[start..]))
    }
}

/// A change of one parameter of a request.
#[derive(Debug)]
pub(crate) enum ParamChange<'a> {
    Name(&'a str),
    Meta(&'a RawValue),
    Arguments(&'a RawValue),
}

impl ParamChange<'_> {
    /// Returns the member of `params` that changes. `None` if the method has no such member.
    pub(crate) fn member(&self, route: &MethodRoute) -> Option<&'static str> {
        match self {
            Self::Meta(_) => Some("_meta"),
            Self::Arguments(_) => Some("arguments"),
            Self::Name(_) => match route {
                MethodRoute::Known(method) => method.name_source.member(),
                MethodRoute::Custom(_) => None,
            },
        }
    }

    /// Returns the parameters with the changed member. The other members keep their order and their text.
    pub(crate) fn apply(&self, member: &str, params: &RawJson) -> RawJson {
        let Ok(mut members) = params.parse::<IndexMap<String, RawJson>>() else {
            return params.clone();
        };
        let value = match self {
            Self::Name(name) => RawJson::from_serialize(name).unwrap_or_default(),
            Self::Meta(value) | Self::Arguments(value) => RawJson::from(*value),
        };
        members.insert(member.to_owned(), value);
        RawJson::from_serialize(&members).unwrap_or_else(|_| params.clone())
    }
}
