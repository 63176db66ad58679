//! Authorizes a client with OAuth.
//!
//! After a 401 response, the client discovers the authorization server from the challenge, the resource metadata and
//! the server metadata. It registers there, gets a token, and sends the request again. The caller sees only the
//! response or an error.
//!
//! ```text
//!   OAuthHttpClient ── 401/403 ──▶ TokenSource ──▶ discovery ──▶ registration ──▶ GrantClient ──▶ TokenEndpoint
//!        ▲  token                  │ one at a time                               │ Login, AssertionSource
//!        └─────────────────────────┴──▶ TokenStore                               ▼ user, platform
//! ```

mod account;
mod assertion;
mod authorized;
mod config;
mod discovery;
mod error;
mod grants;
mod id_token;
mod login;
mod proofs;
mod registered_client;
mod registration;
mod signing;
mod store;
mod token_endpoint;
mod token_source;

pub use account::{Account, LogoutOutcome};
pub use assertion::{AssertionFile, AssertionSource, IdentityProvider};
pub use authorized::OAuthHttpClient;
pub use config::OAuthConfig;
pub use discovery::resource_metadata_urls;
pub use error::AuthError;
pub use login::{CallbackOutcome, CheckCallback, Login, LoopbackLogin, PendingLogin, open_browser};
pub use registered_client::RegisteredClient;
pub use signing::SigningKey;
#[cfg(feature = "keyring")]
pub use store::KeyringTokenStore;
pub use store::contract;
pub use store::{
    FileTokenStore, MemoryTokenStore, TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock,
};

/// Returns random bytes from the operating system.
fn random<const N: usize>() -> Result<[u8; N], AuthError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|_| AuthError::new("the operating system returned no random bytes"))?;
    Ok(bytes)
}
