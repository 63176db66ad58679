//! The caller of a stream, which outlives its request.

use std::borrow::Cow;
use std::sync::Arc;

use toolwire_proto::admit::Admitted;
use toolwire_types::{ErrorObject, Implementation};

use crate::engine::{Principal, TokenInfo};
use crate::server::Server;
use crate::server::request::RequestScope;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::{Caller, Viewer};

/// What visibility rules need to know about the caller of a stream.
#[derive(Debug)]
pub(crate) struct StoredCaller {
    token: Option<Arc<TokenInfo>>,
    uses_tokens: bool,
    /// Unknown if no rule existed when the stream was opened.
    client: Option<Box<Implementation>>,
}

impl StoredCaller {
    /// Stores the caller of an admitted request.
    pub(crate) fn new(
        server: &Server,
        token: Option<Arc<TokenInfo>>,
        uses_tokens: bool,
        request: &Admitted<'_>,
    ) -> Self {
        let is_filtered = server.snapshot().is_filtered;
        let client = is_filtered.then(|| Caller::of_request(None, request).into_client());
        Self {
            token,
            uses_tokens,
            client: client.flatten().map(Box::new),
        }
    }

    /// Stores the caller of a request whose scope exists.
    pub(crate) fn of_scope(scope: &RequestScope) -> Self {
        let token = scope.auth();
        Self {
            token: token.valid.then(|| Arc::new(token.clone())),
            uses_tokens: scope.transport().uses_tokens(),
            client: scope.client_info().cloned().map(Box::new),
        }
    }

    /// Returns the principal of the caller.
    pub(crate) fn principal(&self) -> Principal {
        self.token.as_deref().map(Principal::of).unwrap_or_default()
    }

    /// Returns the caller, for decisions about what it sees now.
    pub(crate) fn caller(&self) -> Caller<'_> {
        let token = self.token.as_deref().unwrap_or(TokenInfo::none());
        let client = self.client.as_deref().map(Cow::Borrowed);
        Caller::new(token, self.uses_tokens, client)
    }
}

impl Snapshot {
    /// Returns `true` if a resource exists and the caller of a subscription does not see it.
    ///
    /// # Errors
    /// Returns an error if a visibility rule panics.
    pub(crate) fn hides_resource<'a>(
        &'a self,
        uri: &str,
        caller: impl FnOnce() -> Caller<'a>,
    ) -> Result<bool, ErrorObject> {
        if !self.is_filtered {
            return Ok(false);
        }
        let viewer = self.viewer(caller);
        self.catch_rule_panic("subscriptions/listen", || {
            self.find_resource(uri, &viewer).is_none()
                && self.find_resource(uri, &Viewer::unfiltered()).is_some()
        })
    }
}
