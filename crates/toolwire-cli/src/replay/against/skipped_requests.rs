//! Which recorded requests are not sent again.

use serde_json::Value;

use crate::record::is_redacted;
use crate::replay::exchanges::RecordedExchange;

/// Returns why a recorded request is not sent, as far as the record decides that.
pub(super) fn reason_to_skip(exchange: &RecordedExchange) -> Option<&'static str> {
    if exchange.response().is_none() {
        return Some("the record has no response to it");
    }
    has_redacted_params(&exchange.request.body)
        .then_some("a part of the request was redacted, so it is not sent")
}

/// Returns `true` if the parameters of a request contain something redacted besides the state, which is replaced.
fn has_redacted_params(request: &Value) -> bool {
    let mut params = request["params"].clone();
    if let Some(members) = params.as_object_mut() {
        members.remove("requestState");
    }
    is_redacted(&params.to_string())
}

/// Returns `true` for a request that is neither sent nor reported.
pub(super) fn is_left_out(exchange: &RecordedExchange) -> bool {
    match exchange.method() {
        // A server of another era rejected the probe. The relay detects the era itself.
        "server/discover" => {
            let response = exchange.response();
            response.is_none_or(|response| response.body.get("result").is_none())
        }
        // Its stream stays open, and changes are not compared.
        "subscriptions/listen" => true,
        _ => false,
    }
}
