//! The `_meta` of a client's requests: the caller's entries and the members that a modern revision requires.
//!
//! Since 2026-07-28 every request repeats the client's version, capabilities and name. These members are encoded once
//! per connection and copied as text into each request. Parameters are copied, too, and never decoded.
//! [`crate::meta_keys`] checks whether a key is well formed.

use std::fmt;

use indexmap::IndexMap;
use serde_json::value::RawValue;
use toolwire_types::json::checked_raw_box;
use toolwire_types::{
    ClientCapabilities, Implementation, Meta, ProtocolVersion, RawJson, meta_key,
};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target};

/// Returns the capabilities that a revision can express. Members that it does not define are omitted.
///
/// A client that supports only URL elicitation has no elicitation in 2025-06-18, where every elicitation is a form.
#[must_use]
pub fn capabilities_for(
    version: ProtocolVersion,
    capabilities: &ClientCapabilities,
) -> ClientCapabilities {
    let mut capabilities = capabilities.clone();
    capabilities.stamp(&Target::new(version));
    capabilities
}

/// The members that one connection writes into the `_meta` of its requests.
///
/// ```
/// use toolwire_proto::request_meta::RequestMeta;
/// use toolwire_types::{ClientCapabilities, Meta, ProtocolVersion, RawJson};
///
/// let capabilities = ClientCapabilities::new();
/// let meta = RequestMeta::new(ProtocolVersion::V2025_11_25, None, &capabilities);
/// let params = RawJson::from(serde_json::json!({"uri": "file:///a"}));
/// let token = Meta::new().with("progressToken", RawJson::from(serde_json::json!(7)));
/// assert_eq!(
///     meta.params(Some(&params), &token).unwrap().get(),
///     r#"{"uri":"file:///a","_meta":{"progressToken":7}}"#
/// );
/// ```
#[derive(Debug, Clone)]
pub struct RequestMeta {
    version: ProtocolVersion,
    /// The members of the protocol, as the inside of an object. Empty in legacy revisions.
    own: String,
    /// The keys that callers cannot set.
    reserved: &'static [&'static str],
}

/// The keys of every modern request, and the log level key, which replaced `logging/setLevel`. Spec 2026-07-28, basic,
/// "_meta".
const MODERN_KEYS: &[&str] = &[
    meta_key::PROTOCOL_VERSION,
    meta_key::CLIENT_CAPABILITIES,
    meta_key::CLIENT_INFO,
    meta_key::LOG_LEVEL,
];

impl RequestMeta {
    /// Encodes the members of every request of a connection. Legacy revisions have no such members.
    #[must_use]
    pub fn new(
        version: ProtocolVersion,
        client_info: Option<&Implementation>,
        capabilities: &ClientCapabilities,
    ) -> Self {
        if !version.is_modern() {
            return Self {
                version,
                own: String::new(),
                reserved: MODERN_KEYS,
            };
        }
        let capabilities = RawJson::from_serialize(&capabilities_for(version, capabilities))
            .expect("every map in capabilities has string keys");
        let mut own = format!(
            "\"{}\":\"{version}\",\"{}\":{capabilities}",
            meta_key::PROTOCOL_VERSION,
            meta_key::CLIENT_CAPABILITIES,
        );
        // Without its own client info, the connection leaves the member to the caller, which may act for another
        // client.
        let reserved = match client_info {
            None => &MODERN_KEYS[..2],
            Some(info) => {
                let info = RawJson::from_serialize(info)
                    .expect("every map in an implementation has string keys");
                own.push_str(&format!(",\"{}\":{info}", meta_key::CLIENT_INFO));
                &MODERN_KEYS[..3]
            }
        };
        Self {
            version,
            own,
            reserved,
        }
    }

    /// Returns the revision of the requests.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns the parameters of a request with all of its metadata.
    ///
    /// `extra` takes precedence over metadata in the parameters, and the members of the protocol over both. Members of
    /// modern revisions are not written in legacy ones. An empty `_meta` is omitted. `null` parameters count as absent.
    ///
    /// # Errors
    /// Returns an error if the parameters or their `_meta` are not an object.
    pub fn params(&self, params: Option<&RawJson>, extra: &Meta) -> Result<RawJson, NotAnObject> {
        let text = self.params_text(params, extra)?;
        // Valid JSON members, joined into an object, are valid JSON.
        Ok(checked_raw_box(text).into())
    }

