//! `x-mcp-header`: tool arguments that are also sent as `Mcp-Param-*` headers.
//!
//! [`validate`] reads the annotations of an input schema once, when a tool is registered or listed. A client then
//! [`mirror`]s the arguments of a call into headers. A server [`check`]s that headers and body agree, because a gateway
//! may route by the headers while the server uses the body. This module does not check arguments against their schema.
//! It compares values by their actual type, not by the declared type.

mod annotations;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Number, Value};
use toolwire_types::{ErrorObject, RawJson, code};

pub use annotations::{
    InvalidParamHeader, MAX_PARAM_HEADERS, collect, invalid_name_reason, top_level, validate,
};

use crate::header_value;

/// The largest absolute value of an integer in a header, which JavaScript represents exactly.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// One annotated property of an input schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamHeader {
    /// The full header name, including `Mcp-Param-`.
    pub header: String,
    /// The property names of the path to the value.
    pub path: Vec<String>,
    /// The declared type of the value.
    pub kind: ParamKind,
}

/// The declared type of a mirrored argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification permits only these three types"
)]
pub enum ParamKind {
    /// An integer that every JSON parser represents exactly.
    Integer,
    /// Text.
    String,
    /// `true` or `false`.
    Boolean,
}

/// Returns the headers that a client sends with a call, as names and encoded values. Null and absent arguments have
/// none.
///
/// # Errors
/// Returns an error if a header cannot contain an annotated argument: a fraction, an integer beyond ±(2^53−1), an
/// object or an array.
pub fn mirror(
    headers: &[ParamHeader],
    arguments: &RawJson,
) -> Result<Vec<(String, String)>, UnmirrorableArgument> {
    if headers.is_empty() {
        return Ok(Vec::new());
    }
    let arguments = arguments.to_value().map_err(|_| UnmirrorableArgument {
        path: String::new(),
    })?;
    let mut mirrored = Vec::with_capacity(headers.len());
    for header in headers {
        let Some(value) = value_at(&arguments, &header.path) else {
            continue;
        };
        let text = header_text(value).ok_or_else(|| UnmirrorableArgument {
            path: header.path.join("."),
        })?;
        let encoded = header_value::encode(&text).into_owned();
        mirrored.push((header.header.clone(), encoded));
    }
    Ok(mirrored)
}

/// Checks on the server that the headers of a call match its arguments.
///
/// `lookup` is called with the full name of each annotated header and must ignore case. Other headers are ignored.
///
/// # Errors
/// Returns the first header that is missing, repeated, malformed or different, or present although the argument is null
/// or absent.
pub fn check<'h>(
    headers: &[ParamHeader],
    arguments: Option<&RawValue>,
    lookup: impl Fn(&str) -> HeaderLookup<'h>,
) -> Result<(), HeaderMismatch> {
    if headers.is_empty() {
        return Ok(());
    }
    let arguments = match arguments {
        None => Some(Value::Null),
        Some(raw) => serde_json::from_str(raw.get()).ok(),
    };
    for header in headers {
        let outcome = match &arguments {
            Some(arguments) => check_one(value_at(arguments, &header.path), lookup(&header.header)),
            None => Err(MismatchReason::Incomparable),
        };
        outcome.map_err(|reason| HeaderMismatch {
            header: header.header.clone(),
            reason,
        })?;
    }
    Ok(())
}

/// The values that a request has for one header name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a header is absent, valid, not text or repeated"
)]
pub enum HeaderLookup<'h> {
    /// No such header.
    Absent,
    /// One header with this value, still encoded.
    One(&'h str),
    /// One header whose value is not text.
    Unreadable,
    /// The header occurs more than once.
    Repeated,
}

/// A header that does not match the body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the header and the mismatch")]
pub struct HeaderMismatch {
    /// The full name of the header.
    pub header: String,
    /// The kind of mismatch.
    pub reason: MismatchReason,
}

