//! From an admitted request to its outcome.
//!
//! Whatever needs no handler is answered on the spot; the rest becomes a future that the transport runs wherever it
//! likes. Dropping that future cancels the request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::stamp::{self, Stamp, Target};
use toolwire_types::{
    CompleteRequestParams, CompletionReference, DiscoverResult, EmptyResult, ErrorObject,
    InitializeRequestParams, InitializeResult, ProtocolVersion, RawJson, SetLevelRequestParams,
    SubscribeRequestParams,
};
use tracing::Instrument as _;

use crate::engine::{BoxFuture, CatchPanic, Exchange, Outcome, Reply, Route};
use crate::server::Server;
use crate::server::completion::CompletionRequest;
use crate::server::lists;
use crate::server::rounds_loop;
use crate::server::snapshot::{List, Snapshot};

/// The answer, or the work that leads to it.
pub(crate) enum Dispatch {
    Now(Outcome),
    Later(BoxFuture<'static, Outcome>),
}

impl Server {
    /// Routes a request.
    pub(crate) fn dispatch(&self, exchange: Exchange) -> Dispatch {
        let snapshot = Arc::clone(&exchange.snapshot);
        let version = exchange.context.version();
        if let Route::Known(method) = exchange.route
            && !method.is_offered(version, snapshot.capabilities())
        {
            return Dispatch::Now(Err(not_offered(method.name)));
        }
        let now = |outcome: Outcome| {
            Dispatch::Now(outcome.map_err(|error| stamp::stamp_error(error, version)))
        };
        match exchange.route.name() {
            "ping" => now(snapshot.finish(EmptyResult::new(), version)),
            "initialize" => now(initialize(&snapshot, &exchange)),
            "server/discover" => now(discover(&snapshot, version)),
            "tools/list" => now(lists::list(&snapshot, List::Tools, &exchange)),
            "prompts/list" => now(lists::list(&snapshot, List::Prompts, &exchange)),
            "resources/list" => now(lists::list(&snapshot, List::Resources, &exchange)),
            "resources/templates/list" => now(lists::list(&snapshot, List::Templates, &exchange)),
            "logging/setLevel" => now(set_level(&snapshot, &exchange)),
            "resources/subscribe" => now(subscribe(&snapshot, &exchange, true)),
            "resources/unsubscribe" => now(subscribe(&snapshot, &exchange, false)),
            method => {
                let span = tracing::debug_span!("exchange", method, id = %exchange.context.request_id(), %version);
                Dispatch::Later(match span.is_disabled() {
                    true => Box::pin(serve(exchange)),
                    false => Box::pin(serve(exchange).instrument(span)),
                })
            }
        }
    }
}

fn not_offered(method: &str) -> ErrorObject {
    ErrorObject::method_not_found(format!("`{method}` is not offered by this server"))
}

/// Runs a handler; a panic in it costs this request and nothing else.
async fn serve(exchange: Exchange) -> Outcome {
    let version = exchange.context.version();
    let scope = exchange.context.scope();
    let outcome = match CatchPanic::new(handle(&exchange)).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let method = exchange.route.name();
            // A subscriber may panic in turn, as `tracing_subscriber::fmt` does when standard error is gone. The request
            // is answered all the same.
            let report = || tracing::error!(method, id = %scope.id, "a handler panicked");
            let _ = catch_unwind(AssertUnwindSafe(report));
            Err(ErrorObject::internal(format!(
                "the handler of `{method}` failed unexpectedly"
            )))
        }
    };
    scope.complete();
    outcome.map_err(|error| stamp::stamp_error(error, version))
}

async fn handle(exchange: &Exchange) -> Outcome {
    match &exchange.route {
        Route::Known(method) => match method.name {
            "tools/call" => rounds_loop::call_tool(method, exchange).await,
            // Boxed, so that the future of a call need not have room for the others.
            "prompts/get" => Box::pin(rounds_loop::get_prompt(method, exchange)).await,
            "resources/read" => Box::pin(rounds_loop::read_resource(method, exchange)).await,
            "completion/complete" => Box::pin(complete(exchange)).await,
            other => Err(not_offered(other)),
        },
        Route::Custom(_) => Box::pin(call_method(exchange)).await,
    }
}

/// Runs a method of the author's own.
async fn call_method(exchange: &Exchange) -> Outcome {
    let name = exchange.route.name();
    let Some(method) = exchange.snapshot.methods.get(name) else {
        return Err(not_offered(name));
    };
    let version = exchange.context.version();
    let params = exchange.params.clone();
    let params = params.unwrap_or_else(RawJson::empty_object);
    let result = method
        .call(exchange.context.clone(), params)
        .await
        .map_err(|error| error.into_error_object())?;
    Ok(Reply::Json(stamp::stamp_raw(
        result,
        &exchange.snapshot.target(version),
    )))
}

