//! Parser of one JSON-RPC message from untrusted bytes, in one forward pass.
//!
//! The parser is stricter than serde: it rejects a repeated member name in an object, nesting beyond the limit and lone
//! surrogates. It classifies a message by the members that are present. The pass uses an explicit stack, so no input
//! can exhaust the thread's stack. Text that it accepts is also accepted by `serde_json` later. [`crate::framing`]
//! removes a byte order mark and splits the stream into messages.

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
pub(crate) mod walk;

use toolwire_types::json::checked_raw;
use toolwire_types::{ErrorObject, RequestId};

use crate::envelope::{Envelope, MalformedMessage};

pub use self::head::id_in_head;
pub use self::line_separators::escape_line_separators;
pub use self::salvage::salvage_id;

use self::pass::{Document, Parsed, Stop};
pub(crate) use self::text::string_value;

/// The limits of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of open containers. At most 127, the limit of `serde_json`.
    pub depth: usize,
    /// The maximum length of a string id in bytes, after unescaping.
    pub id_bytes: usize,
    /// The maximum number of messages in one batch.
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

/// Parses and classifies one message.
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
/// Returns an error if the bytes are not a message. The id in the error is safe to echo: it is absent if the bytes look
/// like a response, whose id belongs to the receiver. A client calls [`salvage_id`] to find the call of an invalid
/// response.
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

/// Returns the elements of a batch. Repeated names inside an element are reported when the element is parsed, because
/// they concern its id.
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
