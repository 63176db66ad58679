//! How a user gets to an authorization server and back.

mod browser;
mod loopback;
mod pasted;
mod visitor;

use std::fmt;

pub use loopback::LoopbackLogin;

use super::AuthError;
use crate::engine::BoxFuture;

/// Sends users to authorization servers. [`LoopbackLogin`] does it on the user's own machine.
pub trait Login: Send + Sync + fmt::Debug {
    /// Gets ready for a user to come back.
    ///
    /// `registered` is where users came back to when the client was registered, if that is known. Many authorization
    /// servers accept exactly that place; at another one the client is registered anew.
    fn begin<'a>(
        &'a self,
        registered: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>>;
}

/// A login that has begun.
pub trait PendingLogin: Send + fmt::Debug {
    /// Where the user has to come back to.
    fn redirect_uri(&self) -> &str;

    /// Sends the user to a URL and waits for the return; gives the query of the redirect as it came.
    ///
    /// A redirect for which `is_ours` says no was not caused by this login: somebody else made the user's browser come
    /// here. The login goes on waiting.
    fn finish<'a>(
        self: Box<Self>,
        url: &'a str,
        is_ours: &'a (dyn Fn(&str) -> bool + Send + Sync),
    ) -> BoxFuture<'a, Result<String, AuthError>>;
}
