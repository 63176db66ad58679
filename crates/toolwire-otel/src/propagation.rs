//! W3C trace context and baggage: from `_meta` and HTTP headers into a [`Context`], and back.
//!
//! `_meta` has exactly these three keys (SEP-414), so the propagator of the program is not used. [`TraceContext`] has
//! checked the grammar and the lengths.

use std::str::FromStr as _;

use opentelemetry::Context;
use opentelemetry::baggage::{BaggageExt as _, KeyValueMetadata};
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use toolwire::TraceContext;

/// Which parts of a context are read and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Propagators {
    /// `traceparent` and `tracestate`.
    pub(crate) trace_context: bool,
    pub(crate) baggage: bool,
}

impl Propagators {
    pub(crate) const ALL: Self = Self {
        trace_context: true,
        baggage: true,
    };

    /// Returns the remote span of a trace context.
    pub(crate) fn span_context(self, trace: &TraceContext) -> Option<SpanContext> {
        self.trace_context.then(|| span_context(trace)).flatten()
    }

    /// Adds the baggage of a trace context to a context.
    pub(crate) fn with_baggage(self, context: Context, trace: &TraceContext) -> Context {
        if self.baggage {
            with_baggage(context, trace)
        } else {
            context
        }
    }

    /// Returns the trace context of the current span and baggage of a context.
    pub(crate) fn trace_context(self, context: &Context) -> TraceContext {
        let mut trace = TraceContext::default();
        if self.trace_context {
            trace = with_span(trace, context);
        }
        if self.baggage {
            trace = with_sent_baggage(trace, context);
        }
        trace
    }
}

/// Returns the remote span of a trace context.
fn span_context(trace: &TraceContext) -> Option<SpanContext> {
    let flags = TraceFlags::default().with_sampled(trace.is_sampled());
    let state = trace.tracestate().map(TraceState::from_str);
    let span = SpanContext::new(
        TraceId::from_hex(trace.trace_id()?).ok()?,
        SpanId::from_hex(trace.parent_id()?).ok()?,
        flags,
        true,
        state.and_then(Result::ok).unwrap_or_default(),
    );
    span.is_valid().then_some(span)
}

/// Adds the baggage of a trace context to a context.
fn with_baggage(context: Context, trace: &TraceContext) -> Context {
    let Some(baggage) = trace.baggage() else {
        return context;
    };
    let entries = baggage.split(',').filter_map(|entry| {
        let (entry, metadata) = entry.split_once(';').unwrap_or((entry, ""));
        let (key, value) = entry.split_once('=')?;
        let value = percent_decoded(value.trim())?;
        Some(KeyValueMetadata::new(
            key.trim().to_owned(),
            value,
            metadata.trim(),
        ))
    });
    context.with_baggage(entries)
}

/// Sets the current span of a context.
fn with_span(trace: TraceContext, context: &Context) -> TraceContext {
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() {
        return trace;
    }
    let flags = span.trace_flags().to_u8() & TraceFlags::SAMPLED.to_u8();
    let parent = format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id());
    let trace = TraceContext::new(parent).unwrap_or_default();
    let state = span.trace_state().header();
    if !state.is_empty()
        && let Ok(with_state) = trace.clone().with_tracestate(state)
    {
        return with_state;
    }
    trace
}

/// Adds the baggage of a context. Baggage that is too long is not sent.
fn with_sent_baggage(trace: TraceContext, context: &Context) -> TraceContext {
    let baggage = context.baggage();
    if !baggage.is_empty() {
        let entries = baggage.iter().map(|(key, (value, metadata))| {
            let value = percent_encoded(value.as_str());
            match metadata.as_str() {
                "" => format!("{key}={value}"),
                metadata => format!("{key}={value};{metadata}"),
            }
        });
        let entries: Vec<String> = entries.collect();
        if let Ok(with_baggage) = trace.clone().with_baggage(entries.join(",")) {
            return with_baggage;
        }
    }
    trace
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"\",;\\%".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, following)) = rest.split_first() {
        let digits = (*byte == b'%').then(|| following.get(..2)).flatten();
        match digits.and_then(hexadecimal) {
            Some(escaped) => {
                decoded.push(escaped);
                rest = &following[2..];
            }
            None => {
                decoded.push(*byte);
                rest = following;
            }
        }
    }
    String::from_utf8(decoded).ok()
}

/// Returns the value of two hexadecimal digits.
fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let digit = |index: usize| char::from(*digits.get(index)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_survives_both_conversions() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = TraceContext::new(parent).unwrap();
        let trace = trace.with_tracestate("a=1,b=2").unwrap();
        let trace = trace.with_baggage("user=J%C3%BCrgen;visible").unwrap();
        let span = span_context(&trace).unwrap();
        assert!(span.is_remote() && span.is_sampled());
        let context = with_baggage(Context::new().with_remote_span_context(span), &trace);
        let user = context.baggage().get("user").map(ToString::to_string);
        assert_eq!(user.as_deref(), Some("Jürgen"));
        assert_eq!(Propagators::ALL.trace_context(&context), trace);
        let only = |trace_context, baggage| {
            let propagators = Propagators {
                trace_context,
                baggage,
            };
            let sent = propagators.trace_context(&context);
            (sent.traceparent().is_some(), sent.baggage().is_some())
        };
        assert_eq!(only(true, false), (true, false));
        assert_eq!(only(false, true), (false, true));
        assert_eq!(only(false, false), (false, false));
    }

    #[test]
    fn empty_context_has_nothing_to_send() {
        assert!(Propagators::ALL.trace_context(&Context::new()).is_empty());
        assert_eq!(span_context(&TraceContext::default()), None);
    }

    #[test]
    fn percent_encoding_is_reversible() {
        // A sign is not a digit.
        assert_eq!(percent_decoded("%+5%-5%5").as_deref(), Some("%+5%-5%5"));
        for text in ["", "a b", "100%", "ü,;\"\\", "%zz", "%+5"] {
            let encoded = percent_encoded(text);
            assert_eq!(
                percent_decoded(&encoded).as_deref(),
                Some(text),
                "{encoded}"
            );
        }
    }
}
