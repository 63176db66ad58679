//! Dispatches an admitted request and produces its outcome.
//!
//! A request that needs no handler completes immediately. All others return a future for the transport to run. Dropping
//! that future cancels the request.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use toolwire_proto::methods::not_offered;
use toolwire_proto::stamp::{self, Stamp, Target};
use toolwire_types::{
    CacheScope, DiscoverResult, EmptyResult, ErrorObject, InitializeRequestParams,
    InitializeResult, ProtocolVersion, RawJson, SetLevelRequestParams,
};
use tracing::{Instrument as _, Span};

use crate::engine::{
    BoxFuture, CatchPanic, EncodedResult, MAX_PEER_BYTES, Outcome, SlowPoll, report_blocking,
};
use crate::server::Server;
use crate::server::call_log::{self, CallLog};
use crate::server::input_methods;
use crate::server::inspection::Observation;
use crate::server::lists;
use crate::server::request::{Exchange, MethodRoute};
use crate::server::result_meta::remove_forbidden_meta;
use crate::server::snapshot::Snapshot;

/// The maximum bytes of the parameters of `initialize`. The stored part, which is most of them, has its own limit.
const MAX_INITIALIZE_BYTES: usize = 2 * MAX_PEER_BYTES;

/// The outcome, or a future that produces it.
pub(crate) enum Dispatch {
    Now(Outcome),
    Later(BoxFuture<'static, Outcome>),
}

impl Server {
    /// Dispatches a request, through the middleware of the server if it has any.
    #[inline]
    pub(crate) fn dispatch(&self, exchange: Exchange) -> Dispatch {
        if exchange.snapshot().middleware.is_some() {
            return dispatch_through_middleware(exchange);
        }
        route(exchange)
    }
}

#[cold]
fn dispatch_through_middleware(exchange: Exchange) -> Dispatch {
    let snapshot = exchange.snapshot();
    match &snapshot.middleware {
        Some(chain)
            if snapshot.has_mount_middleware
                || chain.is_active()
                || Observation::is_wanted(&exchange) =>
        {
            chain.clone().dispatch(exchange)
        }
        _ => route(exchange),
    }
}

/// Routes a request to its handler.
pub(crate) fn route(exchange: Exchange) -> Dispatch {
    if exchange.snapshot().is_filtered {
        return route_filtered(exchange);
    }
    route_visible(exchange)
}

/// Routes a request of a server with visibility rules, which may panic.
#[cold]
fn route_filtered(exchange: Exchange) -> Dispatch {
    let context = exchange.context.clone();
    let method = context.scope().route.name();
    let snapshot = &context.scope().snapshot;
    snapshot
        .catch_rule_panic(method, || route_visible(exchange))
        .unwrap_or_else(|error| Dispatch::Now(Err(stamp::stamp_error(error, context.version()))))
}

#[inline]
fn route_visible(exchange: Exchange) -> Dispatch {
    #[cfg(feature = "relay")]
    if let Some(forwarder) = &exchange.snapshot().forwarder {
        let forwarder = std::sync::Arc::clone(forwarder);
        return Dispatch::Later(forwarder.serve(exchange));
    }
    let snapshot = exchange.snapshot();
    let version = exchange.context.version();
    let now = |outcome: Outcome| {
        Dispatch::Now(outcome.map_err(|error| stamp::stamp_error(error, version)))
    };
    let context = &exchange.context;
    let rejection = match exchange.route() {
        MethodRoute::Known(method) => {
            let server = snapshot.capabilities();
            method.rejection(version, server, || context.client_capabilities())
        }
        MethodRoute::Custom(name) => snapshot.extension_rejection(name, context),
    };
    if let Some(error) = rejection {
        return now(Err(error));
    }
    match exchange.route().name() {
        "ping" => now(snapshot.finish(EmptyResult::new(), version)),
        "initialize" => now(initialize(snapshot, &exchange)),
        "server/discover" => now(discover(snapshot, &exchange)),
        "tools/list" => now(lists::tools(snapshot, &exchange)),
        "logging/setLevel" => now(set_level(snapshot, &exchange)),
        "tools/call" => dispatch_later(exchange),
        _ => match snapshot.dispatch_optional(&exchange) {
            Some(outcome) => now(outcome),
            None => dispatch_later(exchange),
        },
    }
}

fn dispatch_later(exchange: Exchange) -> Dispatch {
    let span = call_log::span(&exchange);
    Dispatch::Later(if span.is_disabled() {
        Box::pin(serve(exchange))
    } else {
        serve_logged(exchange, span)
    })
}

/// Runs a handler in its span, and logs the outcome.
#[cold]
fn serve_logged(exchange: Exchange, span: Span) -> BoxFuture<'static, Outcome> {
    call_log::record_trace(&span, &exchange.context);
    let log = CallLog::start(exchange.context.clone());
    let serving = async move {
        let outcome = serve(exchange).await;
        log.end(&outcome);
        outcome
    };
    Box::pin(serving.instrument(span))
}

/// Runs a handler. A panic fails only this request.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` stores its parameters twice"
)]
fn serve(exchange: Exchange) -> impl Future<Output = Outcome> + Send {
    async move {
        let report = |duration| {
            let (method, name) = (exchange.route().name(), exchange.name());
            report_blocking(method, name.unwrap_or_default(), duration);
        };
        let handled = SlowPoll::new(handle(&exchange), report);
        let outcome = match CatchPanic::new(handled).await {
            Ok(outcome) => outcome,
            Err(_) => Err(panic_error(&exchange)),
        };
        exchange.context.scope().complete();
        outcome.map_err(|error| stamp::stamp_error(error, exchange.context.version()))
    }
}

