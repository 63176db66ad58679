//! The parent of a span, and the spans that it links to.

use opentelemetry::Context;
use opentelemetry::trace::{Link, SpanContext, TraceContextExt as _};
use toolwire::TraceContext;

use crate::first_rounds::Round;
use crate::propagation::Propagators;

/// The parent of a span, and its links.
#[derive(Debug)]
pub(crate) struct Parent {
    pub(crate) context: Context,
    pub(crate) links: Vec<SpanContext>,
}

impl Parent {
    /// Returns the parent of a request.
    ///
    /// It is the span in `_meta`. The ambient span is then a link: the current span of this process, or the one in the
    /// headers of the HTTP request. Without a span in `_meta`, the ambient one is the parent.
    pub(crate) fn of(
        propagators: Propagators,
        meta: &TraceContext,
        http: Option<&TraceContext>,
    ) -> Self {
        let current = Context::current();
        let ambient = current.span().span_context().clone();
        let from_http = || http.and_then(|http| propagators.span_context(http));
        let ambient = Some(ambient)
            .filter(SpanContext::is_valid)
            .or_else(from_http);
        let named = propagators.span_context(meta);
        let (parent, link) = match (named, ambient) {
            // The program passed its current span in `_meta`.
            (Some(named), Some(ambient)) if named.span_id() == ambient.span_id() => {
                (Some(ambient), None)
            }
            (Some(named), ambient) => (Some(named), ambient),
            (None, ambient) => (ambient, None),
        };
        let is_current = |span: &SpanContext| *span == *current.span().span_context();
        let context = match parent {
            Some(parent) if !is_current(&parent) => current.with_remote_span_context(parent),
            _ => current.clone(),
        };
        let baggage = if meta.baggage().is_some() {
            Some(meta)
        } else {
            http
        };
        let context = match baggage {
            Some(baggage) => propagators.with_baggage(context, baggage),
            None => context,
        };
        Self {
            context,
            links: link.into_iter().collect(),
        }
    }

    /// Returns the links of the span, with that to the first round of its call.
    pub(crate) fn links(&self, round: &Round) -> Vec<Link> {
        let links = self.links.iter().chain(&round.first);
        links.map(|span| Link::with_context(span.clone())).collect()
    }
}
