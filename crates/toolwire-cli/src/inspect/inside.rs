//! The reports of the inspected server about what happened inside of it, in the log and with their calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest};
use toolwire::{BoxFuture, Error, RawJson};
use toolwire_proto::inspection::{CALL_KEY, InspectionLine};

use crate::inspect::calls::Calls;
use crate::inspect::log::Log;

/// Stores reports. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    log: Arc<Log>,
    calls: Calls,
    /// Whether a server has announced that it reports its exchanges.
    is_reported: Arc<AtomicBool>,
}

impl Inside {
    pub(super) fn new(log: &Arc<Log>, calls: &Calls) -> Self {
        Self {
            log: Arc::clone(log),
            calls: calls.clone(),
            is_reported: Arc::default(),
        }
    }

    /// Takes a line of standard error if it is a report. Returns `false` for other lines.
    pub(super) fn take(&self, line: &str) -> bool {
        match InspectionLine::read(line) {
            Some(InspectionLine::Exchange(report)) => {
                // Written again, so that the log has no other members.
                let json = serde_json::to_string(&report).unwrap_or_default();
                self.log.inside(&json);
                self.calls.add_report(*report);
                true
            }
            Some(_) => {
                if !self.is_reported.swap(true, Ordering::Relaxed) {
                    self.log
                        .note("the server reports what happens inside of it");
                }
                true
            }
            None => false,
        }
    }
}

/// Marks the requests of the page, so that their reports are found. It does so only for servers that send reports.
#[derive(Debug)]
pub(super) struct MarkCalls(pub(super) Inside);

impl ClientMiddleware for MarkCalls {
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        if self.0.is_reported.load(Ordering::Relaxed)
            && let Some(id) = self.0.calls.sending(request.method())
        {
            request.set_meta(CALL_KEY, RawJson::from(serde_json::json!(id.to_string())));
        }
        Box::pin(async move { next.run(request).await })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::{Client, RequestContext, Server, Tool, ToolHandler};
    use toolwire_proto::inspection::{ExchangeReport, StartedServer};

    use super::*;
    use crate::inspect::calls::MAX_REPORTS;
    use crate::inspect::events::PageEvents;
    use crate::inspect::log::LogLimits;

    fn inside() -> Inside {
        let log = Arc::new(Log::new(LogLimits::default()));
        Inside::new(&log, &Calls::new(&PageEvents::new()))
    }

    fn report(call: &str) -> String {
        let mut report = ExchangeReport::new("tools/call", Some("meta"), "");
        report.set_call(call);
        InspectionLine::Exchange(Box::new(report)).write()
    }

    /// Calls a tool that returns the mark of its request.
    async fn mark_of_a_call(inside: &Inside) -> (u64, String) {
        let tool = Tool::new("meta", json!({"type": "object"}));
        let tool = ToolHandler::raw(tool, |ctx: RequestContext, _: RawJson| async move {
            let mark = ctx.meta().get_as::<String>(CALL_KEY);
            mark.ok().flatten().unwrap_or_default()
        });
        let server = Server::new("test", "1").tool(tool);
        let builder = Client::builder("test", "1").with_middleware(MarkCalls(inside.clone()));
        let client = builder.in_process(&server).await.expect("a client");
        let params = json!({"name": "meta", "arguments": {}});
        let method = "tools/call".to_owned();
        let started = inside
            .calls
            .start(client, method, params.into(), Vec::new(), |_| {});
        let id = started.expect("a call");
        let outcome = inside.calls.wait(id).await.expect("an outcome");
        let result = outcome.result.expect("a result").to_value().expect("JSON");
        let text = result["content"][0]["text"].as_str().expect("a text");
        (id, text.to_owned())
    }

    #[tokio::test]
    async fn requests_are_marked_only_for_servers_that_report() {
        let inside = inside();
        assert_eq!(mark_of_a_call(&inside).await.1, "");
        assert!(inside.take(&InspectionLine::Started(StartedServer::default()).write()));
        let (id, mark) = mark_of_a_call(&inside).await;
        assert_eq!(mark, id.to_string());
    }

    #[tokio::test]
    async fn reports_belong_to_their_calls_up_to_the_limit() {
        let inside = inside();
        let (id, _) = mark_of_a_call(&inside).await;
        assert!(!inside.take("ready"));
        assert!(!inside.take("toolwire-inspection: no JSON"));
        for call in ["", "0", "999", "x", "-1"] {
            assert!(inside.take(&report(call)), "{call}");
        }
        let reports = || inside.calls.reports(id).expect("a call").len();
        assert_eq!(reports(), 0);
        for expected in 1..=MAX_REPORTS {
            assert!(inside.take(&report(&id.to_string())));
            assert_eq!(reports(), expected);
        }
        assert!(inside.take(&report(&id.to_string())));
        assert_eq!(reports(), MAX_REPORTS);
        assert!(inside.calls.reports(id + 1).is_none());
        // All of them are in the log.
        assert_eq!(inside.log.after(0, 1000).len(), 5 + MAX_REPORTS + 1);
    }

    #[tokio::test]
    async fn bytes_of_reports_count() {
        let inside = inside();
        let (id, _) = mark_of_a_call(&inside).await;
        let before = inside.calls.stored_bytes(id);
        assert!(inside.take(&report(&id.to_string())));
        let report = report(&id.to_string());
        let added = inside.calls.stored_bytes(id) - before;
        assert!(
            added > 100 && added <= report.len(),
            "{added} of {}",
            report.len()
        );
    }
}
