//! A line of the audit log.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value};
use toolwire::TraceContext;
use toolwire::middleware::{Outcome, Request};
use toolwire::types::RequestId;
use toolwire_proto::relay::policy::Decision;

use crate::audit::arguments::{chosen, keyed_digest};
use crate::config::AuditConfig;

/// The maximum length of a name that a client sent, in characters.
const MAX_NAME_CHARACTERS: usize = 512;

/// A line of the audit log: who used what, and how it ended. It has no tokens and no request states.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExchangeLine {
    time: u64,
    id: RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<ExchangePrincipal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    version: &'static str,
    /// `allow` or `deny`. Absent for requests that the policy does not decide about.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'static str>,
    /// The number of the rule that decided, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    retry: bool,
    duration_ms: u64,
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_digest: Option<String>,
    #[serde(skip)]
    start: Instant,
}

#[derive(Debug, Serialize)]
struct ExchangePrincipal {
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
}

impl ExchangeLine {
    /// Creates the line of a request. Until it ends, its outcome is that it was cancelled.
    pub(crate) fn of(request: &Request, config: &AuditConfig) -> Self {
        let scope = request.scope();
        let token = scope.auth();
        let principal = token.valid.then(|| ExchangePrincipal {
            issuer: token
                .claims
                .get("iss")
                .and_then(Value::as_str)
                .map(str::to_owned),
            subject: token.subject.clone(),
            client_id: token.client_id.clone(),
        });
        let trace = TraceContext::from_meta(request.meta());
        Self {
            time: now(),
            id: scope.request_id().clone(),
            principal,
            client: scope.client_info().map(|client| shortened(&client.name)),
            upstream: None,
            method: request.method().to_owned(),
            name: request.name().map(shortened),
            version: request.version().as_str(),
            decision: None,
            rule: None,
            outcome: "cancelled",
            code: None,
            reason: None,
            retry: request.is_retry(),
            duration_ms: 0,
            bytes: 0,
            trace_id: trace.trace_id().map(str::to_owned),
            arguments: chosen(request.arguments(), &config.arguments),
            arguments_digest: keyed_digest(request.arguments(), config.digest_key.as_ref()),
            start: Instant::now(),
        }
    }

    pub(crate) fn set_decision(&mut self, upstream: &str, decision: Decision) {
        self.upstream = Some(upstream.to_owned());
        self.decision = Some(if decision.is_allowed { "allow" } else { "deny" });
        self.rule = decision.rule.map(|index| index + 1);
    }

    pub(crate) fn end(&mut self, outcome: &Outcome) {
        let error = outcome.error();
        self.code = error.map(|error| error.code);
        self.reason = error.and_then(|error| {
            let data = error.data.as_ref()?.to_value().ok()?;
            data.get("reason")?.as_str().map(shortened)
        });
        self.bytes = outcome.size();
        self.outcome = if error.is_some() {
            "error"
        } else if outcome.is_tool_error() {
            "tool_error"
        } else if outcome.is_input_required() {
            "input_required"
        } else {
            "ok"
        };
    }

    /// Returns the line as JSON, with its duration.
    pub(crate) fn finish(mut self) -> String {
        let duration = self.start.elapsed().as_millis();
        self.duration_ms = u64::try_from(duration).unwrap_or(u64::MAX);
        serde_json::to_string(&self).unwrap_or_default()
    }
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_NAME_CHARACTERS).collect()
}
