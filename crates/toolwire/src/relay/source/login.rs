//! The login of a caller at an upstream server, before its request is forwarded.
//!
//! A client that can show a URL is asked to show it, in the way of its revision. When the user has logged in, the request
//! goes on by itself. Other clients get the address in an error.

use std::time::Duration;

use serde_json::json;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{CallToolResult, ElicitAction, ErrorObject, RawJson};

use crate::engine::Principal;
use crate::error::Error;
use crate::relay::credentials::{Credentials, LoginRequired};
use crate::relay::parked::UpstreamOutcome;
use crate::server::RequestContext;
use crate::server::input_request::random_id;

/// The key of the input request of a login.
const LOGIN_KEY: &str = "toolwire-login";

/// How long a request waits for its user, after the client has agreed to show the address.
const LOGIN_WAIT: Duration = Duration::from_secs(5 * 60);

/// A request whose caller may have to log in to an upstream server.
pub(super) struct LoginCheck<'a> {
    pub(super) credentials: &'a dyn Credentials,
    pub(super) ctx: &'a RequestContext,
    pub(super) method: &'a str,
    pub(super) upstream: &'a str,
}

impl LoginCheck<'_> {
    /// Checks that the caller has a credential.
    async fn required(&self) -> Result<(), LoginRequired> {
        let caller = Principal::of(self.ctx.auth());
        let presented = self.credentials.present(&caller, self.upstream).await;
        presented.map(drop)
    }

    /// Waits for the login of a caller without a credential, if its client can show the address.
    ///
    /// # Errors
    /// Returns the outcome of the request if it cannot be forwarded yet.
    pub(super) async fn complete(&self, params: &RawJson) -> Result<(), UpstreamOutcome> {
        let Err(login) = self.required().await else {
            return self.complete_again(params).await;
        };
        match self.shown(&login, params).await {
            // The client has to ask first.
            Ok(None) => Err(self.outcome(&login, params)),
            Ok(Some((ElicitAction::Accept, id))) => {
                self.wait_for_login().await;
                // Some credentials do not wait.
                if let Err(login) = self.required().await {
                    return Err(self.outcome(&login, params));
                }
                if let Some(id) = id {
                    self.ctx.elicitation_complete(id);
                }
                Ok(())
            }
            Ok(Some(_)) => Err(self.declined(&login)),
            Err(error) => {
                tracing::debug!(%error, "a client could not be asked to show the address of a login");
                Err(self.text(&login))
            }
        }
    }

    /// Waits until a caller with a login that lacks rights has logged in again, if the caller was asked to do so.
    async fn complete_again(&self, params: &RawJson) -> Result<(), UpstreamOutcome> {
        match self.repeated(params) {
            None => {}
            // Until the user has logged in, the request would fail again.
            Some(ElicitAction::Accept) => self.wait_for_login().await,
            Some(_) => {
                let caller = Principal::of(self.ctx.auth());
                let lacking = self.credentials.after_failure(&caller, self.upstream).await;
                lacking.map_err(|login| self.declined(&login))?;
            }
        }
        Ok(())
    }

    fn declined(&self, login: &LoginRequired) -> UpstreamOutcome {
        self.failure("The login was declined.", "login_declined", login)
    }

    /// Waits until the caller has logged in, or for the longest time.
    async fn wait_for_login(&self) {
        let caller = Principal::of(self.ctx.auth());
        let logged_in = self.credentials.logged_in(&caller, self.upstream);
        // Whether the user has logged in is checked by the next request to the upstream server.
        let _ = tokio::time::timeout(LOGIN_WAIT, logged_in).await;
    }

    /// Returns what the user decided, if a modern client repeats its request with the decision.
    fn repeated(&self, params: &RawJson) -> Option<ElicitAction> {
        let is_modern = self.ctx.version().has_input_required();
        is_modern.then(|| login_response(params)).flatten()
    }

    /// Returns what the user decided about the address, and the id of the elicitation in revisions that have one. Returns
    /// `None` if the request has to be repeated with the decision, or if the client cannot show an address.
    async fn shown(
        &self,
        login: &LoginRequired,
        params: &RawJson,
    ) -> Result<Option<(ElicitAction, Option<String>)>, Error> {
        let version = self.ctx.version();
        if version.has_input_required() {
            return Ok(self.repeated(params).map(|action| (action, None)));
        }
        if !self.shows_urls() || !version.has_elicitation_id() || !self.may_ask() {
            return Ok(None);
        }
        let id = random_id()?;
        let message = self.message(login);
        let result = self.ctx.elicit_url(message, &login.url, &id).await?;
        Ok(Some((result.action, Some(id))))
    }

    fn shows_urls(&self) -> bool {
        let elicitation = self.ctx.client_capabilities().elicitation.as_ref();
        elicitation.is_some_and(|elicitation| elicitation.url.is_some())
    }

    /// Returns `true` if the user waits for the outcome of the request. A client sends others by itself, for example a
    /// completion for each letter, and each of them would show another dialog.
    fn may_ask(&self) -> bool {
        matches!(self.method, "tools/call" | "prompts/get" | "resources/read")
    }

    fn message(&self, login: &LoginRequired) -> String {
        format!("[{}] {}", self.upstream, login.message)
    }

    /// Returns the outcome of a request whose caller has to log in first: the input request of the newest revision, or an
    /// error with the address.
    ///
    /// A request that continues a call gets the error: an input request without its state and responses would make the
    /// client start the call again.
    fn outcome(&self, login: &LoginRequired, params: &RawJson) -> UpstreamOutcome {
        let asks = self.ctx.version().has_input_required() && self.ctx.scope().may_ask_input;
        if !asks || !self.shows_urls() || continues_call(params) {
            return self.text(login);
        }
        let message = self.message(login);
        let params = json!({ "mode": "url", "message": message, "url": login.url });
        let request = json!({ "method": "elicitation/create", "params": params });
        Ok(RawJson::from(json!({
            "resultType": "input_required",
            "inputRequests": { LOGIN_KEY: request },
        })))
    }

    /// Returns the outcome for clients that cannot show an address.
    fn text(&self, login: &LoginRequired) -> UpstreamOutcome {
        let text = format!("{} {}", login.message, login.url);
        self.failure(&text, "login_required", login)
    }

    fn failure(&self, text: &str, reason: &str, login: &LoginRequired) -> UpstreamOutcome {
        let text = format!("[{}] {text}", self.upstream);
        if self.method == "tools/call" {
            let result = RawJson::from_serialize(&CallToolResult::error(text));
            return result.map_err(|_| ErrorObject::internal("a result could not be written"));
        }
        let data = json!({ "reason": reason, "upstream": self.upstream, "url": login.url });
        Err(ErrorObject::internal(text).with_data(data))
    }

    /// Returns the outcome of a request that the upstream server did not process because of its credential. If that was
    /// dropped meanwhile, or lacks rights, the caller has to log in again.
    pub(super) async fn failed(&self, error: ErrorObject, params: &RawJson) -> UpstreamOutcome {
        let caller = Principal::of(self.ctx.auth());
        let credentials = self.credentials;
        match credentials.after_failure(&caller, self.upstream).await {
            Ok(()) => Err(error),
            // A user who was asked in this request is not asked again.
            Err(login) if self.repeated(params).is_some() => self.text(&login),
            Err(login) => self.outcome(&login, params),
        }
    }
}

