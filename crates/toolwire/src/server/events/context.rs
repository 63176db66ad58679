//! The caller that receives events.

use std::sync::Arc;

use crate::engine::{Principal, TokenInfo};

/// The caller that receives events, as an [`EventSource`](crate::events::EventSource) sees it.
///
/// It exists for as long as the subscription, and so longer than the request that started it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EventContext {
    auth: Arc<TokenInfo>,
    principal: Principal,
}

impl EventContext {
    /// Creates the context of a caller with this verified token, for tests of a source.
    #[must_use]
    pub fn new(auth: TokenInfo) -> Self {
        Self {
            principal: Principal::of(&auth),
            auth: Arc::new(auth),
        }
    }

    /// Returns what the transport verified about the caller's token. On stdio and in process, `valid` is `false`.
    #[must_use]
    pub fn auth(&self) -> &TokenInfo {
        &self.auth
    }

    /// Returns the owner of the subscription.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }
}