    fn params_text(&self, params: Option<&RawJson>, extra: &Meta) -> Result<String, NotAnObject> {
        let params = params.filter(|params| !params.is_null());
        let text = params.map_or("{}", |params| params.get().trim());
        let inside = text
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'))
            .ok_or(NotAnObject::Params)?;
        if may_name_meta(inside) {
            let mut members: IndexMap<String, &RawValue> =
                serde_json::from_str(text).map_err(|_| NotAnObject::Params)?;
            if let Some(meta) = members.shift_remove("_meta") {
                let caller_meta =
                    serde_json::from_str(meta.get()).map_err(|_| NotAnObject::Meta)?;
                return Ok(self.with_own_meta(&members, &caller_meta, extra));
            }
        }
        Ok(self.without_own_meta(inside, extra))
    }

    /// Copies parameters without metadata into a text that is allocated once. This is the common case.
    fn without_own_meta(&self, inside: &str, extra: &Meta) -> String {
        let inside = inside.trim();
        let meta = || self.allowed(extra.iter());
        let entries: usize = meta().map(|(key, value)| entry_length(key, value)).sum();
        let own = self.own.len() + usize::from(!self.own.is_empty());
        if entries + own == 0 {
            return ["{", inside, "}"].concat();
        }
        // Each entry counts with a comma behind it. The last one has none.
        let meta_length = "\"_meta\":{}".len() + entries + own - 1;
        let comma = usize::from(!inside.is_empty());
        let capacity = "{}".len() + inside.len() + comma + meta_length;
        let mut output = String::with_capacity(capacity);
        output.push('{');
        output.push_str(inside);
        self.write_meta(&mut output, meta());
        output.push('}');
        output
    }

    /// Merges the metadata in the parameters. This case is rare.
    fn with_own_meta(
        &self,
        members: &IndexMap<String, &RawValue>,
        caller_meta: &Meta,
        extra: &Meta,
    ) -> String {
        let mut output = String::from("{");
        for (name, value) in members {
            write_entry(&mut output, name, value.get());
        }
        let caller_meta = caller_meta
            .iter()
            .filter(|(key, _)| !extra.contains_key(key));
        let mut meta = self.allowed(caller_meta.chain(extra.iter())).peekable();
        if meta.peek().is_some() || !self.own.is_empty() {
            self.write_meta(&mut output, meta);
        }
        output.push('}');
        output
    }

    /// Returns the entries that a caller may set.
    fn allowed<'a>(
        &self,
        entries: impl Iterator<Item = (&'a str, &'a RawJson)>,
    ) -> impl Iterator<Item = (&'a str, &'a RawJson)> {
        let reserved = self.reserved;
        entries.filter(move |(key, _)| !reserved.contains(key))
    }

    fn write_meta<'a>(
        &self,
        output: &mut String,
        entries: impl Iterator<Item = (&'a str, &'a RawJson)>,
    ) {
        separate(output);
        output.push_str("\"_meta\":{");
        for (key, value) in entries {
            write_entry(output, key, value.get());
        }
        if !self.own.is_empty() {
            separate(output);
            output.push_str(&self.own);
        }
        output.push('}');
    }
}

/// Returns `false` if no name in the text can be `_meta`, neither plain nor with escapes, which all begin with `\u`.
pub(crate) fn may_name_meta(text: &str) -> bool {
    // Both begin with a byte that is rare in parameters.
    let contains = |first: u8, rest: &[u8]| {
        let mut found = memchr::memchr_iter(first, text.as_bytes());
        found.any(|at| text.as_bytes()[at + 1..].starts_with(rest))
    };
    contains(b'_', b"meta") || contains(b'\\', b"u")
}

/// Returns the length of an entry with the comma behind it. The entry is longer if its key needs escapes.
fn entry_length(key: &str, value: &RawJson) -> usize {
    "\"\":,".len() + key.len() + value.get().len()
}

fn write_entry(output: &mut String, key: &str, value: &str) {
    separate(output);
    let plain = |byte: u8| !matches!(byte, b'"' | b'\\' | 0..=0x1F);
    if key.bytes().all(plain) {
        output.push('"');
        output.push_str(key);
        output.push('"');
    } else {
        output.push_str(&serde_json::to_string(key).expect("a string is always JSON"));
    }
    output.push(':');
    output.push_str(value);
}

/// Writes the comma between two members. The first member follows the brace.
fn separate(output: &mut String) {
    if !output.ends_with('{') {
        output.push(',');
    }
}

/// Parameters that cannot contain metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "metadata needs exactly these two objects"
)]
pub enum NotAnObject {
    /// The parameters are not an object.
    Params,
    /// The `_meta` in the parameters is not an object.
    Meta,
}

impl fmt::Display for NotAnObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Params => "the parameters of a request must be a JSON object",
            Self::Meta => "`_meta` in the parameters of a request must be a JSON object",
        })
    }
}

impl std::error::Error for NotAnObject {}

#[cfg(test)]
mod tests;
