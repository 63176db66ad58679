//! W3C trace context in `_meta`: parsing a peer's context, and writing the caller's.
//!
//! The three keys have no prefix and are never renamed. Values from a peer are untrusted: those that violate the
//! grammar or are too long are dropped, and the request continues without them. This module does not start a trace.
//! Spec 2026-07-28, basic, "_meta", and SEP-414. Earlier revisions may use the same keys.

mod lists;

use std::fmt;

use toolwire_types::{Meta, RawJson, meta_key};

/// The maximum length of a `tracestate` in bytes, which W3C Trace Context requires to propagate.
pub const TRACESTATE_BYTES: usize = 512;
/// The maximum number of entries of a `tracestate`.
pub const TRACESTATE_ENTRIES: usize = 32;
/// The maximum length of a `baggage` in bytes, which W3C Baggage requires to propagate.
pub const BAGGAGE_BYTES: usize = 8192;
/// The maximum number of entries of a `baggage`.
pub const BAGGAGE_ENTRIES: usize = 64;

/// The length of a `traceparent` of version 00.
const TRACEPARENT_BYTES: usize = 55;
/// The maximum length of a `traceparent` of a later version.
const LATER_TRACEPARENT_BYTES: usize = 256;

/// The trace that a request belongs to.
///
/// ```
/// use toolwire_proto::trace_context::TraceContext;
/// use toolwire_types::Meta;
///
/// let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context = TraceContext::new(parent).unwrap();
/// assert_eq!(context.trace_id(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
///
/// let mut meta = Meta::new();
/// context.to_meta(&mut meta);
/// assert_eq!(TraceContext::from_meta(&meta), context);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: Option<String>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

impl TraceContext {
    /// Creates the context of a span from a `traceparent`. For baggage without a span, start with `default()`.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid `traceparent`.
    pub fn new(traceparent: impl Into<String>) -> Result<Self, InvalidTraceContext> {
        let traceparent = traceparent.into();
        check_traceparent(&traceparent)?;
        Ok(Self {
            traceparent: Some(traceparent),
            ..Self::default()
        })
    }

    /// Adds the vendors' state.
    ///
    /// # Errors
    /// Returns an error if the text is not a valid `tracestate` or too long, or if there is no `traceparent`.
    pub fn with_tracestate(
        mut self,
        tracestate: impl Into<String>,
    ) -> Result<Self, InvalidTraceContext> {
        let tracestate = tracestate.into();
        if self.traceparent.is_none() {
            return Err(InvalidTraceContext::new(
                meta_key::TRACESTATE,
                "it requires a traceparent",
            ));
        }
        lists::check_tracestate(&tracestate)?;
        self.tracestate = Some(tracestate);
        Ok(self)
    }

    /// Adds baggage.
    ///
    /// # Errors
    /// Returns an error if the text is not valid `baggage` or too long.
    pub fn with_baggage(mut self, baggage: impl Into<String>) -> Result<Self, InvalidTraceContext> {
        let baggage = baggage.into();
        lists::check_baggage(&baggage)?;
        self.baggage = Some(baggage);
        Ok(self)
    }

    /// Parses the context from metadata. Malformed values count as absent.
    #[must_use]
    pub fn from_meta(meta: &Meta) -> Self {
        // The text is checked first, so that huge values are not copied and then dropped.
        let text = |key: &str, limit: usize| -> Option<String> {
            let escaped = limit.saturating_mul("\\u0000".len());
            let raw = meta.get(key)?;
            (raw.get().len() <= escaped).then(|| raw.parse().ok())?
        };
        let parent = text(meta_key::TRACEPARENT, LATER_TRACEPARENT_BYTES);
        let mut context = parent
            .and_then(|parent| Self::new(parent).ok())
            .unwrap_or_default();
        // W3C Trace Context: without a valid traceparent, tracestate is ignored, too.
        context.tracestate = text(meta_key::TRACESTATE, TRACESTATE_BYTES).filter(|state| {
            context.traceparent.is_some() && lists::check_tracestate(state).is_ok()
        });
        context.baggage = text(meta_key::BAGGAGE, BAGGAGE_BYTES)
            .filter(|baggage| lists::check_baggage(baggage).is_ok());
        context
    }

    /// Writes the context into metadata. Keys of absent values are unchanged.
    pub fn to_meta(&self, meta: &mut Meta) {
        let entries = [
            (meta_key::TRACEPARENT, &self.traceparent),
            (meta_key::TRACESTATE, &self.tracestate),
            (meta_key::BAGGAGE, &self.baggage),
        ];
        for (key, value) in entries {
            if let Some(value) = value {
                let value = RawJson::from_serialize(value).expect("a string is always JSON");
                meta.insert(key, value);
            }
        }
    }

    /// Returns `true` if the context has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the parent span, as on the wire.
    #[must_use]
    pub fn traceparent(&self) -> Option<&str> {
        self.traceparent.as_deref()
    }

    /// Returns the vendors' state.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// Returns the baggage.
    #[must_use]
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// Returns the id of the trace: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> Option<&str> {
        self.traceparent().map(|parent| &parent[3..35])
    }

    /// Returns the id of the parent span: 16 hexadecimal digits.
    #[must_use]
    pub fn parent_id(&self) -> Option<&str> {
        self.traceparent().map(|parent| &parent[36..52])
    }

    /// Returns `true` if the caller may have recorded the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        let flags = self.traceparent().map(|parent| &parent[53..55]);
        flags.is_some_and(|flags| u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1))
    }
}

/// Checks W3C Trace Context, "traceparent Header": `version-trace id-parent id-flags`, lower case, ids not all zero.
///
/// Later versions start the same way and may continue after another dash.
fn check_traceparent(text: &str) -> Result<(), InvalidTraceContext> {
    let reject = |reason| Err(InvalidTraceContext::new(meta_key::TRACEPARENT, reason));
    let shape = b"xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    let bytes = text.as_bytes();
    let fits = |(byte, expected): (&u8, &u8)| match expected {
        b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        _ => byte == expected,
    };
    if bytes.len() < TRACEPARENT_BYTES || !bytes.iter().zip(shape).all(fits) {
        return reject(
            "it must be 2, 32, 16 and 2 lower-case hexadecimal digits with dashes between them",
        );
    }
    let later = &bytes[TRACEPARENT_BYTES..];
    match &text[..2] {
        "ff" => return reject("the version ff does not exist"),
        "00" if !later.is_empty() => return reject("it has 55 characters in version 00"),
        _ if later.first().is_some_and(|&byte| byte != b'-') => {
            return reject("a dash must follow the flags");
        }
        _ => {}
    }
    let is_printable = later.iter().all(|byte| byte.is_ascii_graphic());
    if bytes.len() > LATER_TRACEPARENT_BYTES || !is_printable {
        return reject("the text after the flags is too long or not printable");
    }
    let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
    if is_zero(&text[3..35]) || is_zero(&text[36..52]) {
        return reject("the ids must not be all zeros");
    }
    Ok(())
}

/// A part of a trace context that violates its grammar or its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidTraceContext {
    /// The key of the part.
    pub key: &'static str,
    /// The problem with the part.
    pub reason: &'static str,
}

impl InvalidTraceContext {
    fn new(key: &'static str, reason: &'static str) -> Self {
        Self { key, reason }
    }
}

impl fmt::Display for InvalidTraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is invalid: {}", self.key, self.reason)
    }
}

impl std::error::Error for InvalidTraceContext {}

#[cfg(test)]
mod tests;
