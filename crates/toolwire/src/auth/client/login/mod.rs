//! How a user gets to an authorization server and back.

mod browser;
mod callback_request;
mod loopback;
mod pasted;

use std::fmt;

pub use loopback::LoopbackLogin;

use crate::auth::client::AuthError;
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
    /// `check` says what a query means. After [`CallbackVerdict::Unrelated`] the login goes on waiting. The other two end
    /// it, and tell what the user may be shown.
    fn finish<'a>(
        self: Box<Self>,
        url: &'a str,
        check: CheckCallback<'a>,
    ) -> BoxFuture<'a, Result<String, AuthError>>;
}

/// Checks the query of a redirect: `state`, `iss` (RFC 9207), and whether it has a code.
pub type CheckCallback<'a> = &'a (dyn Fn(&str) -> CallbackVerdict + Send + Sync);

/// What a redirect means for a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a login that does not know a verdict could show success"
)]
pub enum CallbackVerdict {
    /// It was not caused by this login: its `state` is another one, or is missing.
    Unrelated,
    /// It belongs to this login and has a code of the right authorization server.
    Success,
    /// It belongs to this login and has no code that may be used: an error, or the `iss` of another authorization server.
    Failure,
}
