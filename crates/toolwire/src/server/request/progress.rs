//! The progress notifications of one request: which values may be sent, and how they are encoded.
//!
//! Handlers report often, and only the numbers change, so the rest of the message is encoded once.

use toolwire_proto::progress::ProgressGate;
use toolwire_types::{ProgressNotificationParams, ProgressToken, json};

use crate::engine::transport::notification;

/// The method of the notification.
pub(crate) const METHOD: &str = "notifications/progress";

/// Bytes reserved for both numbers at their usual length.
const NUMBERS: usize = 48;

/// The progress of one request.
#[derive(Debug, Default)]
pub(crate) struct ProgressReporter {
    /// `None` until the handler reports progress. Most handlers never do.
    state: Option<Box<ProgressState>>,
}

#[derive(Debug, Default)]
struct ProgressState {
    gate: ProgressGate,
    /// The encoded message up to its first number.
    prefix: Vec<u8>,
}

impl ProgressReporter {
    /// Returns `true` if this value may be sent now, and records it as the last value.
    pub(crate) fn accept(&mut self, progress: f64) -> bool {
        self.state().gate.accept(progress)
    }

    /// Ends the progress: no further value is accepted.
    pub(crate) fn complete(&mut self) {
        self.state().gate.complete();
    }

    pub(crate) fn is_complete(&self) -> bool {
        let state = self.state.as_ref();
        state.is_some_and(|state| state.gate.is_complete())
    }

    fn state(&mut self) -> &mut ProgressState {
        self.state.get_or_insert_default()
    }

    /// Encodes a notification without a `message`. Every revision has these members.
    pub(crate) fn message(
        &mut self,
        token: &ProgressToken,
        progress: f64,
        total: Option<f64>,
    ) -> serde_json::Result<Vec<u8>> {
        let prefix = &mut self.state().prefix;
        if prefix.is_empty() {
            *prefix = encoded_prefix(token)?;
        }
        let mut message = Vec::with_capacity(prefix.len() + NUMBERS);
        message.extend_from_slice(prefix);
        json::write_number(&mut message, progress)?;
        if let Some(total) = total {
            message.extend_from_slice(b",\"total\":");
            json::write_number(&mut message, total)?;
        }
        message.extend_from_slice(b"}}");
        Ok(message)
    }
}

/// Returns the status message of a task for a report of progress: `3/10 rendering`.
pub(crate) fn status_message(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let mut text = progress.to_string();
    if let Some(total) = total.filter(|total| total.is_finite()) {
        text.push('/');
        text.push_str(&total.to_string());
    }
    if let Some(message) = message {
        text.push(' ');
        text.push_str(message);
    }
    text
}

fn encoded_prefix(token: &ProgressToken) -> serde_json::Result<Vec<u8>> {
    let zero = ProgressNotificationParams::new(token.clone(), 0.0);
    let mut message = notification(METHOD, &zero)?;
    message.truncate(message.len() - "0}}".len());
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_report_equals_the_serialized_notification() {
        let tokens = [ProgressToken::from(7), "t\"\u{2028}".into()];
        for token in &tokens {
            let mut state = ProgressReporter::default();
            for progress in [0.0, 1.0, 1.5, -3.0, 1e300] {
                for total in [None, Some(100.0), Some(0.25)] {
                    let mut params = ProgressNotificationParams::new(token.clone(), progress);
                    params.total = total;
                    assert_eq!(
                        state.message(token, progress, total).unwrap(),
                        notification(METHOD, &params).unwrap(),
                    );
                }
            }
        }
    }
}