/// How a header differs from the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchReason {
    /// The body has a value, and the header is missing.
    Missing,
    /// The header is present, and the body has no value.
    Unexpected,
    /// The header occurs more than once.
    Repeated,
    /// The header's value cannot be decoded.
    Undecodable,
    /// The values differ.
    Different,
    /// A header cannot contain the value of the body.
    Incomparable,
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message does not contain the values: they may be personal, and the message may be logged.
        let reason = match self.reason {
            MismatchReason::Missing => "is missing although the body has a value for it",
            MismatchReason::Unexpected => "is present although the body has no value for it",
            MismatchReason::Repeated => "is repeated",
            MismatchReason::Undecodable => "cannot be decoded",
            MismatchReason::Different => "differs from the body",
            MismatchReason::Incomparable => "cannot match the value in the body",
        };
        write!(f, "header mismatch: {} {reason}", self.header)
    }
}

impl std::error::Error for HeaderMismatch {}

impl From<HeaderMismatch> for ErrorObject {
    fn from(mismatch: HeaderMismatch) -> Self {
        Self::new(code::HEADER_MISMATCH, mismatch.to_string())
    }
}

/// An annotated argument that a header cannot contain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the error only names the argument"
)]
pub struct UnmirrorableArgument {
    /// The property names of the path to the argument, joined by dots. Empty for the arguments as a whole.
    pub path: String,
}

impl fmt::Display for UnmirrorableArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str("the arguments are not valid JSON"),
            path => write!(
                f,
                "argument `{path}` must be a string, a boolean or a safe integer to be sent as a header"
            ),
        }
    }
}

impl std::error::Error for UnmirrorableArgument {}

impl From<UnmirrorableArgument> for ErrorObject {
    fn from(argument: UnmirrorableArgument) -> Self {
        Self::new(code::HEADER_MISMATCH, argument.to_string())
    }
}

fn check_one(value: Option<&Value>, lookup: HeaderLookup<'_>) -> Result<(), MismatchReason> {
    let encoded = match (value, lookup) {
        (_, HeaderLookup::Repeated) => return Err(MismatchReason::Repeated),
        (_, HeaderLookup::Unreadable) => return Err(MismatchReason::Undecodable),
        (None, HeaderLookup::Absent) => return Ok(()),
        (None, HeaderLookup::One(_)) => return Err(MismatchReason::Unexpected),
        (Some(_), HeaderLookup::Absent) => return Err(MismatchReason::Missing),
        (Some(_), HeaderLookup::One(encoded)) => encoded,
    };
    let decoded = header_value::decode(encoded).map_err(|_| MismatchReason::Undecodable)?;
    let equal = match value {
        // Spec 2026-07-28, transports/streamable-http, "Server Validation": 42.0 and 42 are equal.
        Some(Value::Number(number)) => {
            let body = safe_integer(number).ok_or(MismatchReason::Incomparable)?;
            parse_safe_integer(&decoded) == Some(body)
        }
        Some(value) => header_text(value).ok_or(MismatchReason::Incomparable)? == decoded,
        None => false,
    };
    if equal {
        Ok(())
    } else {
        Err(MismatchReason::Different)
    }
}

/// Returns the value at a path of property names. `null` counts as absent.
fn value_at<'v>(arguments: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter()
        .try_fold(arguments, |value, name| value.as_object()?.get(name))
        .filter(|value| !value.is_null())
}

/// Returns the text of a value in a header before encoding. Returns `None` if a header cannot contain the value.
fn header_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::Number(number) => Some(Cow::Owned(safe_integer(number)?.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn safe_integer(number: &Number) -> Option<i64> {
    if let Some(integer) = number.as_i64() {
        return (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER)
            .contains(&integer)
            .then_some(integer);
    }
    let float = number.as_f64()?;
    let whole = float.fract() == 0.0 && float.abs() <= MAX_SAFE_INTEGER as f64;
    whole.then_some(float as i64)
}

fn parse_safe_integer(text: &str) -> Option<i64> {
    // The JSON parser skips white space around a number. In a header it is a difference.
    if text.contains(|c: char| c.is_ascii_whitespace()) {
        return None;
    }
    safe_integer(&serde_json::from_str(text).ok()?)
}
