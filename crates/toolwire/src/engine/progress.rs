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
    pub(crate) gate: ProgressGate,
    /// The message up to its first number.
    head: Vec<u8>,
}

impl Progress {
    /// A report of numbers alone; every revision has those.
    pub(crate) fn message(
        &mut self,
        token: &ProgressToken,
        progress: f64,
        total: Option<f64>,
    ) -> serde_json::Result<Vec<u8>> {
        if self.head.is_empty() {
            self.head = head(token)?;
        }
        let mut message = Vec::with_capacity(self.head.len() + NUMBERS);
        message.extend_from_slice(&self.head);
        json::write_number(&mut message, progress)?;
        if let Some(total) = total {
            message.extend_from_slice(b",\"total\":");
            json::write_number(&mut message, total)?;
        }
        message.extend_from_slice(b"}}");
        Ok(message)
    }
}

fn head(token: &ProgressToken) -> serde_json::Result<Vec<u8>> {
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
