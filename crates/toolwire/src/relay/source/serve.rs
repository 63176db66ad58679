//! Forwards the requests for entries of an upstream server.

use std::sync::Arc;

use toolwire_proto::cache::without_sharing;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods::is_about_task;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{CallToolResult, ErrorObject, RawJson, meta_key};

use crate::engine::{EncodedResult, Principal, TransportContext};
use crate::relay::connection::lacks_credential;
use crate::relay::source::SourceInner;
use crate::relay::source::caller::{CallingClient, InputRules};
use crate::relay::source::forwarded_state::StateTranslation;
use crate::relay::source::login::{LoginCheck, remove_login_response};
use crate::relay::source::session::known;
use crate::relay::source::tasks::TaskIds;
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
        let Some(login) = self.login_check(ctx.scope().route.name(), ctx) else {
            return self.serve_logged_in(method, ctx, params).await;
        };
        if let Err(outcome) = login.complete(&params).await {
            return outcome;
        }
        match self.serve_logged_in(method, ctx, params.clone()).await {
            Err(error) if lacks_credential(&error) => login.failed(error, &params).await,
            outcome => outcome,
        }
    }

    /// Serves a call of a tool that does nothing but log its caller in.
    pub(super) async fn log_in(
        &self,
        ctx: &RequestContext,
        params: &RawJson,
    ) -> Result<RawJson, ErrorObject> {
        if let Some(login) = self.login_check("tools/call", ctx)
            && let Err(outcome) = login.complete(params).await
        {
            return outcome;
        }
        let text = format!("You are logged in to `{}`.", self.name);
        let result = RawJson::from_serialize(&CallToolResult::text(text));
        result.map_err(|_| ErrorObject::internal("a result could not be written"))
    }

    /// Returns the check of the caller's login, if the upstream server has credentials.
    fn login_check<'a>(
        &'a self,
        method: &'a str,
        ctx: &'a RequestContext,
    ) -> Option<LoginCheck<'a>> {
        Some(LoginCheck {
            credentials: &**self.credentials.as_ref()?,
            ctx,
            method,
            upstream: &self.name,
        })
    }

    async fn serve_logged_in(
        self: &Arc<Self>,
        method: &'static str,
        ctx: &RequestContext,
        params: RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let task = self.task_of(ctx)?;
        // Requests about a task are passed to its tool.
        let (method, params) = match &task {
            Some(task) => (ctx.scope().route.name(), task.in_request(params)),
            None => (method, params),
        };
        let transport = Arc::clone(ctx.scope().transport());
        let rules = self.input_rules(&*transport, ctx.scope().snapshot.has_several_sources);
        let client = self.calling_client(transport, rules.clone(), task.clone());
        let params = prepared(&rules, params, self.accepts_task_request(ctx));
        let exchange = ctx
            .scope()
            .forwarded(known(method), params, Arc::clone(&client));
        let result = if ctx.version().is_modern() {
            self.serve_modern(ctx, exchange, &rules).await?
        } else {
            self.open_session(ctx, &client, &rules).await?;
            self.forward(exchange).await?
        };
        let result = self.with_client_ids(ctx, task.as_ref(), result)?;
        // The upstream server may have chosen the contents for the credential of the caller.
        Ok(match method {
            "resources/read" if self.is_per_caller => without_sharing(result),
            _ => result,
        })
    }

    /// Returns the rules for input requests to a client. `names_upstream` is `true` if other servers could ask as well.
    pub(super) fn input_rules(
        &self,
        client: &dyn TransportContext,
        names_upstream: bool,
    ) -> InputRules {
        InputRules {
            permitted: self.input,
            sampling: self.sampling.as_ref().map(|limit| limit.of(client)),
            upstream: self.name.clone(),
            names_upstream,
        }
    }

    /// Returns a client as the upstream server may reach it, and the task that its request is about.
    pub(super) fn calling_client(
        self: &Arc<Self>,
        client: Arc<dyn TransportContext>,
        rules: InputRules,
        task: Option<TaskIds>,
    ) -> Arc<dyn TransportContext> {
        let source = Arc::downgrade(self);
        Arc::new(CallingClient::new(client, source, rules, task))
    }

    /// Forwards a request of a modern client, whose input requests are part of the result.
    async fn serve_modern(
        &self,
        ctx: &RequestContext,
        exchange: Exchange,
        rules: &InputRules,
    ) -> Result<RawJson, ErrorObject> {
        let states = StateTranslation::new(&self.name, ctx);
        let connection = self.relay.connection_of(Principal::of(ctx.auth())).await?;
        // The relay itself seals the states of calls to a legacy server.
        let translates = connection.is_modern();
        let scope = Arc::clone(exchange.context.scope());
        let original = Exchange {
            context: exchange.context.clone(),
        };
        let mut exchange = exchange;
        if translates && let Some(params) = states.open(&exchange)? {
            let transport = Arc::clone(scope.transport());
            exchange = scope.forwarded(known(exchange.route().name()), params, transport);
        }
        let result = self.relay.forward_modern(&connection, &exchange).await?;
        let Some(mut members) = RawObject::parse(result.as_raw_value()) else {
            return Ok(result);
        };
        // A task that waits for input has its input requests in a complete result. A new task should have none yet, but a
        // client might show them.
        let has_type = |kind: &str| members.text("resultType").as_deref() == Some(kind);
        let is_task = is_about_task(original.route().name()) || has_type("task");
        if !is_task && !has_type("input_required") {
            return Ok(result);
        }
        if translates && !is_task {
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
fn prepared(rules: &InputRules, params: RawJson, accepts_task_request: bool) -> RawJson {
    let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
        return params;
    };
    if !accepts_task_request {
        members.remove("task");
    }
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
