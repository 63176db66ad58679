//! The request parameters that a handler needs, copied into one allocation.

use serde_json::value::RawValue;
use toolwire_proto::admit::Admitted;
use toolwire_types::json;

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
