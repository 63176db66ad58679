//! What a caller needs before it may use a tool, a prompt or a resource.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use toolwire_proto::admit::Admitted;
use toolwire_proto::auth::scopes::{InvalidScope, ScopeSet};
use toolwire_proto::subscriptions::LONGEST_FILTER;
use toolwire_types::{
    ClientCapabilities, CompleteRequestParams, CompletionReference,
    SubscriptionsListenRequestParams,
};

use crate::server::registration::RegistrationError;
use crate::server::snapshot::Snapshot;

/// What a caller needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    /// What the client must have declared.
    pub(crate) capabilities: Option<ClientCapabilities>,
    /// What an access token must grant.
    pub(crate) scopes: ScopeSet,
    /// A scope that is none, told when it is registered.
    invalid: Option<InvalidScope>,
}

impl Access {
    pub(crate) fn add_scopes<S: Into<String>>(&mut self, scopes: impl IntoIterator<Item = S>) {
        for scope in scopes {
            match ScopeSet::parse(&scope.into()) {
                Ok(scope) => self.scopes = self.scopes.union(&scope),
                Err(invalid) => self.invalid = Some(invalid),
            }
        }
    }

    /// Refuses scopes that are none; `what` they are for is named in the error.
    pub(crate) fn check(&self, what: &str) -> Result<(), RegistrationError> {
        match &self.invalid {
            Some(invalid) => Err(RegistrationError::new(format!("{what}: {invalid}"))),
            None => Ok(()),
        }
    }
}

impl Snapshot {
    /// The scopes that a request needs, all of them; none when it names nothing that needs any, or nothing readable.
    pub(crate) fn scopes_for(&self, request: &Admitted<'_>) -> ScopeSet {
        let name = request.name.as_deref().unwrap_or_default();
        let scopes_at = |uri: &str| {
            self.find_resource(uri)
                .map(|found| found.access().scopes.clone())
        };
        let scopes = match request.method.name() {
            "tools/call" => self
                .tools
                .get(name)
                .map(|tool| tool.access().scopes.clone()),
            "prompts/get" => self
                .prompts
                .get(name)
                .map(|prompt| prompt.access().scopes.clone()),
            "resources/read" | "resources/subscribe" => scopes_at(name),
            "completion/complete" => read(request).and_then(|request: CompleteRequestParams| {
                let access = self.completed(&request.reference)?;
                Some(access.scopes.clone())
            }),
            "subscriptions/listen" => {
                read(request).map(|request: SubscriptionsListenRequestParams| {
                    let uris = request
                        .notifications
                        .resource_subscriptions
                        .unwrap_or_default();
                    let uris: BTreeSet<String> = uris.into_iter().collect();
                    // More are refused by whoever opens the stream, so that nothing is gained by looking at them.
                    let uris = uris.iter().take(LONGEST_FILTER);
                    let needed = uris.filter_map(|uri| scopes_at(uri));
                    needed.fold(ScopeSet::new(), |all, scopes| all.union(&scopes))
                })
            }
            _ => None,
        };
        scopes.unwrap_or_default()
    }

    /// What a caller needs who wants to fill in a prompt or a template.
    pub(crate) fn completed(&self, reference: &CompletionReference) -> Option<&Access> {
        match reference {
            CompletionReference::Prompt(prompt) => {
                let prompt = self.prompts.get(&prompt.name);
                prompt.map(|prompt| prompt.access())
            }
            CompletionReference::Resource(template) => {
                let template = self.templates.get(&template.uri);
                template.map(|template| template.access())
            }
            _ => None,
        }
    }
}

/// The parameters of a request; what cannot be read is refused by whoever serves it.
fn read<T: DeserializeOwned>(request: &Admitted<'_>) -> Option<T> {
    serde_json::from_str(request.params?.get()).ok()
}

/// The methods of everything that has an `Access`, at this place.
macro_rules! access_options {
    ($($access:ident).+) => {
        /// Capabilities a client must declare before it may use this; without them it is refused with −32021.
        #[must_use]
        pub fn requires(mut self, capabilities: ::toolwire_types::ClientCapabilities) -> Self {
            self.$($access).+.capabilities = Some(capabilities);
            self
        }

        /// Scopes that an access token must grant before its owner may use this, over HTTP.
        ///
        /// A request without them is refused with 403 and a challenge that names them all. Over HTTP without
        /// authorization nobody has scopes, so nobody may use it; on stdio and in process there are no tokens, and
        /// everybody may.
        #[must_use]
        pub fn requires_scopes<S: Into<String>>(
            mut self,
            scopes: impl IntoIterator<Item = S>,
        ) -> Self {
            self.$($access).+.add_scopes(scopes);
            self
        }
    };
}

pub(crate) use access_options;
