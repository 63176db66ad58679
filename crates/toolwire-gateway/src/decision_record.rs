//! The decision of the policy about the running request, on its way to the audit log.
//!
//! The policy decides inside the mount of an upstream, and the line of the audit log is written outside of it, also if
//! the request is cancelled. Both run in the future of one request.

use std::sync::{Arc, Mutex};

use toolwire_proto::relay::policy::Decision;

use crate::sync::lock;

tokio::task_local! {
    static CURRENT: DecisionRecord;
}

/// The decision about a request. Clones are the same record.
#[derive(Debug, Clone, Default)]
pub(crate) struct DecisionRecord(Arc<Mutex<Option<RecordedDecision>>>);

/// A decision, and what it is about.
#[derive(Debug, Clone)]
pub(crate) struct RecordedDecision {
    pub(crate) upstream: String,
    /// The name or URI of the entry at the upstream.
    pub(crate) entry: String,
    pub(crate) decision: Decision,
}

impl DecisionRecord {
    /// Runs a request whose decision is stored here.
    pub(crate) async fn observe<F: Future>(&self, request: F) -> F::Output {
        CURRENT.scope(self.clone(), request).await
    }

    /// Returns the last decision.
    pub(crate) fn last(&self) -> Option<RecordedDecision> {
        lock(&self.0).clone()
    }
}

/// Stores the decision about the running request and its entry. It has no effect for requests without a record, such as
/// lists.
pub(crate) fn record(upstream: &str, entry: &str, decision: Decision) {
    // An error states that there is no record.
    let _ = CURRENT.try_with(|current| {
        *lock(&current.0) = Some(RecordedDecision {
            upstream: upstream.to_owned(),
            entry: entry.to_owned(),
            decision,
        });
    });
}
