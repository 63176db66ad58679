//! The grammars of `tracestate` and `baggage`: comma-separated lists of entries.

use toolwire_types::meta_key;

use crate::trace_context::{
    BAGGAGE_BYTES, BAGGAGE_ENTRIES, InvalidTraceContext, TRACESTATE_BYTES, TRACESTATE_ENTRIES,
};

/// The white space that may surround the parts of a list.
const SPACE: [char; 2] = [' ', '\t'];

/// Checks W3C Trace Context, "tracestate Header": `key=value` entries, some of which may be empty.
pub(super) fn check_tracestate(text: &str) -> Result<(), InvalidTraceContext> {
    let reject = |reason| Err(InvalidTraceContext::new(meta_key::TRACESTATE, reason));
    if text.len() > TRACESTATE_BYTES {
        return reject("it is longer than 512 bytes");
    }
    let entries = text.split(',').map(|entry| entry.trim_matches(SPACE));
    let mut count = 0;
    for entry in entries.filter(|entry| !entry.is_empty()) {
        count += 1;
        if !is_state_entry(entry) {
            return reject("its entries must be of the form key=value");
        }
    }
    match count {
        0 => reject("it has no entries"),
        1..=TRACESTATE_ENTRIES => Ok(()),
        _ => reject("it has more than 32 entries"),
    }
}

fn is_state_entry(entry: &str) -> bool {
    let Some((key, value)) = entry.split_once('=') else {
        return false;
    };
    let in_key =
        |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    // A key may have the form `tenant@system`. How each part starts is left to the vendor.
    let is_key = (1..=256).contains(&key.len())
        && key.bytes().all(in_key)
        && key.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && key.matches('@').count() <= 1;
    let in_value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
    is_key && (1..=256).contains(&value.len()) && value.bytes().all(in_value)
}

/// Checks W3C Baggage, "Header Content": `key=value` entries, each with properties behind semicolons.
pub(super) fn check_baggage(text: &str) -> Result<(), InvalidTraceContext> {
    let reject = |reason| Err(InvalidTraceContext::new(meta_key::BAGGAGE, reason));
    if text.len() > BAGGAGE_BYTES {
        return reject("it is longer than 8192 bytes");
    }
    if text.split(',').count() > BAGGAGE_ENTRIES {
        return reject("it has more than 64 entries");
    }
    if !text.split(',').all(is_baggage_entry) {
        return reject("its entries must be of the form key=value or key=value;property");
    }
    Ok(())
}

fn is_baggage_entry(entry: &str) -> bool {
    let mut parts = entry.split(';');
    let has_value = parts.next().is_some_and(is_pair);
    let is_property = |part: &str| is_pair(part) || is_token(part.trim_matches(SPACE));
    has_value && parts.all(is_property)
}

fn is_pair(part: &str) -> bool {
    let Some((key, value)) = part.split_once('=') else {
        return false;
    };
    let in_value = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
    is_token(key.trim_matches(SPACE)) && value.trim_matches(SPACE).bytes().all(in_value)
}

/// Checks for an RFC 9110 "token".
fn is_token(text: &str) -> bool {
    let in_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(in_token)
}
