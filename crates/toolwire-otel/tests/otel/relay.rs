//! A relay: the span in front, and its child behind.

use opentelemetry::trace::SpanKind;
use toolwire::relay::Upstream;
use toolwire::{Client, Era, ProtocolVersion};

use super::*;

#[tokio::test]
async fn relay_adds_two_spans_to_the_trace() {
    for (in_front, behind) in [
        (Era::Modern, Era::Modern),
        (Era::Legacy, Era::Legacy),
        (Era::Modern, Era::Legacy),
        (Era::Legacy, Era::Modern),
    ] {
        let traced = Traced::new();
        let versions = match behind {
            Era::Modern => [ProtocolVersion::V2026_07_28],
            _ => [ProtocolVersion::V2025_11_25],
        };
        let server = server()
            .with_versions(versions)
            .with_middleware(traced.telemetry.clone());
        let upstream = Upstream::new(move |builder| {
            let server = server.clone();
            async move { builder.in_process(&server).await }
        });
        let telemetry = traced.telemetry.clone().with_upstream("demo");
        let builder = Client::builder("relay", "1.0.0").with_middleware(telemetry);
        let relay = upstream.with_builder(builder).relay();
        let front = relay
            .server()
            .clone()
            .with_middleware(traced.telemetry.clone());
        let builder = Client::builder("agent", "1.0.0").with_middleware(traced.telemetry.clone());
        let client = connect(builder, &front, in_front).await;
        send(&client, "tools/list").await;
        traced.take();
        send(&client, "tools/call add").await;
        let mut spans = traced.take();
        spans.reverse();
        let kinds: Vec<SpanKind> = spans.iter().map(|span| span.span_kind.clone()).collect();
        let expected = [
            SpanKind::Client,
            SpanKind::Server,
            SpanKind::Client,
            SpanKind::Server,
        ];
        assert_eq!(kinds, expected, "{in_front:?} {behind:?}: {spans:?}");
        for pair in spans.windows(2) {
            let (parent, child) = (&pair[0], &pair[1]);
            assert_eq!(
                child.parent_span_id,
                parent.span_context.span_id(),
                "{child:?}"
            );
            let trace = parent.span_context.trace_id();
            assert_eq!(child.span_context.trace_id(), trace);
        }
        let upstreams = spans.iter();
        let upstreams: Vec<_> = upstreams
            .map(|span| attribute(&span.attributes, "toolwire.upstream"))
            .collect();
        assert_eq!(upstreams, [None, None, Some("demo".to_owned()), None]);
        relay.close().await;
    }
}
