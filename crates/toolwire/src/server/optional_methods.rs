//! The methods for prompts, resources and completion, which not every server has.
//!
//! The first registration of a prompt or resource installs its methods. No other code refers to them, so the linker
//! removes them from programs without such handlers.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::DeserializeOwned;
use toolwire_proto::admit::Admitted;
use toolwire_proto::methods::Method;
use toolwire_proto::scopes::ScopeSet;
use toolwire_proto::stamp;
use toolwire_proto::subscriptions::LONGEST_FILTER;
use toolwire_types::{
    CompleteRequestParams, EmptyResult, SubscribeRequestParams, SubscriptionsListenRequestParams,
};

use crate::engine::{BoxFuture, Outcome};
use crate::server::completion;
use crate::server::input_methods;
use crate::server::lists;
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::Viewer;

/// The methods for one kind of handler. Each function returns `None` for other methods.
pub(crate) struct OptionalMethods {
    pub(crate) name: &'static str,
    /// Handles the methods that run no handler.
    pub(crate) respond: fn(&Snapshot, &Exchange) -> Option<Outcome>,
    /// Starts the methods that run a handler.
    pub(crate) start: for<'a> fn(&'static Method, &'a Exchange) -> Option<BoxFuture<'a, Outcome>>,
    /// Returns the scopes that an access token must grant.
    pub(crate) scopes: fn(&Snapshot, &Admitted<'_>, &Viewer<'_>) -> Option<ScopeSet>,
}

pub(crate) static PROMPTS: OptionalMethods = OptionalMethods {
    name: "prompts",
    respond: |snapshot, exchange| match exchange.route().name() {
        "prompts/list" => Some(lists::prompts(snapshot, exchange)),
        _ => None,
    },
    start: |method, exchange| match method.name {
        "prompts/get" => Some(Box::pin(input_methods::get_prompt(method, exchange))),
        _ => None,
    },
    scopes: |snapshot, request, viewer| match request.method.name() {
        "prompts/get" => {
            let prompt = snapshot.find_prompt(request.name.as_deref()?, viewer)?;
            Some(prompt.access().scopes.clone())
        }
        _ => None,
    },
};

pub(crate) static RESOURCES: OptionalMethods = OptionalMethods {
    name: "resources",
    respond: |snapshot, exchange| match exchange.route().name() {
        "resources/list" => Some(lists::resources(snapshot, exchange)),
        "resources/templates/list" => Some(lists::templates(snapshot, exchange)),
        "resources/subscribe" => Some(subscribe(snapshot, exchange, true)),
        "resources/unsubscribe" => Some(subscribe(snapshot, exchange, false)),
        _ => None,
    },
    start: |method, exchange| match method.name {
        "resources/read" => Some(Box::pin(input_methods::read_resource(method, exchange))),
        _ => None,
    },
    scopes: |snapshot, request, viewer| {
        let scopes_at = |uri: &str| {
            let resource = snapshot.find_resource(uri, viewer)?;
            Some(resource.access().scopes.clone())
        };
        match request.method.name() {
            "resources/read" | "resources/subscribe" => scopes_at(request.name.as_deref()?),
            "subscriptions/listen" => {
                let request: SubscriptionsListenRequestParams = read(request)?;
                let uris = request.notifications.resource_subscriptions?;
                let uris: BTreeSet<String> = uris.into_iter().collect();
                // Longer filters are rejected when the stream opens, so the remaining URIs are not checked.
                let uris = uris.iter().take(LONGEST_FILTER);
                let needed = uris.filter_map(|uri| scopes_at(uri));
                Some(needed.fold(ScopeSet::new(), |all, scopes| all.union(&scopes)))
            }
            _ => None,
        }
    },
};

/// The completion of prompt arguments and template variables.
pub(crate) static COMPLETION: OptionalMethods = OptionalMethods {
    name: "completion",
    respond: |_, _| None,
    start: |method, exchange| match method.name {
        "completion/complete" => Some(Box::pin(completion::complete(exchange))),
        _ => None,
    },
    scopes: |snapshot, request, viewer| match request.method.name() {
        "completion/complete" => {
            let request: CompleteRequestParams = read(request)?;
            let access = snapshot.completion_access(&request.reference, viewer)?;
            Some(access.scopes.clone())
        }
        _ => None,
    },
};

/// Handles `resources/subscribe` and `resources/unsubscribe`, which revisions up to 2025-11-25 have.
fn subscribe(snapshot: &Snapshot, exchange: &Exchange, subscribes: bool) -> Outcome {
    let request: SubscribeRequestParams = exchange.decode_params()?;
    let version = exchange.context.version();
    if subscribes {
        let resource = snapshot.find_resource(&request.uri, &exchange.viewer());
        let resource = resource.ok_or_else(|| stamp::resource_not_found(&request.uri, version))?;
        exchange.context.check_scopes(resource.access())?;
    }
    if let Some(connection) = exchange.context.connection_state() {
        if subscribes {
            connection.subscribe(&request.uri)?;
            let subscription = exchange.context.server().subscribe_to(&request.uri);
            let subscription =
                subscription.inspect_err(|_| connection.unsubscribe(&request.uri))?;
            connection.hold_subscription(&request.uri, Box::new(subscription));
        } else {
            connection.unsubscribe(&request.uri);
        }
    }
    snapshot.finish(EmptyResult::new(), version)
}

/// Parses the parameters of a request. Returns `None` if they are malformed, which the method itself rejects.
fn read<T: DeserializeOwned>(request: &Admitted<'_>) -> Option<T> {
    serde_json::from_str(request.params()?.get()).ok()
}

impl Snapshot {
    /// Installs the methods of a kind, unless they are installed.
    pub(crate) fn install(&mut self, kind: &'static OptionalMethods) {
        if !self.kinds.iter().any(|known| known.name == kind.name) {
            self.kinds.push(kind);
        }
    }

    pub(crate) fn dispatch_optional(&self, exchange: &Exchange) -> Option<Outcome> {
        self.kinds
            .iter()
            .find_map(|kind| (kind.respond)(self, exchange))
    }

    pub(crate) fn optional_handler<'a>(
        &self,
        method: &'static Method,
        exchange: &'a Exchange,
    ) -> Option<BoxFuture<'a, Outcome>> {
        self.kinds
            .iter()
            .find_map(|kind| (kind.start)(method, exchange))
    }

    pub(crate) fn scopes_of_kind(
        &self,
        request: &Admitted<'_>,
        viewer: &Viewer<'_>,
    ) -> Option<ScopeSet> {
        self.kinds
            .iter()
            .find_map(|kind| (kind.scopes)(self, request, viewer))
    }
}

impl fmt::Debug for OptionalMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
