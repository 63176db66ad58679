//! The request states of a modern upstream server, which travel through a modern client.
//!
//! The state of the upstream server is sealed again with its name, so that a client can neither read it nor send it to
//! another server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::request_state::{ForwardedState, principal_digest};
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::Principal;
use crate::server::RequestContext;
use crate::server::request::Exchange;
use crate::server::state_seal::StatePurpose;

/// The states of the calls of one request.
pub(super) struct StateTranslation<'a> {
    upstream: &'a str,
    principal: Principal,
}

impl<'a> StateTranslation<'a> {
    pub(super) fn new(upstream: &'a str, ctx: &RequestContext) -> Self {
        Self {
            upstream,
            principal: Principal::of(ctx.auth()),
        }
    }

    /// Returns the parameters with the state of the upstream server.
    ///
    /// # Errors
    /// Returns an error if the state is not one of this principal, call and server.
    pub(super) fn open(&self, exchange: &Exchange) -> Result<Option<RawJson>, ErrorObject> {
        let params = exchange.params().map(RawJson::as_raw_value);
        let Some(mut members) = params.and_then(RawObject::parse) else {
            return Ok(None);
        };
        if !members.contains("requestState") {
            return Ok(None);
        }
        let sent = members
            .text("requestState")
            .ok_or_else(|| ErrorObject::invalid_params("params.requestState: expected a string"))?;
        let seal = &exchange.snapshot().options.seal;
        let opened = seal.open(&self.purpose(exchange), &sent)?;
        let state = opened.author_state.and_then(|state| self.decode(&state));
        let state = state.ok_or_else(|| {
            ErrorObject::invalid_params("the request state is invalid or has expired")
        })?;
        members.set_text("requestState", &state);
        Ok(Some(members.finish()))
    }

    /// Seals the state in an `input_required` result.
    pub(super) fn seal(
        &self,
        exchange: &Exchange,
        members: &mut RawObject<'_>,
    ) -> Result<(), ErrorObject> {
        let Some(state) = members.text("requestState") else {
            return Ok(());
        };
        let state = ForwardedState {
            upstream: self.upstream.to_owned(),
            principal: principal_digest(self.principal.as_str()),
            state: state.into_owned(),
        };
        let payload = state.encode().ok_or_else(|| {
            ErrorObject::internal("the request state of the upstream server is too large")
        })?;
        let seal = &exchange.snapshot().options.seal;
        let payload = Some(STANDARD.encode(payload));
        let sealed = seal.write(&self.purpose(exchange), None, payload)?;
        members.set_text("requestState", &sealed.unwrap_or_default());
        Ok(())
    }

    /// Returns the state of the upstream server. Returns `None` for a state of another server or principal.
    fn decode(&self, text: &str) -> Option<String> {
        let payload = STANDARD.decode(text).ok()?;
        let forwarded = ForwardedState::decode(&payload)?;
        let is_own = forwarded.upstream == self.upstream
            && forwarded.principal == principal_digest(self.principal.as_str());
        is_own.then_some(forwarded.state)
    }

    fn purpose<'e>(&'e self, exchange: &'e Exchange) -> StatePurpose<'e> {
        StatePurpose {
            principal: &self.principal,
            method: exchange.route().name(),
            name: exchange.name().unwrap_or_default(),
            arguments: exchange.arguments(),
        }
    }
}
