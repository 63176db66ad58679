//! The audit log: one line of JSON per exchange, written by a thread of its own.

mod arguments;
mod line;
mod middleware;
mod writer;

use std::io;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;
use toolwire::ErrorObject;
use toolwire::middleware::{Outcome, Request};
use toolwire_proto::methods::is_about_task;

use self::line::ExchangeLine;
pub(crate) use self::middleware::AuditedServer;
use self::writer::AuditQueue;
use crate::config::{AuditConfig, OnFull};
use crate::decision_record::DecisionRecord;
use crate::sync::lock;

/// How long the end of a gateway waits for the last lines.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The audit log of a gateway, which changes with the configuration.
#[derive(Debug, Default)]
pub(crate) struct AuditLog {
    current: Mutex<Option<Arc<OpenLog>>>,
}

#[derive(Debug)]
struct OpenLog {
    config: AuditConfig,
    queue: Arc<AuditQueue>,
}

impl AuditLog {
    /// Replaces the log, unless its configuration is the same.
    pub(crate) fn configure(&self, config: Option<&AuditConfig>) -> io::Result<()> {
        let mut current = lock(&self.current);
        if current.as_ref().map(|log| &log.config) == config {
            return Ok(());
        }
        *current = match config {
            Some(config) => {
                let queue = match &*current {
                    // A file has one writer.
                    Some(log) if log.config.file == config.file => {
                        log.queue.configure(config);
                        Arc::clone(&log.queue)
                    }
                    _ => Arc::new(AuditQueue::start(config)?),
                };
                let config = config.clone();
                Some(Arc::new(OpenLog { config, queue }))
            }
            None => None,
        };
        Ok(())
    }

    /// Opens the file again, after another program has moved it.
    pub(crate) fn reopen(&self) {
        if let Some(log) = &*lock(&self.current) {
            log.queue.reopen();
        }
    }

    /// Begins the line of a request, which gets its decision from the record. Returns `None` without a log.
    ///
    /// # Errors
    /// Returns an error if the queue is full, and the request is a call that must not run without a line.
    fn begin(
        &self,
        request: &mut Request,
        decision: &DecisionRecord,
    ) -> Result<Option<AuditedExchange>, ErrorObject> {
        let Some(log) = lock(&self.current).clone() else {
            return Ok(None);
        };
        let is_full = log.queue.is_full();
        if is_full && log.config.on_full == OnFull::Reject && is_call(request.method()) {
            let error =
                ErrorObject::internal("the audit log of the gateway is full; try again later");
            return Err(error.with_data(json!({ "reason": "overloaded" })));
        }
        let line = ExchangeLine::of(request, &log.config);
        Ok(Some(AuditedExchange {
            line: Some(line),
            is_about_task: is_about_task(request.method()),
            decision: decision.clone(),
            log,
        }))
    }

    /// Ends the log after the lines of all exchanges that have ended.
    pub(crate) async fn close(&self) {
        let Some(log) = lock(&self.current).take() else {
            return;
        };
        let thread = log.queue.take_thread();
        drop(log);
        let ended = tokio::task::spawn_blocking(move || thread.map(JoinHandle::join));
        if tokio::time::timeout(CLOSE_TIMEOUT, ended).await.is_err() {
            tracing::warn!("the last lines of the audit log may not be written");
        }
    }
}

/// Returns `true` if a method runs code of an upstream.
fn is_call(method: &str) -> bool {
    let lists = [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ];
    let others = [
        "initialize",
        "server/discover",
        "ping",
        "subscriptions/listen",
    ];
    !lists.contains(&method) && !others.contains(&method)
}

/// An exchange whose line is written when the value is dropped, also if the request is cancelled.
#[derive(Debug)]
struct AuditedExchange {
    /// `None` after it was written.
    line: Option<ExchangeLine>,
    is_about_task: bool,
    decision: DecisionRecord,
    log: Arc<OpenLog>,
}

impl AuditedExchange {
    fn end(&mut self, outcome: &Outcome) {
        if let Some(line) = &mut self.line {
            line.end(outcome);
        }
    }
}

impl Drop for AuditedExchange {
    fn drop(&mut self) {
        let Some(mut line) = self.line.take() else {
            return;
        };
        if let Some(recorded) = self.decision.last() {
            line.set_decision(recorded, self.is_about_task);
        }
        self.log.queue.push(line.finish());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::{Client, RequestContext, Server, ToolHandler};

    use super::*;
    use crate::audit::writer::MAX_QUEUED_LINES;
    use crate::scratch::Scratch;

    #[tokio::test]
    async fn full_queue_rejects_calls_or_loses_lines() {
        for (on_full, is_rejected) in [(OnFull::Reject, true), (OnFull::Drop, false)] {
            let (queue, _receiver) = AuditQueue::stalled();
            for _ in 0..MAX_QUEUED_LINES {
                queue.push(String::new());
            }
            let mut config = AuditConfig::new("unused");
            config.on_full = on_full;
            let queue = Arc::new(queue);
            let log = Arc::new(OpenLog { config, queue });
            let audit = AuditLog {
                current: Mutex::new(Some(Arc::clone(&log))),
            };
            let tool = ToolHandler::typed("t", |_: RequestContext, _: serde_json::Value| async {
                "ok"
            });
            let server = Server::new("test", "1.0.0")
                .tool(tool)
                .with_middleware(AuditedServer::new(Arc::new(audit)));
            let client = Client::in_process(&server).await.unwrap();
            // Lists do not run code of an upstream. Their lines are lost.
            assert_eq!(client.list_tools().await.unwrap().len(), 1);
            let lost = log.queue.lost();
            assert!(lost > 0, "{on_full:?}");
            let called = client.call_tool("t", json!({})).await;
            assert_eq!(called.is_err(), is_rejected, "{on_full:?}");
            assert_eq!(log.queue.lost() > lost, !is_rejected, "{on_full:?}");
        }
    }

    #[test]
    fn other_settings_of_the_same_file_keep_its_writer() {
        let scratch = Scratch::new("audit");
        let mut config = AuditConfig::new(scratch.path("a.jsonl"));
        let audit = AuditLog::default();
        audit.configure(Some(&config)).unwrap();
        config.arguments = vec!["path".to_owned()];
        audit.configure(Some(&config)).unwrap();
        assert_eq!(
            lock(&audit.current).as_ref().map(|log| &log.config),
            Some(&config)
        );
        config.file = scratch.path("b.jsonl");
        audit.configure(Some(&config)).unwrap();
    }
}
