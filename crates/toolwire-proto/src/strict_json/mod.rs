//! Reads one JSON-RPC message from untrusted bytes, in one forward pass.
//!
//! Stricter than serde: a member name that appears twice in an object, nesting beyond the limit and lone surrogates are
//! refused, and a message is classified by which members are present. The pass keeps its own stack, so no input can
//! exhaust the thread's. What it accepts, `serde_json` accepts later. Removing a byte order mark and splitting the
//! stream into messages is the work of [`crate::framing`].

mod classify;
mod cursor;
mod head;
mod line_separators;
mod members;
mod names;
mod pass;
mod salvage;
#[cfg(test)]
mod tests;
mod text;

use toolwire_types::json::checked_raw;
use toolwire_types::{ErrorObject, RequestId};

use crate::envelope::{Envelope, MalformedMessage};

pub use self::head::id_in_head;
pub use self::line_separators::escape_line_separators;
pub use self::salvage::salvage_id;

use self::pass::{Document, Parsed, Stop};
pub(crate) use self::text::string_value;

/// How large the parts of a message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many containers may be open at once; never more than 127, where `serde_json` stops.
    pub depth: usize,
    /// The longest string id, in bytes after unescaping.
    pub id_bytes: usize,
    /// The most messages in one batch.
    pub batch_messages: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 127,
            id_bytes: 1024,
            batch_messages: 1024,
        }
    }
}

/// Reads and classifies one message.
///
/// ```
/// use toolwire_proto::envelope::Envelope;
/// use toolwire_proto::strict_json::{Limits, read};
///
/// let message = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// let Ok(Envelope::Request(request)) = read(message, &Limits::default()) else {
///     panic!("it has a method and an id");
/// };
/// assert_eq!(request.method, "ping");
/// ```
///
/// # Errors
/// When the bytes are no message. The id in the error is safe to echo: it is absent when the bytes look like a
/// response, whose id belongs to the receiver. A client that wants to know which of its calls was answered badly asks
/// [`salvage_id`].
pub fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Envelope<'a>, MalformedMessage> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| malformed(format!("not UTF-8 from byte {}", error.valid_up_to())))?;
    let mut parsed = Parsed::default();
    pass::run(text, limits, &mut parsed).map_err(|stop| match stop {
        Stop::Malformed { at } => malformed(format!("not JSON from byte {at}")),
        Stop::TooDeep => invalid("nested too deeply", salvage::id_to_echo(text, limits)),
        Stop::TooManyElements => invalid("too many messages in one batch", None),
    })?;
    match parsed.document {
        Document::Object => classify::classify(&parsed.members, parsed.has_repeated_names, limits),
        Document::Array => batch(&parsed.elements),
        Document::Scalar => Err(invalid("a message is a JSON object", None)),
    }
}

/// Repeated names inside an element are left for the element's own reading: they concern its id, not the batch.
#[cold]
fn batch<'a>(elements: &[&'a str]) -> Result<Envelope<'a>, MalformedMessage> {
    if elements.is_empty() {
        return Err(invalid("an empty batch", None));
    }
    let messages = elements.iter().map(|element| checked_raw(element));
    Ok(Envelope::Batch(messages.collect()))
}

#[cold]
fn malformed(message: impl Into<std::borrow::Cow<'static, str>>) -> MalformedMessage {
    MalformedMessage {
        error: ErrorObject::parse_error(message),
        id: None,
    }
}

#[cold]
fn invalid(message: &'static str, id: Option<RequestId>) -> MalformedMessage {
    MalformedMessage {
        error: ErrorObject::invalid_request(message),
        id,
    }
}
