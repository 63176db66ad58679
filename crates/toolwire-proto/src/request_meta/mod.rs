//! The `_meta` of a client's requests: what the caller adds, and what a modern revision requires.
//!
//! Since 2026-07-28 every request repeats who speaks, in which version and with which capabilities. These members are
//! encoded once per connection and copied as text into each request; parameters are copied too and never decoded.
//! Whether a key is well formed is judged in [`crate::meta_keys`].

use std::fmt;

use indexmap::IndexMap;
use serde_json::value::RawValue;
use toolwire_types::json::checked_raw_box;
use toolwire_types::{
    ClientCapabilities, Implementation, Meta, ProtocolVersion, RawJson, meta_key,
};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target};

/// The capabilities as a revision can express them: what it does not know is left out.
///
/// A client whose only elicitation is by URL has none in 2025-06-18, where every elicitation is a form.
#[must_use]
pub fn capabilities_for(
    version: ProtocolVersion,
    capabilities: &ClientCapabilities,
) -> ClientCapabilities {
    let mut capabilities = capabilities.clone();
    capabilities.stamp(&Target::new(version));
    capabilities
}

/// What one connection writes into the `_meta` of its requests.
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
    /// The members of the protocol as the inside of an object; empty in legacy revisions.
    own: String,
    /// The keys that callers cannot set.
    reserved: &'static [&'static str],
}

/// Spec 2026-07-28, basic, "_meta": what every request carries, and the level that replaced `logging/setLevel`.
const MODERN_KEYS: &[&str] = &[
    meta_key::PROTOCOL_VERSION,
    meta_key::CLIENT_CAPABILITIES,
    meta_key::CLIENT_INFO,
    meta_key::LOG_LEVEL,
];

impl RequestMeta {
    /// Encodes the members every request of a connection has; in legacy revisions there are none.
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
        // Without a name of its own the connection leaves the member to the caller, who may speak for somebody else.
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

    /// The revision the requests are written in.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The parameters of a request with all of its metadata.
    ///
    /// Metadata in the parameters yields to `extra`, and both yield to the members of the protocol. Members of modern
    /// revisions are not written in legacy ones. An empty `_meta` is left out; `null` parameters count as none.
    ///
    /// # Errors
    /// When the parameters or their `_meta` are no object.
    pub fn params(&self, params: Option<&RawJson>, extra: &Meta) -> Result<RawJson, NotAnObject> {
        let text = self.params_text(params, extra)?;
        // Members that were read or written as JSON, joined into an object, are JSON.
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
                let given = serde_json::from_str(meta.get()).map_err(|_| NotAnObject::Meta)?;
                return Ok(self.with_own_meta(&members, &given, extra));
            }
        }
        Ok(self.without_own_meta(inside, extra))
    }

    /// The common case: parameters that are copied as they are, into a text allocated once.
    fn without_own_meta(&self, inside: &str, extra: &Meta) -> String {
        let inside = inside.trim();
        let meta = || self.allowed(extra.iter());
        let entries: usize = meta().map(|(key, value)| entry_length(key, value)).sum();
        let own = self.own.len() + usize::from(!self.own.is_empty());
        if entries + own == 0 {
            return ["{", inside, "}"].concat();
        }
        // Entries count with the comma behind them, of which the last has none.
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

    /// The rare case: the parameters bring metadata of their own.
    fn with_own_meta(
        &self,
        members: &IndexMap<String, &RawValue>,
        given: &Meta,
        extra: &Meta,
    ) -> String {
        let mut output = String::from("{");
        for (name, value) in members {
            write_entry(&mut output, name, value.get());
        }
        let given = given.iter().filter(|(key, _)| !extra.contains_key(key));
        let mut meta = self.allowed(given.chain(extra.iter())).peekable();
        if meta.peek().is_some() || !self.own.is_empty() {
            self.write_meta(&mut output, meta);
        }
        output.push('}');
        output
    }

    /// The entries a caller may set.
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

/// False when no name in the text can be `_meta`: neither written plainly nor with escapes, which all begin with `\u`.
fn may_name_meta(text: &str) -> bool {
    // Both begin with a byte that is rare in parameters.
    let contains = |first: u8, rest: &[u8]| {
        let mut found = memchr::memchr_iter(first, text.as_bytes());
        found.any(|at| text.as_bytes()[at + 1..].starts_with(rest))
    };
    contains(b'_', b"meta") || contains(b'\\', b"u")
}

/// How long an entry becomes, with the comma behind it; longer when its key needs escapes.
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

/// Writes the comma between two members; the first of an object follows its brace.
fn separate(output: &mut String) {
    if !output.ends_with('{') {
        output.push(',');
    }
}

/// Parameters that cannot carry metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "these are the two objects metadata needs"
)]
pub enum NotAnObject {
    /// The parameters are something else than an object.
    Params,
    /// The parameters have a `_meta` that is something else than an object.
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
