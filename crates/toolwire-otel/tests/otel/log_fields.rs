//! The ids of the trace and of the span in the `tracing` span of an exchange.

use toolwire::{Client, Era};
use toolwire_tests::traces::Traces;

use super::*;

#[tokio::test]
async fn log_messages_of_a_call_have_the_ids_of_the_span_of_the_server() {
    for era in [Era::Modern, Era::Legacy] {
        let (front, back) = (Traced::new(), Traced::new());
        let server = server().with_middleware(back.telemetry.clone());
        let builder = Client::builder("agent", "1.0.0").with_middleware(front.telemetry.clone());
        let client = connect(builder, &server, era).await;
        front.take();
        back.take();
        let (traces, _guard) = Traces::record();
        send(&client, "tools/call add").await;
        let (sent, served) = (front.one("tools/call add"), back.one("tools/call add"));
        let text = traces.text();
        let trace = served.span_context.trace_id();
        let ids = format!(
            "trace_id=\"{trace}\" span_id=\"{}\"",
            served.span_context.span_id()
        );
        assert!(text.contains(&ids), "{ids}: {text}");
        let of_client = format!("span_id=\"{}\"", sent.span_context.span_id());
        assert!(!text.contains(&of_client), "{of_client}: {text}");
    }
}
