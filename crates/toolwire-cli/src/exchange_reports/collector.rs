//! Collects the reports of one server process, for a command that sends one request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use toolwire_proto::inspection::{ExchangeReport, InspectionLine};

use crate::exchange_reports::text::text;
use crate::screen::Screen;
use crate::sync::lock;

/// How long the report of a request is waited for after its response. It was written before, to another stream.
const WAIT: Duration = Duration::from_secs(2);

/// How long it is waited for after a failure. Then it may be that no request was sent.
const WAIT_AFTER_FAILURE: Duration = Duration::from_millis(200);

/// The maximum number of reports that are stored. Later ones are dropped.
const MAX_REPORTS: usize = 64;

/// Collects the reports for the requests of one method, and those that name hidden entries. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ReportCollector {
    method: &'static str,
    reports: Arc<Mutex<Vec<ExchangeReport>>>,
    changed: Arc<Notify>,
}

impl ReportCollector {
    pub(crate) fn new(method: &'static str) -> Self {
        Self {
            method,
            reports: Arc::default(),
            changed: Arc::default(),
        }
    }

    /// Takes a line of standard error if it is a report. Returns `false` for other lines.
    pub(crate) fn take(&self, line: &str) -> bool {
        match InspectionLine::read(line) {
            Some(InspectionLine::Exchange(report)) => {
                let mut reports = lock(&self.reports);
                let is_wanted = report.method == self.method || !report.hidden.is_empty();
                if is_wanted && reports.len() < MAX_REPORTS {
                    reports.push(*report);
                }
                drop(reports);
                self.changed.notify_one();
                true
            }
            Some(_) => true,
            None => false,
        }
    }

    /// Waits for the report of the request, and writes all reports to standard error.
    pub(crate) async fn show(&self, screen: &Screen, has_failed: bool) {
        let arrival = async {
            while !self.has_report() {
                self.changed.notified().await;
            }
        };
        let wait = if has_failed { WAIT_AFTER_FAILURE } else { WAIT };
        if timeout(wait, arrival).await.is_err() && !has_failed {
            screen.warn(
                "the server reported nothing about its inside; only servers that are written with toolwire do, on standard \
                 input and output",
            );
        }
        let reports = std::mem::take(&mut *lock(&self.reports));
        for report in &reports {
            if screen.json {
                let json = serde_json::to_string(report).unwrap_or_default();
                screen.show_line(&json);
            } else {
                text(report).lines().for_each(|line| screen.show_line(line));
            }
        }
    }

    fn has_report(&self) -> bool {
        let reports = lock(&self.reports);
        reports.iter().any(|report| report.method == self.method)
    }
}

#[cfg(test)]
mod tests {
    use toolwire_proto::inspection::StartedServer;

    use super::*;

    #[test]
    fn reports_of_the_method_are_collected_up_to_the_limit() {
        let collector = ReportCollector::new("tools/call");
        let exchange = |method: &str| {
            let report = ExchangeReport::new(method, None, "");
            InspectionLine::Exchange(Box::new(report)).write()
        };
        assert!(collector.take(&InspectionLine::Started(StartedServer::default()).write()));
        assert!(collector.take(&exchange("tools/list")));
        assert!(!collector.take("ready"));
        assert_eq!(lock(&collector.reports).len(), 0);
        for _ in 0..=MAX_REPORTS {
            assert!(collector.take(&exchange("tools/call")));
        }
        assert_eq!(lock(&collector.reports).len(), MAX_REPORTS);
    }
}