/// Returns `true` if a request continues a call: it has a state or responses that are for the upstream server.
fn continues_call(params: &RawJson) -> bool {
    let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
        return false;
    };
    if members.get("requestState").is_some() {
        return true;
    }
    let responses = members.object_mut("inputResponses");
    responses.is_some_and(|responses| responses.iter().any(|(key, _)| key != LOGIN_KEY))
}

/// Returns what the user decided about the address of a login, from the parameters of a repeated request.
fn login_response(params: &RawJson) -> Option<ElicitAction> {
    let mut members = RawObject::parse(params.as_raw_value())?;
    let responses = members.object_mut("inputResponses")?;
    let response = responses.object_mut(LOGIN_KEY)?;
    Some(match response.text("action").as_deref() {
        Some("accept") => ElicitAction::Accept,
        Some("decline") => ElicitAction::Decline,
        _ => ElicitAction::Cancel,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_with_state_or_responses_of_the_upstream_continues_a_call() {
        let check = |params: serde_json::Value, expected: bool| {
            assert_eq!(continues_call(&RawJson::from(params)), expected);
        };
        let login = json!({ LOGIN_KEY: { "action": "accept" } });
        check(json!({ "name": "a" }), false);
        check(json!({ "inputResponses": login }), false);
        check(json!({ "inputResponses": {} }), false);
        check(
            json!({ "inputResponses": { "q": { "action": "accept" } } }),
            true,
        );
        check(
            json!({ "inputResponses": login, "requestState": "s" }),
            true,
        );
        check(json!([]), false);
    }
}
