//! The middleware around every exchange of the gateway: the policy, and the audit log.

use std::sync::{Arc, Mutex};

use toolwire::BoxFuture;
use toolwire::middleware::{Middleware, Next, Outcome, Request};
use toolwire_proto::relay::policy::Decision;

use crate::access::{AccessRules, EntryUse};
use crate::audit::AuditLog;
use crate::entries::{EntryTable, NamedEntry};
use crate::resource_routes::ResourceRoutes;
use crate::source::GatewaySource;
use crate::sync::lock;
use crate::unknown::unknown_entry;

/// The sources of a server, in the order of its mounts.
pub(crate) type SharedSources = Arc<Mutex<Arc<Vec<GatewaySource>>>>;

/// Decides about every request before its upstream is contacted, and writes its line of the audit log.
pub(crate) struct Guard {
    sources: SharedSources,
    /// Whether tools and prompts have the names of the upstream, because it is alone at its address.
    has_own_names: bool,
    access: Arc<AccessRules>,
    audit: Arc<AuditLog>,
    /// The routes of the last request for a resource.
    resources: Mutex<Arc<ResourceRoutes>>,
}

impl Guard {
    pub(crate) fn new(
        sources: SharedSources,
        has_own_names: bool,
        access: Arc<AccessRules>,
        audit: Arc<AuditLog>,
    ) -> Self {
        Self {
            sources,
            has_own_names,
            access,
            audit,
            resources: Mutex::default(),
        }
    }

    /// Finds the upstream of a request, and the decision of the policy.
    fn decide(&self, request: &Request) -> Option<(String, Decision)> {
        let name = request.name()?;
        let sources = Arc::clone(&lock(&self.sources));
        let (table, entry) = match request.method() {
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                self.find_resource(&sources, name)?
            }
            method => sources.iter().find_map(|source| {
                let table = source.table();
                let entry = table.find(method, name, self.has_own_names)?;
                Some((table, entry))
            })?,
        };
        let ruled = table.ruled(&entry.exposed_name, &entry.own_name);
        let arguments = EntryUse::Call(request.arguments());
        let decision = self
            .access
            .decide(&ruled, request.scope().auth(), arguments);
        Some((table.upstream().to_owned(), decision))
    }

    fn find_resource(
        &self,
        sources: &[GatewaySource],
        uri: &str,
    ) -> Option<(Arc<EntryTable>, NamedEntry)> {
        let tables: Vec<Arc<EntryTable>> = sources.iter().map(GatewaySource::table).collect();
        let routes = {
            let mut routes = lock(&self.resources);
            if !routes.is_of(&tables) {
                *routes = Arc::new(ResourceRoutes::new(tables.clone()));
            }
            Arc::clone(&routes)
        };
        let (source, own_name) = routes.resolve(uri)?;
        let entry = NamedEntry {
            exposed_name: uri.to_owned(),
            own_name,
        };
        Some((Arc::clone(&tables[source]), entry))
    }
}

impl Middleware for Guard {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let decided = self.decide(request);
            let mut audited = match self.audit.begin(request) {
                Ok(audited) => audited,
                Err(error) => return error.into(),
            };
            if let (Some(audited), Some((upstream, decision))) = (&mut audited, &decided) {
                audited.set_decision(upstream, *decision);
            }
            let is_denied = decided.is_some_and(|(_, decision)| !decision.is_allowed);
            let outcome = if is_denied {
                unknown_entry(request).into()
            } else {
                next.run(request).await
            };
            if let Some(audited) = &mut audited {
                audited.end(&outcome);
            }
            outcome
        })
    }
}
