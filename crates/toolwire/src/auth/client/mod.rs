//! A client that logs in by itself.
//!
//! A request that is refused with 401 leads to the authorization server: the challenge, the metadata of the resource, the
//! metadata of the server. The client makes itself known there, gets a token, and the request is sent again. All that a
//! caller sees is the answer, or why there is none.
//!
//! ```text
//!   OAuthHttpClient ── 401/403 ──▶ Flow ──▶ discovery ──▶ registration ──▶ Grants ──▶ TokenEndpoint
//!        ▲  token                  │ one at a time                        │ Login, AssertionSource
//!        └─────────────────────────┴──▶ TokenStore                        ▼ the user, the platform
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
pub use error::AuthError;
pub use login::{CallbackVerdict, CheckCallback, Login, LoopbackLogin, PendingLogin};
pub use registered_client::RegisteredClient;
pub use signing::SigningKey;
#[cfg(feature = "keyring")]
pub use store::KeyringTokenStore;
pub use store::contract;
pub use store::{
    FileTokenStore, MemoryTokenStore, TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock,
};

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N], AuthError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| AuthError::new("the system gives no random bytes"))?;
    Ok(bytes)
}
