//! A line of the audit log.

use serde::Serialize;
use toolwire::middleware::{AuditLine, Outcome, Request};

use crate::audit::arguments::keyed_digest;
use crate::config::AuditConfig;
use crate::decision_record::RecordedDecision;

/// A line of the audit log: that of the middleware [`Audit`](toolwire::middleware::Audit), with what the gateway knows
/// besides.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExchangeLine {
    #[serde(flatten)]
    exchange: AuditLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    /// The tool of a task at its upstream. The name of the request is the id of the task, which says nothing of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// `allow` or `deny`. Absent for requests that the policy does not decide about.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// The number of the rule that decided, from 1. The line of the middleware has no rule, because its policies are not
    /// used here.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_digest: Option<String>,
}

impl ExchangeLine {
    /// Creates the line of a request. Until it ends, its outcome is that it was cancelled.
    pub(crate) fn of(request: &mut Request, config: &AuditConfig) -> Self {
        let exchange = AuditLine::new(request, &config.arguments);
        Self {
            exchange,
            upstream: None,
            tool: None,
            decision: None,
            rule: None,
            arguments_digest: keyed_digest(request.arguments(), config.digest_key.as_ref()),
        }
    }

    pub(crate) fn set_decision(&mut self, recorded: RecordedDecision, is_about_task: bool) {
        let decision = recorded.decision;
        self.upstream = Some(recorded.upstream);
        self.tool = is_about_task.then_some(recorded.entry);
        self.decision = Some(if decision.is_allowed { "allow" } else { "deny" });
        self.rule = decision.rule.map(|index| index + 1);
    }

    pub(crate) fn end(&mut self, outcome: &Outcome) {
        self.exchange.end(outcome);
    }

    /// Returns the line as JSON, with its duration.
    pub(crate) fn finish(mut self) -> String {
        self.exchange.stop();
        let line = serde_json::to_string(&self).unwrap_or_default();
        AuditLine::escape_invisible(&line)
    }
}
