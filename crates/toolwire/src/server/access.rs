//! What a caller needs before it may use a tool, a prompt or a resource.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use toolwire_proto::admit::Admitted;
use toolwire_proto::rounds::{self, MissingCapability};
use toolwire_proto::scopes::{InvalidScope, ScopeSet};
use toolwire_types::{ClientCapabilities, CompletionReference, ErrorObject};

use crate::server::registration::RegistrationError;
use crate::server::snapshot::Snapshot;

/// What a caller needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    /// What the client must have declared.
    required: Option<Required>,
    /// What an access token must grant.
    pub(crate) scopes: ScopeSet,
    /// A scope that is none, told when it is registered.
    invalid: Option<InvalidScope>,
}

/// A demand for capabilities: refuses a client that did not declare them.
///
/// As a function, so that a program in which nothing demands anything does not contain the comparison.
#[derive(Clone)]
struct Required(Arc<CapabilityCheck>);

type CapabilityCheck = dyn Fn(&ClientCapabilities) -> Result<(), ErrorObject> + Send + Sync;

impl fmt::Debug for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Required").finish_non_exhaustive()
    }
}

/// Refuses with −32021 when the client did not declare everything that is required.
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

    /// Refuses a client that did not declare what it must have declared.
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
    pub(crate) fn scopes_for(&self, request: &Admitted<'_>) -> Cow<'_, ScopeSet> {
        let scopes = match request.method.name() {
            "tools/call" => {
                let tool = self.tools.get(request.name.as_deref().unwrap_or_default());
                tool.map(|tool| Cow::Borrowed(&tool.access().scopes))
            }
            _ => self.scopes_of_kind(request).map(Cow::Owned),
        };
        scopes.unwrap_or_default()
    }

    /// What a caller needs who wants to fill in a prompt or a template.
    pub(crate) fn completion_access(&self, reference: &CompletionReference) -> Option<&Access> {
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

/// The methods of everything that has an `Access`, at this place.
macro_rules! access_options {
    ($($access:ident).+) => {
        /// Capabilities a client must declare before it may use this; without them it is refused with −32021.
        #[must_use]
        pub fn requires(mut self, capabilities: ::toolwire_types::ClientCapabilities) -> Self {
            self.$($access).+.require(capabilities);
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
