//! Forwards the requests for entries of an upstream server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{ErrorObject, RawJson, meta_key};

use crate::engine::{EncodedResult, Principal, TransportContext};
use crate::relay::source::SourceInner;
use crate::relay::source::caller::{CallingClient, InputRules};
use crate::relay::source::forwarded_state::StateTranslation;
use crate::relay::source::login::{login_outcome, remove_login_response};
use crate::relay::source::session::known;
use crate::server::RequestContext;
use crate::server::request::Exchange;

impl SourceInner {
    /// Forwards a request with the names of the upstream server, and returns its result.
    pub(super) async fn serve(
        self: &Arc<Self>,
        method: &'static str,
        ctx: &RequestContext,
        params: RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let caller = Principal::of(ctx.auth());
        if let Some(credentials) = &self.credentials
            && let Err(login) = credentials.present(&caller, &self.name).await
        {
            return login_outcome(&login, method, &self.name, ctx);
        }
        let rules = self.input_rules(ctx.scope().snapshot.has_several_sources);
        let transport = Arc::clone(ctx.scope().transport());
        let client = self.calling_client(transport, rules.clone());
        let params = prepared(&rules, params);
        let exchange = ctx
            .scope()
            .forwarded(known(method), params, Arc::clone(&client));
        if ctx.version().is_modern() {
            return self.serve_modern(ctx, exchange, &rules).await;
        }
        self.open_session(ctx, &client, &rules).await?;
        self.forward(exchange).await
    }

    /// Returns the rules for input requests. `names_upstream` is `true` if other servers could ask as well.
    pub(super) fn input_rules(&self, names_upstream: bool) -> InputRules {
        InputRules {
            permitted: self.input,
            upstream: self.name.clone(),
            names_upstream,
        }
    }

    /// Returns a client as the upstream server may reach it.
    pub(super) fn calling_client(
        self: &Arc<Self>,
        client: Arc<dyn TransportContext>,
        rules: InputRules,
    ) -> Arc<dyn TransportContext> {
        Arc::new(CallingClient::new(client, Arc::downgrade(self), rules))
    }

    /// Forwards a request of a modern client, whose input requests are part of the result.
    async fn serve_modern(
        &self,
        ctx: &RequestContext,
        exchange: Exchange,
        rules: &InputRules,
    ) -> Result<RawJson, ErrorObject> {
        let states = StateTranslation::new(&self.name, ctx);
        // The relay itself seals the states of calls to a legacy server.
        let translates = self.is_modern.load(Ordering::Acquire);
        let scope = Arc::clone(exchange.context.scope());
        let original = Exchange {
            context: exchange.context.clone(),
        };
        let mut exchange = exchange;
        if translates && let Some(params) = states.open(&exchange)? {
            let transport = Arc::clone(scope.transport());
            exchange = scope.forwarded(known(exchange.route().name()), params, transport);
        }
        let result = self.forward(exchange).await?;
        let Some(mut members) = RawObject::parse(result.as_raw_value()) else {
            return Ok(result);
        };
        if members.text("resultType").as_deref() != Some("input_required") {
            return Ok(result);
        }
        if translates {
            states.seal(&original, &mut members)?;
        }
        apply_rules(rules, &mut members)?;
        Ok(members.finish())
    }

    async fn forward(&self, exchange: Exchange) -> Result<RawJson, ErrorObject> {
        match self.relay.forward(exchange).await? {
            EncodedResult::Json(result) => Ok(result),
            EncodedResult::Shared(_) | EncodedResult::Message(_) => Err(ErrorObject::internal(
                "the relay returned a result that is encoded already",
            )),
        }
    }
}

/// Returns the parameters without what belongs to the client's connection only.
fn prepared(rules: &InputRules, params: RawJson) -> RawJson {
    let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
        return params;
    };
    // Tasks of the upstream server are not offered.
    members.remove("task");
    remove_login_response(&mut members);
    if let Some(meta) = members.object_mut("_meta")
        && let Some(capabilities) = meta.object_mut(meta_key::CLIENT_CAPABILITIES)
    {
        rules.restrict(capabilities);
    }
    let edited = members.finish_if_edited();
    edited.unwrap_or_else(|| params.clone())
}

/// Applies the rules for input requests to an `input_required` result.
fn apply_rules(rules: &InputRules, members: &mut RawObject<'_>) -> Result<(), ErrorObject> {
    let Some(requests) = members.object_mut("inputRequests") else {
        return Ok(());
    };
    let keys: Vec<String> = requests.iter().map(|(key, _)| key.into_owned()).collect();
    for key in keys {
        let Some(request) = requests.object_mut(&key) else {
            continue;
        };
        let method = request.text("method").unwrap_or_default().into_owned();
        let params = request
            .get("params")
            .map(|params| RawJson::from(params.raw()));
        let applied = rules.apply(&method, params.clone().unwrap_or_else(RawJson::null))?;
        if params.is_some_and(|params| params != applied) {
            request.set("params", applied);
        }
    }
    Ok(())
}
