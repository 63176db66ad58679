//! The response to a caller that has to log in to an upstream server first.
//!
//! A client that can show a URL is asked to show it, in the way of its revision. Other clients get the address in an error.

use serde_json::json;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{CallToolResult, ElicitRequestURLParams, ErrorObject, RawJson};

use crate::relay::credentials::LoginRequired;
use crate::relay::parked::UpstreamOutcome;
use crate::server::RequestContext;

/// The key of the input request of a login.
const LOGIN_KEY: &str = "toolwire-login";

/// Returns the outcome of a request whose caller has to log in.
pub(super) fn login_outcome(
    login: &LoginRequired,
    method: &str,
    upstream: &str,
    ctx: &RequestContext,
) -> UpstreamOutcome {
    let message = format!("[{upstream}] {}", login.message);
    let elicitation = ctx.client_capabilities().elicitation.as_ref();
    let shows_urls = elicitation.is_some_and(|elicitation| elicitation.url.is_some());
    if shows_urls && ctx.version().has_input_required() && ctx.scope().may_ask_input {
        let params = json!({ "mode": "url", "message": message, "url": login.url });
        let request = json!({ "method": "elicitation/create", "params": params });
        return Ok(RawJson::from(json!({
            "resultType": "input_required",
            "inputRequests": { LOGIN_KEY: request },
        })));
    }
    if shows_urls && ctx.version().has_url_elicitation_error() {
        let id = format!("login-{}", ctx.request_id());
        let page = ElicitRequestURLParams::new(message, &login.url).with_elicitation_id(id);
        return Err(ctx.url_elicitation_required([page]).into_error_object());
    }
    let text = format!("{message} {}", login.url);
    if method == "tools/call" {
        let result = RawJson::from_serialize(&CallToolResult::error(text));
        return result.map_err(|_| ErrorObject::internal("a result could not be written"));
    }
    let data = json!({ "reason": "login_required", "upstream": upstream, "url": login.url });
    Err(ErrorObject::internal(text).with_data(data))
}

/// Removes the response to the input request of a login, which the upstream server did not send.
pub(super) fn remove_login_response(params: &mut RawObject<'_>) {
    let Some(responses) = params.object_mut("inputResponses") else {
        return;
    };
    if responses.remove(LOGIN_KEY) && responses.is_empty() {
        params.remove("inputResponses");
    }
}
