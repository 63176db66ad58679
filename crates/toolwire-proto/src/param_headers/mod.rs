//! `x-mcp-header`: tool arguments that also travel as `Mcp-Param-*` headers.
//!
//! [`validate`] reads the annotations of an input schema once, when a tool is registered or listed. With them a client
//! [`mirror`]s the arguments of a call into headers, and a server [`check`]s that headers and body say the same: a
//! gateway may have routed on the one while the server acts on the other. Whether arguments fit their schema is checked
//! elsewhere; here a value is compared as what it is, not as what it was declared to be.

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

/// The largest whole number a header may carry, in either direction; what JavaScript keeps exact.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// One annotated property of an input schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamHeader {
    /// The whole header name, `Mcp-Param-` included.
    pub header: String,
    /// The property names that lead to the value.
    pub path: Vec<String>,
    /// The declared type of the value.
    pub kind: ParamKind,
}

/// The types a mirrored argument can be declared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the spec allows these three types only"
)]
pub enum ParamKind {
    /// A whole number that every JSON reader keeps exact.
    Integer,
    /// Text.
    String,
    /// `true` or `false`.
    Boolean,
}

/// The headers a client sends with a call, names and encoded values; null and absent arguments have none.
///
/// # Errors
/// When an annotated argument is something no header can say: a fraction, an integer beyond ±(2^53−1), an object or an
/// array.
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

/// Checks on the server that the headers of a call say what its arguments say.
///
/// `lookup` is asked for each annotated header by its whole name and must ignore case; other headers do not matter.
///
/// # Errors
/// The first header that is missing, repeated, unreadable, different, or there although the argument is null or absent.
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

/// What a request holds under one header name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a header is absent, readable once, unreadable or repeated"
)]
pub enum HeaderLookup<'h> {
    /// No such header.
    Absent,
    /// One header with this value, still encoded.
    One(&'h str),
    /// One header whose value is not even text.
    Unreadable,
    /// The header came more than once.
    Repeated,
}

/// A header and the body disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "which header, and what is wrong with it"
)]
pub struct HeaderMismatch {
    /// The whole name of the header.
    pub header: String,
    /// What is wrong with it.
    pub reason: MismatchReason,
}

/// How a header disagrees with the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MismatchReason {
    /// The body has the value, the header is not there.
    Missing,
    /// The header is there, the body has no value.
    Unexpected,
    /// The header came more than once.
    Repeated,
    /// The header's value cannot be decoded.
    Undecodable,
    /// The two values differ.
    Different,
    /// The body's value is none a header can say.
    Incomparable,
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values stay out of the message: they may be personal and would end up in logs.
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

/// An argument that is annotated, but that no header can say.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it names the argument")]
pub struct UnmirrorableArgument {
    /// The property names that lead to the argument, joined by dots; empty when it is the arguments as a whole.
    pub path: String,
}

impl fmt::Display for UnmirrorableArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str("the arguments cannot be read"),
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

/// The value at the end of a path of property names; `null` counts as absent.
fn value_at<'v>(arguments: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter()
        .try_fold(arguments, |value, name| value.as_object()?.get(name))
        .filter(|value| !value.is_null())
}

/// How a value reads in a header before encoding; nothing for what a header cannot say.
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
    // The JSON reader skips white space around a number; in a header it would be a difference.
    if text.contains(|c: char| c.is_ascii_whitespace()) {
        return None;
    }
    safe_integer(&serde_json::from_str(text).ok()?)
}