#[cold]
fn panic_error(exchange: &Exchange) -> ErrorObject {
    let (method, id) = (exchange.route().name(), exchange.context.request_id());
    // A subscriber may panic as well, as `tracing_subscriber::fmt` does if standard error is closed. The request still
    // receives its response.
    let report = || tracing::error!(method, %id, "a handler panicked");
    let _ = catch_unwind(AssertUnwindSafe(report));
    ErrorObject::internal(format!("the handler of `{method}` failed unexpectedly"))
}

#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` stores its parameters twice"
)]
fn handle(exchange: &Exchange) -> impl Future<Output = Outcome> + Send {
    async move {
        match exchange.route() {
            MethodRoute::Known(method) if method.name == "tools/call" => {
                input_methods::call_tool(method, exchange).await
            }
            _ => handle_other(exchange).await,
        }
    }
}

/// Returns the future of a method other than `tools/call`.
#[cold]
fn handle_other(exchange: &Exchange) -> BoxFuture<'_, Outcome> {
    let MethodRoute::Known(method) = exchange.route() else {
        return Box::pin(call_method(exchange));
    };
    let work = exchange.snapshot().optional_handler(method, exchange);
    work.unwrap_or_else(|| {
        Box::pin(std::future::ready(Err(match method.name {
            // Up to 2024-11-05, no capability announces this method.
            "completion/complete" => ErrorObject::invalid_params(
                "this server has no prompts and no resources to complete",
            ),
            other => not_offered(other),
        })))
    })
}

/// Runs a method that the author registered.
async fn call_method(exchange: &Exchange) -> Outcome {
    let name = exchange.route().name();
    let Some(method) = exchange.snapshot().methods.get(name) else {
        return Err(not_offered(name));
    };
    let version = exchange.context.version();
    let params = exchange.params().cloned();
    let params = params.unwrap_or_else(RawJson::empty_object);
    let mut result = method
        .call(exchange.context.clone(), params)
        .await
        .map_err(|error| error.into_error_object())?;
    remove_forbidden_meta(&mut result, name, None);
    Ok(EncodedResult::Json(stamp::stamp_raw(
        result,
        &exchange.snapshot().target(version),
    )))
}

impl Snapshot {
    /// Returns the target that a result is stamped for.
    pub(crate) fn target(&self, version: ProtocolVersion) -> Target<'_> {
        let target = Target::new(version);
        match self.server_info() {
            Some(info) => target.with_server_info(info),
            None => target,
        }
    }

    /// Stamps a result for its version and encodes it.
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

    /// Calls [`write`](Self::write) and returns the outcome of the request.
    pub(crate) fn finish<R: Stamp + Serialize>(
        &self,
        result: R,
        version: ProtocolVersion,
    ) -> Outcome {
        self.write(result, version).map(EncodedResult::Json)
    }
}

/// Rejects the parameters of an `initialize` that are too large. Called before they are decoded, which needs several times
/// as much memory.
pub(crate) fn check_initialize_size(exchange: &Exchange) -> Result<(), ErrorObject> {
    let bytes = exchange.params().map_or(0, |params| params.get().len());
    if bytes <= MAX_INITIALIZE_BYTES {
        return Ok(());
    }
    Err(ErrorObject::invalid_params(format!(
        "the parameters of `initialize` have {bytes} bytes; the limit is {MAX_INITIALIZE_BYTES}"
    )))
}

fn initialize(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    check_initialize_size(exchange)?;
    let request: InitializeRequestParams = exchange.decode_params()?;
    let Some(connection) = exchange.context.connection_state() else {
        return Err(ErrorObject::invalid_request(
            "this transport has no connection to initialize",
        ));
    };
    let version = connection.initialize(
        &request.protocol_version,
        &snapshot.supported,
        request.capabilities,
        Some(request.client_info),
    )?;
    let mut capabilities = snapshot.capabilities_in(version);
    if !exchange.context.auth().valid
        && let Some(tasks) = &mut capabilities.tasks
    {
        // 2025-11-25, basic/utilities/tasks, "Task Isolation and Access Control": anonymous callers would see the tasks
        // of others in the list.
        tasks.list = None;
    }
    let mut result = InitializeResult::new(version.as_str(), capabilities, snapshot.info.clone());
    result.instructions = snapshot.instructions_for(&exchange.viewer());
    snapshot.finish(result, version)
}

fn discover(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let version = exchange.context.version();
    let mut result = DiscoverResult::new(
        snapshot.supported.names(),
        snapshot.capabilities_in(version),
    );
    result.instructions = snapshot.instructions_for(&exchange.viewer());
    let hint = snapshot.options.list_hint();
    result.ttl_ms = Some(hint.ttl_ms());
    result.cache_scope = Some(if snapshot.has_private_instructions() {
        CacheScope::Private
    } else {
        hint.scope
    });
    snapshot.finish(result, version)
}

fn set_level(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let request: SetLevelRequestParams = exchange.decode_params()?;
    if let Some(connection) = exchange.context.connection_state() {
        connection.set_minimum_log_level(request.level);
    }
    snapshot.finish(EmptyResult::new(), exchange.context.version())
}
