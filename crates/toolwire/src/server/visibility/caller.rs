//! The caller of a request, and rules about it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use toolwire_proto::admit::Admitted;
use toolwire_proto::features::VersionFeatures as _;
use toolwire_types::{Implementation, Meta, meta_key};

use crate::engine::{Principal, TokenInfo, TransportContext};
use crate::server::request::RequestScope;

/// The caller of a request, for decisions about what it sees.
#[derive(Debug)]
#[non_exhaustive]
pub struct Caller<'a> {
    token: &'a TokenInfo,
    uses_tokens: bool,
    client: Option<Cow<'a, Implementation>>,
}

impl<'a> Caller<'a> {
    /// Returns the caller of a request whose scope exists.
    pub(crate) fn of_scope(scope: &'a RequestScope) -> Self {
        Self {
            token: scope.auth(),
            uses_tokens: scope.transport.uses_tokens(),
            client: scope.client_info().map(Cow::Borrowed),
        }
    }

    /// Returns the caller of an admitted request on a transport with tokens. A legacy client is not known yet.
    pub(crate) fn of_request(token: Option<&'a TokenInfo>, request: &Admitted<'_>) -> Self {
        Self {
            token: token.unwrap_or(TokenInfo::none()),
            uses_tokens: true,
            client: declared_client(request).map(Cow::Owned),
        }
    }

    /// Returns the caller of an admitted request whose scope does not exist yet. It is the same as that of the scope.
    pub(crate) fn of_admitted(transport: &'a dyn TransportContext, request: &Admitted<'_>) -> Self {
        let client = if request.version.is_stateless() {
            declared_client(request)
        } else {
            let state = transport.connection_state();
            let client = state.and_then(|state| state.client_info());
            client.map(Arc::unwrap_or_clone)
        };
        Self {
            token: transport.auth(),
            uses_tokens: transport.uses_tokens(),
            client: client.map(Cow::Owned),
        }
    }

    pub(crate) fn new(
        token: &'a TokenInfo,
        uses_tokens: bool,
        client: Option<Cow<'a, Implementation>>,
    ) -> Self {
        Self {
            token,
            uses_tokens,
            client,
        }
    }

    /// Returns `true` if the transport identifies callers by tokens.
    pub(crate) fn uses_tokens(&self) -> bool {
        self.uses_tokens
    }

    /// Returns the client's description of itself.
    pub(crate) fn into_client(self) -> Option<Implementation> {
        self.client.map(Cow::into_owned)
    }

    /// Returns what the transport verified about the caller's access token.
    #[must_use]
    pub fn token(&self) -> &TokenInfo {
        self.token
    }

    /// Returns the principal of the caller.
    #[must_use]
    pub fn principal(&self) -> Principal {
        Principal::of(self.token)
    }

    /// Returns `true` if the caller's token grants a scope. On transports without tokens (stdio, in process), every
    /// caller has every scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        !self.uses_tokens || self.token.has_scope(scope)
    }

    /// Returns the client's description of itself. It is unverified: do not protect anything with it.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.client.as_deref()
    }
}

/// Returns the client's description in the `_meta` of a request. An invalid one counts as absent.
fn declared_client(request: &Admitted<'_>) -> Option<Implementation> {
    let meta: Meta = serde_json::from_str(request.meta()?.get()).ok()?;
    meta.get_as(meta_key::CLIENT_INFO).ok().flatten()
}

/// A rule that returns `true` if a caller sees the tool or prompt of this name, or the resource or template of this URI.
#[derive(Clone)]
pub(crate) struct Visibility(Arc<VisibilityRule>);

type VisibilityRule = dyn Fn(&Caller<'_>, &str) -> bool + Send + Sync;

impl Visibility {
    pub(crate) fn new(rule: impl Fn(&Caller<'_>, &str) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(rule))
    }

    pub(crate) fn shows(&self, caller: &Caller<'_>, name: &str) -> bool {
        (self.0)(caller, name)
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Visibility")
    }
}
