//! The clients of a proxy: registered clients, and clients whose id is the URL of a metadata document.

use std::sync::Arc;
use std::time::Duration;

use toolwire::store::StoreError;

use crate::clock::since_epoch;
use crate::documents::{ClientRegistration, Secret};
use crate::fetch::DocumentFetcher;
use crate::proxy::documents::Documents;
use crate::proxy::records::{ClientRecord, RecordDigest};
use crate::proxy::sealed_store::{RecordTerms, Sealed, SealedStore, key_of, random};
use crate::proxy::store::{OwnerLimit, ProxyOwner};
use crate::rules::authorization_server::registration::AcceptedRegistration;
use crate::rules::authorization_server::source::Source;
use crate::rules::authorization_server::token::{PresentedClient, TokenRequestError};
use crate::rules::metadata_rules::{AuthMethod, check_client_id_url};

/// The retention of a registration without a login, and the retention after its last token.
const UNUSED_TTL: Duration = Duration::from_secs(24 * 60 * 60);
const USED_TTL: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The time between two prolongations of a registration. Tokens that are issued meanwhile do not write it.
const PROLONGATION_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// The time during which an unused registration is not evicted, because its user is about to log in.
const PROTECTED_TIME: Duration = Duration::from_secs(10 * 60);

/// The maximum number of clients that one user was the first to use. One more removes the client that expires first.
const MAX_CLIENTS_OF_USER: usize = 64;

/// The clients of a proxy.
#[derive(Debug)]
pub(super) struct Clients {
    documents: Documents,
    /// The time during which a used client is not evicted: the maximum duration of a login.
    used_protection: Duration,
}

/// A client that has authenticated.
pub(super) struct AuthenticatedClient {
    pub(super) id: String,
    /// Its registration as it was read. `None` if a metadata document describes the client.
    registration: Option<(ClientRecord, Sealed)>,
}

/// The reason why a client is unavailable.
#[derive(Debug)]
pub(super) enum ClientLookupError {
    Unknown,
    Unavailable,
}

impl From<StoreError> for ClientLookupError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "clients cannot be looked up");
        Self::Unavailable
    }
}

impl Clients {
    pub(super) fn new(fetcher: DocumentFetcher, login_time: Duration) -> Self {
        Self {
            documents: Documents::new(fetcher),
            used_protection: login_time,
        }
    }

    /// Returns the client with an id. `source` is the source of the request that names it.
    pub(super) async fn find(
        &self,
        store: &SealedStore,
        id: &str,
        source: Option<Source>,
    ) -> Result<Arc<ClientRecord>, ClientLookupError> {
        if check_client_id_url(id).is_ok() {
            return self.documents.find(id, source).await;
        }
        let client = store.get::<ClientRecord>(&key_of(id)).await?;
        client.map(Arc::new).ok_or(ClientLookupError::Unknown)
    }

    /// Registers a client for an owner, if one is known.
    pub(super) async fn register(
        &self,
        store: &SealedStore,
        accepted: &AcceptedRegistration,
        owner: Option<ProxyOwner>,
    ) -> Result<ClientRegistration, StoreError> {
        let client_id = encoded(random::<16>()?);
        let secret = match accepted.method {
            AuthMethod::None => None,
            _ => Some(Secret::new(encoded(random::<32>()?))),
        };
        let client = ClientRecord {
            client_id: client_id.clone(),
            secret: secret.as_ref().map(|secret| key_of(secret.expose())),
            redirect_uris: accepted.redirect_uris.clone(),
            name: accepted.name.clone(),
            first_user: None,
            prolonged_at: None,
        };
        let terms = RecordTerms::new(UNUSED_TTL)
            .with_protection(PROTECTED_TIME)
            .with_owner(owner);
        store.put(&key_of(&client_id), &client, terms).await?;
        Ok(accepted.response(&client_id, secret, since_epoch().as_secs()))
    }

    /// Authenticates a client.
    pub(super) async fn authenticate(
        &self,
        store: &SealedStore,
        presented: PresentedClient,
    ) -> Result<AuthenticatedClient, ClientAuthError> {
        let PresentedClient {
            client_id, secret, ..
        } = presented;
        let rejected = ClientAuthError::Rejected(TokenRequestError::InvalidClient);
        // Clients with a metadata document are public, because a public document contains no secret.
        if check_client_id_url(&client_id).is_ok() {
            return match secret {
                None => Ok(AuthenticatedClient {
                    id: client_id,
                    registration: None,
                }),
                Some(_) => Err(rejected),
            };
        }
        let key = key_of(&client_id);
        let Some((client, read)) = store.read::<ClientRecord>(&key).await? else {
            return Err(rejected);
        };
        // Digests are compared, so that the duration does not reveal the secret.
        if client.secret != secret.map(|secret| key_of(secret.expose())) {
            return Err(rejected);
        }
        Ok(AuthenticatedClient {
            id: client_id,
            registration: Some((client, read)),
        })
    }

    /// Prolongs the registration of a client that received a token, if that was not done shortly before. With the first
    /// token, the user of that token becomes its owner instead of the source that registered it.
    pub(super) async fn mark_used(
        &self,
        store: &SealedStore,
        client: AuthenticatedClient,
        principal: RecordDigest,
        now: u64,
    ) -> Result<(), StoreError> {
        let key = key_of(&client.id);
        let Some((mut client, read)) = client.registration else {
            return Ok(());
        };
        let interval = PROLONGATION_INTERVAL;
        let is_recent = |at: u64| now.abs_diff(at) < interval.as_secs();
        if client.prolonged_at.is_some_and(is_recent) {
            return Ok(());
        }
        client.prolonged_at = Some(now);
        let user = *client.first_user.get_or_insert(principal);
        let owner = ProxyOwner::new(user, MAX_CLIENTS_OF_USER, OwnerLimit::RemoveFirst);
        // The last token of the interval has the complete times, too.
        let terms = RecordTerms::new(USED_TTL + interval)
            .with_protection(self.used_protection.saturating_add(interval))
            .with_owner(Some(owner));
        // If the replacement fails, another node has just done the same.
        store.replace(&key, &read, &client, terms).await.map(|_| ())
    }
}

/// The reason why client authentication failed.
#[derive(Debug)]
pub(super) enum ClientAuthError {
    Rejected(TokenRequestError),
    Unavailable(StoreError),
}

impl From<StoreError> for ClientAuthError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error)
    }
}

pub(super) fn encoded<const N: usize>(bytes: [u8; N]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests;
