//! The middleware of the mount of an upstream: decides about every request before the upstream is contacted.
//!
//! The server has found the entry of the request, so the guard knows its upstream and its name there. It looks up nothing
//! by the name that the client sent.

use std::sync::Arc;

use toolwire::middleware::{Middleware, Next, Outcome, Request};
use toolwire::{BoxFuture, MountedUris};
use toolwire_proto::methods::is_about_task;
use toolwire_proto::relay::policy::Decision;

use crate::access::{AccessRules, EntryKind, EntryUse};
use crate::decision_record::record;
use crate::source::{GatewaySource, UsedEntries};
use crate::unknown::unknown_entry;

/// Rejects the requests that the policy denies.
pub(crate) struct Guard {
    source: GatewaySource,
    access: Arc<AccessRules>,
    /// The URIs at the main address.
    uris: MountedUris,
}

impl Guard {
    pub(crate) fn new(source: GatewaySource, access: Arc<AccessRules>, uris: MountedUris) -> Self {
        Self {
            source,
            access,
            uris,
        }
    }

    /// Returns the decision about a request. An entry that the upstream does not have any more is denied.
    fn decide(&self, request: &Request) -> Decision {
        let Some(own_name) = request.source_name() else {
            return Decision::denied();
        };
        let table = self.source.table();
        let arguments = EntryUse::Call(request.arguments());
        let mut sent_uri = None;
        let (kinds, entry_use) = match request.method() {
            "tools/call" => (vec![EntryKind::Tool], arguments),
            "prompts/get" => (vec![EntryKind::Prompt], arguments),
            "resources/read" | "resources/subscribe" => {
                sent_uri = request.name().filter(|sent| *sent != own_name);
                (vec![EntryKind::Resource], arguments)
            }
            // The rules saw the arguments when the task was created.
            method if is_about_task(method) => (vec![EntryKind::Tool], EntryUse::List),
            // A completion, which has no arguments yet.
            _ => (table.kinds(own_name), EntryUse::List),
        };
        let token = request.scope().auth();
        // The gateway itself reads the lists as the anonymous caller, with the login of a user.
        if self.source.has_logins() && !token.valid {
            return Decision::denied();
        }
        let used = UsedEntries {
            kinds: &kinds,
            own_name,
            sent_uri,
        };
        (self.source).decide(&self.access, &self.uris, used, token, entry_use)
    }
}

impl Middleware for Guard {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let decision = self.decide(request);
            let entry = request.source_name().unwrap_or_default();
            record(self.source.name(), entry, decision);
            if decision.is_allowed {
                next.run(request).await
            } else {
                unknown_entry(request).into()
            }
        })
    }
}
