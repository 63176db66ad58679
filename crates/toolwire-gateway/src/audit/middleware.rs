//! The middleware around every exchange of the gateway: writes its line of the audit log.

use std::sync::Arc;

use toolwire::BoxFuture;
use toolwire::middleware::{Middleware, Next, Outcome, Request};
use toolwire_proto::methods::is_about_task;

use crate::audit::AuditLog;
use crate::decision_record::DecisionRecord;

/// Writes the line of every exchange.
pub(crate) struct AuditedServer(Arc<AuditLog>);

impl AuditedServer {
    pub(crate) fn new(audit: Arc<AuditLog>) -> Self {
        Self(audit)
    }
}

impl Middleware for AuditedServer {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let decision = DecisionRecord::default();
            let mut audited = match self.0.begin(request, &decision) {
                Ok(Some(audited)) => audited,
                Ok(None) => return next.run(request).await,
                Err(error) => return error.into(),
            };
            let outcome = if uses_entry(request.method()) {
                decision.observe(next.run(request)).await
            } else {
                next.run(request).await
            };
            audited.end(&outcome);
            outcome
        })
    }
}

/// Returns `true` if a method uses one entry, so that the policy decides about the request.
fn uses_entry(method: &str) -> bool {
    matches!(
        method,
        "tools/call"
            | "prompts/get"
            | "resources/read"
            | "resources/subscribe"
            | "completion/complete"
    ) || is_about_task(method)
}
