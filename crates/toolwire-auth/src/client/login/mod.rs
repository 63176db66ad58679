//! Redirects a user to an authorization server and receives the redirect back.

mod browser;
mod callback_request;
mod loopback;
mod pasted;

use std::fmt;

pub use browser::open as open_browser;
pub use loopback::LoopbackLogin;

use crate::client::AuthError;
use toolwire::BoxFuture;

/// A way to send users to authorization servers. [`LoopbackLogin`] uses the browser on the user's machine.
pub trait Login: Send + Sync + fmt::Debug {
    /// Starts a login that can receive a redirect.
    ///
    /// `registered` is the redirect URI of the client's registration, if it is known. Many authorization servers accept
    /// only this URI. If the login uses another URI, the client registers again.
    fn begin<'a>(
        &'a self,
        registered: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>>;
}

/// A started login.
pub trait PendingLogin: Send + fmt::Debug {
    /// Returns the redirect URI.
    fn redirect_uri(&self) -> &str;

    /// Sends the user to a URL and waits for the redirect. Returns the query of the redirect unchanged.
    ///
    /// `check` classifies a query. After [`CallbackOutcome::Unrelated`], the login continues to wait. The other
    /// outcomes end it and decide which page the user sees.
    fn finish<'a>(
        self: Box<Self>,
        url: &'a str,
        check: CheckCallback<'a>,
    ) -> BoxFuture<'a, Result<String, AuthError>>;
}

/// A function that checks the query of a redirect: `state`, `iss` (RFC 9207), and the presence of a code.
pub type CheckCallback<'a> = &'a (dyn Fn(&str) -> CallbackOutcome + Send + Sync);

/// The classification of a redirect query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a login that does not know an outcome could show success"
)]
pub enum CallbackOutcome {
    /// The redirect does not belong to this login: its `state` is different or missing.
    Unrelated,
    /// The redirect belongs to this login and has a code of the expected authorization server.
    Success,
    /// The redirect belongs to this login and has no usable code: it carries an error, or the `iss` of another
    /// authorization server.
    Failure,
}