impl Snapshot {
    /// What a result has to be made fit for.
    pub(crate) fn target(&self, version: ProtocolVersion) -> Target<'_> {
        let target = Target::new(version);
        match self.server_info() {
            Some(info) => target.with_server_info(info),
            None => target,
        }
    }

    /// Makes a result fit for its version and writes it.
    pub(crate) fn write<R: Stamp + Serialize>(
        &self,
        mut result: R,
        version: ProtocolVersion,
    ) -> Result<RawJson, ErrorObject> {
        result.stamp(&self.target(version));
        RawJson::from_serialize(&result).map_err(|error| {
            ErrorObject::internal(format!("the result could not be written: {error}"))
        })
    }

    /// [`write`](Self::write), as the reply of a request.
    pub(crate) fn finish<R: Stamp + Serialize>(
        &self,
        result: R,
        version: ProtocolVersion,
    ) -> Outcome {
        self.write(result, version).map(Reply::Json)
    }
}

fn initialize(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let request: InitializeRequestParams = exchange.decode_params()?;
    let Some(connection) = exchange.context.connection_state() else {
        return Err(ErrorObject::invalid_request(
            "this transport keeps no connection to initialize",
        ));
    };
    let version = connection.initialize(
        &request.protocol_version,
        &snapshot.supported,
        request.capabilities,
        Some(request.client_info),
    )?;
    let mut result = InitializeResult::new(
        version.as_str(),
        snapshot.capabilities().clone(),
        snapshot.info.clone(),
    );
    result.instructions.clone_from(&snapshot.instructions);
    snapshot.finish(result, version)
}

fn discover(snapshot: &Snapshot, version: ProtocolVersion) -> Outcome {
    let mut result =
        DiscoverResult::new(snapshot.supported.names(), snapshot.capabilities().clone());
    result.instructions.clone_from(&snapshot.instructions);
    result.ttl_ms = Some(snapshot.options.list_hint.ttl_ms());
    result.cache_scope = Some(snapshot.options.list_hint.scope);
    snapshot.finish(result, version)
}

fn set_level(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let request: SetLevelRequestParams = exchange.decode_params()?;
    if let Some(connection) = exchange.context.connection_state() {
        connection.set_minimum_log_level(request.level);
    }
    snapshot.finish(EmptyResult::new(), exchange.context.version())
}

fn subscribe(snapshot: &Snapshot, exchange: &Exchange, wanted: bool) -> Outcome {
    let request: SubscribeRequestParams = exchange.decode_params()?;
    let version = exchange.context.version();
    if wanted {
        let found = snapshot.find_resource(&request.uri);
        let found = found.ok_or_else(|| stamp::resource_not_found(&request.uri, version))?;
        exchange.context.check_scopes(found.access())?;
    }
    if let Some(connection) = exchange.context.connection_state() {
        if wanted {
            connection.subscribe(&request.uri)?;
        } else {
            connection.unsubscribe(&request.uri);
        }
    }
    snapshot.finish(EmptyResult::new(), version)
}

async fn complete(exchange: &Exchange) -> Outcome {
    let snapshot = &*exchange.snapshot;
    let version = exchange.context.version();
    let request: CompleteRequestParams = exchange.decode_params()?;
    let unknown =
        |what: &str, name: &str| ErrorObject::invalid_params(format!("unknown {what} `{name}`"));
    let completers = match &request.reference {
        CompletionReference::Prompt(reference) => {
            let prompt = snapshot.prompts.get(&reference.name);
            prompt
                .map(|prompt| prompt.completers.clone())
                .ok_or_else(|| unknown("prompt", &reference.name))?
        }
        CompletionReference::Resource(reference) => {
            let template = snapshot.templates.get(&reference.uri);
            match template {
                Some(template) => template.completers.clone(),
                // A fixed resource has nothing to complete, but it is a valid reference.
                None if snapshot.resources.contains_key(&reference.uri) => Default::default(),
                None => return Err(unknown("resource template", &reference.uri)),
            }
        }
        _ => {
            return Err(ErrorObject::invalid_params(
                "`ref` must be a prompt or a resource template",
            ));
        }
    };
    if let Some(access) = snapshot.completed(&request.reference) {
        exchange.context.check_scopes(access)?;
    }
    let typed = CompletionRequest {
        argument: request.argument.name,
        value: request.argument.value,
        arguments: request
            .context
            .and_then(|context| context.arguments)
            .unwrap_or_default(),
    };
    let completion = completers.complete(exchange.context.clone(), typed).await;
    snapshot.finish(completion.into_result(), version)
}
