//! Runs the middleware of a server around one request.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use toolwire_proto::inspection::SpanKind;
use toolwire_types::ErrorObject;

use crate::engine::{self, BoxFuture, CatchPanic};
use crate::server::dispatch::{Dispatch, route};
use crate::server::inspection::{Observation, observe};
use crate::server::middleware::{Middleware, Next, Outcome, Request};
use crate::server::request::Exchange;

/// The middleware of a server, the outermost first.
#[derive(Clone)]
pub(crate) struct Chain(Arc<[Arc<dyn Middleware>]>);

impl Chain {
    /// Returns a chain with one more middleware at its inner end.
    pub(crate) fn with(outer: Option<&Self>, middleware: Arc<dyn Middleware>) -> Self {
        let outer = outer.map(|chain| &*chain.0).unwrap_or_default();
        Self(outer.iter().cloned().chain([middleware]).collect())
    }

    /// Returns a chain without middleware, for servers whose mounts have middleware.
    pub(crate) fn empty() -> Self {
        Self(Arc::default())
    }

    /// Returns `true` if there is no middleware.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if a middleware does something with requests. One that panics here counts as active.
    pub(crate) fn is_active(&self) -> bool {
        let is_active = || self.0.iter().any(|middleware| middleware.is_active());
        catch_unwind(AssertUnwindSafe(is_active)).unwrap_or(true)
    }

    /// Returns a chain with further middleware at its inner end.
    pub(crate) fn joined(outer: Option<&Self>, inner: &Self) -> Self {
        let outer = outer.map(|chain| &*chain.0).unwrap_or_default();
        Self(outer.iter().chain(&*inner.0).cloned().collect())
    }

    /// Calls a function for each middleware. A panic in one does not affect the others.
    pub(crate) fn notify(&self, notify: impl Fn(&dyn Middleware)) {
        for middleware in &*self.0 {
            let notified = catch_unwind(AssertUnwindSafe(|| notify(&**middleware)));
            if notified.is_err() {
                let report = || tracing::error!("a middleware panicked when it was notified");
                let _ = catch_unwind(AssertUnwindSafe(report));
            }
        }
    }

    /// Dispatches a request through the chain.
    #[cold]
    pub(crate) fn dispatch(&self, exchange: Exchange) -> Dispatch {
        let changes_connection = changes_connection(exchange.route().name());
        let mut running = self.run(exchange, Endpoint::Handler);
        if changes_connection {
            // The messages that follow must see the changed connection, so the request is not left to a task if the
            // middleware does not wait. A later poll replaces the waker.
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(outcome) = running.as_mut().poll(&mut context) {
                return Dispatch::Now(outcome);
            }
        }
        Dispatch::Later(running)
    }

    /// Runs a request through the chain to an endpoint. A panic fails only this request.
    pub(crate) fn run(
        &self,
        exchange: Exchange,
        endpoint: Endpoint,
    ) -> BoxFuture<'static, engine::Outcome> {
        let chain = Arc::clone(&self.0);
        let observation = Observation::of(&exchange);
        let observed = observation.clone();
        let running = Box::pin(async move {
            let mut request = Request::new(exchange, observed);
            let next = Next::new(&chain, endpoint);
            let outcome = match CatchPanic::new(next.run(&mut request)).await {
                Ok(outcome) => outcome,
                Err(_) => panic_error(&request).into(),
            };
            request.finish(outcome)
        });
        match observation {
            Some(observation) => observe(observation, running),
            None => running,
        }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chain").field(&self.0.len()).finish()
    }
}

/// Returns `true` if a method changes the state of its connection, which later requests depend on.
fn changes_connection(method: &str) -> bool {
    matches!(
        method,
        "initialize" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
    )
}

#[cold]
pub(super) fn panic_error(request: &Request) -> ErrorObject {
    let method = request.method();
    // A subscriber may panic as well. The request still receives its response.
    let report = || tracing::error!(method, "a middleware panicked");
    let _ = catch_unwind(AssertUnwindSafe(report));
    ErrorObject::internal(format!("a middleware of `{method}` failed unexpectedly"))
}

/// What is at the inner end of a chain.
pub(crate) enum Endpoint {
    /// The handler that the request is routed to, inside the middleware of its mount.
    Handler,
    /// The handler, inside all middleware.
    Routed,
    /// Work of the transport: a stream of changes.
    Transport(Box<TransportWork>),
}

/// Runs the rest of a chain. Boxed, because it runs inside the rest of another chain.
fn boxed_run<'a>(next: Next<'a>, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
    Box::pin(next.run(request))
}

/// Work of a transport for one request.
pub(crate) type TransportWork = dyn FnOnce(Exchange) -> BoxFuture<'static, engine::Outcome> + Send;

impl Endpoint {
    pub(crate) async fn run(self, request: &mut Request) -> Outcome {
        if matches!(self, Self::Handler)
            && let Some(chain) = request.enter_mount()
        {
            let next = Next::new(&chain.0, Self::Routed);
            return boxed_run(next, request).await;
        }
        let _span = request.begin_span(SpanKind::Handler, || "".into());
        let exchange = request.exchange();
        let outcome = match self {
            Self::Handler | Self::Routed => match route(exchange) {
                Dispatch::Now(outcome) => outcome,
                Dispatch::Later(running) => running.await,
            },
            Self::Transport(work) => work(exchange).await,
        };
        Outcome::from_encoded(outcome)
    }
}
