//! The capabilities and scopes that a tool, prompt or resource requires.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use toolwire_proto::admit::Admitted;
use toolwire_proto::rounds::{self, MissingCapability};
use toolwire_proto::scopes::{InvalidScope, ScopeSet};
use toolwire_types::{ClientCapabilities, CompletionReference, ErrorObject};

use crate::engine::TokenInfo;
use crate::server::registry::RegistrationError;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::{Caller, Viewer};

/// The requirements for callers of a handler.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    /// The check of the capabilities that the client must declare.
    required: Option<Required>,
    /// The scopes that an access token must grant.
    pub(crate) scopes: ScopeSet,
    /// An invalid scope, reported at registration.
    invalid: Option<InvalidScope>,
}

/// A check that rejects clients without the required capabilities.
///
/// It is a function, so that the linker removes the comparison from programs that require no capabilities.
#[derive(Clone)]
struct Required(Arc<CapabilityCheck>);

type CapabilityCheck = dyn Fn(&ClientCapabilities) -> Result<(), ErrorObject> + Send + Sync;

impl fmt::Debug for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Required").finish_non_exhaustive()
    }
}

/// Rejects a client with −32021 if it did not declare all required capabilities.
pub(crate) fn check_declared(
    required: &ClientCapabilities,
    declared: &ClientCapabilities,
) -> Result<(), ErrorObject> {
    match rounds::missing_capabilities(required, declared) {
        Some(missing) => Err(MissingCapability::new(missing).into()),
        None => Ok(()),
    }
}

impl Access {
    pub(crate) fn require(&mut self, capabilities: ClientCapabilities) {
        let check = move |declared: &ClientCapabilities| check_declared(&capabilities, declared);
        self.required = Some(Required(Arc::new(check)));
    }

    /// Rejects a client that did not declare the required capabilities.
    pub(crate) fn check_client<'c>(
        &self,
        declared: impl FnOnce() -> &'c ClientCapabilities,
    ) -> Result<(), ErrorObject> {
        match &self.required {
            Some(Required(check)) => check(declared()),
            None => Ok(()),
        }
    }

    pub(crate) fn add_scopes<S: Into<String>>(&mut self, scopes: impl IntoIterator<Item = S>) {
        for scope in scopes {
            match ScopeSet::parse(&scope.into()) {
                Ok(scope) => self.scopes = self.scopes.union(&scope),
                Err(invalid) => self.invalid = Some(invalid),
            }
        }
    }

    /// Returns the requirements with the scopes of a mount.
    pub(crate) fn with_scopes_of(&self, mount: &Self) -> Self {
        let mut access = self.clone();
        access.scopes = access.scopes.union(&mount.scopes);
        access
    }

    /// Rejects invalid scopes. `what` names their owner in the error.
    pub(crate) fn check(&self, what: &str) -> Result<(), RegistrationError> {
        match &self.invalid {
            Some(invalid) => Err(RegistrationError::new(format!("{what}: {invalid}"))),
            None => Ok(()),
        }
    }
}

impl Snapshot {
    /// Returns all scopes that a request needs. The set is empty if the request names no known target or is malformed.
    ///
    /// What is hidden from the caller with this token needs none, as if it did not exist.
    pub(crate) fn scopes_for(
        &self,
        request: &Admitted<'_>,
        token: Option<&TokenInfo>,
    ) -> Cow<'_, ScopeSet> {
        let viewer = self
            .viewer(|| Caller::of_request(token, request))
            .of_call(request.method.name(), request.arguments());
        // If a rule panics, the request fails when it is dispatched, where the rule runs again.
        self.catch_rule_panic(request.method.name(), || {
            self.scopes_seen_by(&viewer, request)
        })
        .unwrap_or_default()
    }

    /// Returns the scopes that a request needs for an entry that its caller sees.
    fn scopes_seen_by(&self, viewer: &Viewer<'_>, request: &Admitted<'_>) -> Cow<'_, ScopeSet> {
        let scopes = match request.method.name() {
            "tools/call" => {
                let name = request.name.as_deref().unwrap_or_default();
                let tool = self.find_tool(name, viewer);
                tool.map(|tool| Cow::Borrowed(&tool.access().scopes))
            }
            _ => self.scopes_of_kind(request, viewer).map(Cow::Owned),
        };
        scopes.unwrap_or_default()
    }

    /// Returns the requirements for completing the arguments of a prompt or template.
    pub(crate) fn completion_access(
        &self,
        reference: &CompletionReference,
        viewer: &Viewer<'_>,
    ) -> Option<&Access> {
        match reference {
            CompletionReference::Prompt(prompt) => {
                let prompt = self.find_prompt(&prompt.name, viewer);
                prompt.map(|prompt| prompt.access())
            }
            CompletionReference::Resource(template) => {
                let template = self.find_template(&template.uri, viewer);
                template.map(|template| template.access())
            }
            _ => None,
        }
    }
}

/// The `requires` methods of all handlers, over the given `Access` field.
macro_rules! access_options {
    ($($access:ident).+) => {
        /// Sets the capabilities that a client must declare to use this. Other clients are rejected with −32021.
        #[must_use]
        pub fn requires(mut self, capabilities: ::toolwire_types::ClientCapabilities) -> Self {
            self.$($access).+.require(capabilities);
            self
        }

        /// Adds scopes that an access token must grant to use this over HTTP.
        ///
        /// A request without these scopes is rejected with 403 and a challenge that names them all. Over HTTP without
        /// authorization, callers have no scopes, so every request is rejected. On stdio and in process there are no
        /// tokens, and every caller may use it.
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
