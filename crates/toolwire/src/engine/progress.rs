//! The progress of one request: what may still be said, and how it is written.
//!
//! Handlers report often, and all but the numbers is the same each time, so it is written once.

use toolwire_proto::progress::ProgressGate;
use toolwire_types::{ProgressNotificationParams, ProgressToken, json};

use crate::engine::transport::notification;

/// The method of the notification.
pub(crate) const METHOD: &str = "notifications/progress";

/// Room for both numbers, as long as they are not strange.
const NUMBERS: usize = 48;

/// The progress of one request.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Nothing as long as nobody reports anything, as most requests never do.
    reports: Option<Box<ProgressState>>,
}

#[derive(Debug, Default)]
struct ProgressState {
    gate: ProgressGate,
    /// The message up to its first number.
    head: Vec<u8>,
}

impl Progress {
    /// Whether this value may be reported now; then it is the last one that was.
    pub(crate) fn accept(&mut self, progress: f64) -> bool {
        self.reports().gate.accept(progress)
    }

    /// Nothing may be reported any more.
    pub(crate) fn complete(&mut self) {
        self.reports().gate.complete();
    }

    pub(crate) fn is_complete(&self) -> bool {
        let reports = self.reports.as_ref();
        reports.is_some_and(|reports| reports.gate.is_complete())
    }

    fn reports(&mut self) -> &mut ProgressState {
        self.reports.get_or_insert_default()
    }

    /// A report of numbers alone; every revision has those.
    pub(crate) fn message(
        &mut self,
        token: &ProgressToken,
        progress: f64,
        total: Option<f64>,
    ) -> serde_json::Result<Vec<u8>> {
        let head = &mut self.reports().head;
        if head.is_empty() {
            *head = written_head(token)?;
        }
        let mut message = Vec::with_capacity(head.len() + NUMBERS);
        message.extend_from_slice(head);
        json::write_number(&mut message, progress)?;
        if let Some(total) = total {
            message.extend_from_slice(b",\"total\":");
            json::write_number(&mut message, total)?;
        }
        message.extend_from_slice(b"}}");
        Ok(message)
    }
}

fn written_head(token: &ProgressToken) -> serde_json::Result<Vec<u8>> {
    let nothing_yet = ProgressNotificationParams::new(token.clone(), 0.0);
    let mut message = notification(METHOD, &nothing_yet)?;
    message.truncate(message.len() - "0}}".len());
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_the_notification_it_stands_for() {
        let tokens = [ProgressToken::from(7), "t\"\u{2028}".into()];
        for token in &tokens {
            let mut reports = Progress::default();
            for progress in [0.0, 1.0, 1.5, -3.0, 1e300] {
                for total in [None, Some(100.0), Some(0.25)] {
                    let mut params = ProgressNotificationParams::new(token.clone(), progress);
                    params.total = total;
                    assert_eq!(
                        reports.message(token, progress, total).unwrap(),
                        notification(METHOD, &params).unwrap(),
                    );
                }
            }
        }
    }
}
