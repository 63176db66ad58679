//! Which clients there are: those that registered here, and those whose id is the URL of a document about them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use toolwire_proto::auth::authorization_server::registration::Accepted;
use toolwire_proto::auth::authorization_server::token::{PresentedClient, TokenRefused};
use toolwire_proto::auth::metadata_rules::{
    AuthMethod, check_client_id_document, check_client_id_url,
};
use toolwire_types::auth::{ClientIdMetadataDocument, ClientRegistration, Secret};

use super::records::Client;
use super::vault::{Vault, key_of, random};
use crate::auth::fetch::GuardedFetcher;
use crate::engine::since_epoch;
use crate::store::StoreError;

/// How many bytes a document about a client may have.
pub(super) const LARGEST_DOCUMENT: usize = 64 * 1024;

/// How long a document is believed, and how long it is believed that there is none.
const DOCUMENT_TIME: Duration = Duration::from_secs(5 * 60);
const FAILURE_TIME: Duration = Duration::from_secs(30);

/// How many documents are kept.
const MAX_DOCUMENTS: usize = 1_000;

/// How many documents are fetched at once: anybody can name a URL.
const MAX_FETCHES: usize = 16;

/// How long a registration lasts until somebody has logged in with it, and how long since the last token after that.
const UNUSED_TIME: Duration = Duration::from_secs(24 * 60 * 60);
const USED_TIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Documents by their URLs, each until when it is believed; `None` where there is none.
type Documents = HashMap<String, (Instant, Option<Arc<Client>>)>;

/// The clients of a proxy.
#[derive(Debug)]
pub(super) struct Clients {
    fetcher: GuardedFetcher,
    fetches: Semaphore,
    documents: Mutex<Documents>,
}

/// Why there is no client.
#[derive(Debug)]
pub(super) enum NoClient {
    Unknown,
    Unavailable,
}

impl From<StoreError> for NoClient {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "clients cannot be looked up");
        Self::Unavailable
    }
}

impl Clients {
    pub(super) fn new(fetcher: GuardedFetcher) -> Self {
        Self {
            fetcher: fetcher.with_size_limit(LARGEST_DOCUMENT),
            fetches: Semaphore::new(MAX_FETCHES),
            documents: Mutex::default(),
        }
    }

    /// The client with an id.
    pub(super) async fn find(&self, vault: &Vault, id: &str) -> Result<Arc<Client>, NoClient> {
        if check_client_id_url(id).is_ok() {
            return self.described(id).await;
        }
        let client = vault.get::<Client>(&key_of(id)).await?;
        client.map(Arc::new).ok_or(NoClient::Unknown)
    }

    /// Makes a client known.
    pub(super) async fn register(
        &self,
        vault: &Vault,
        accepted: &Accepted,
    ) -> Result<ClientRegistration, StoreError> {
        let client_id = encoded(random::<16>()?);
        let secret = match accepted.method {
            AuthMethod::None => None,
            _ => Some(Secret::new(encoded(random::<32>()?))),
        };
        let client = Client {
            client_id: client_id.clone(),
            secret: secret.as_ref().map(|secret| key_of(secret.expose())),
            redirect_uris: accepted.redirect_uris.clone(),
            name: accepted.name.clone(),
        };
        vault.put(&key_of(&client_id), &client, UNUSED_TIME).await?;
        Ok(accepted.answer(&client_id, secret, since_epoch().as_secs()))
    }

    /// Checks who a client says it is; its id.
    pub(super) async fn authenticate(
        &self,
        vault: &Vault,
        presented: PresentedClient,
    ) -> Result<String, NotAuthenticated> {
        let PresentedClient {
            client_id, secret, ..
        } = presented;
        let refused = NotAuthenticated::Refused(TokenRefused::InvalidClient);
        // Clients with a document are public: what everybody can read holds no secret.
        if check_client_id_url(&client_id).is_ok() {
            return match secret {
                None => Ok(client_id),
                Some(_) => Err(refused),
            };
        }
        let key = key_of(&client_id);
        let Some(client) = vault.get::<Client>(&key).await? else {
            return Err(refused);
        };
        // Digests are compared, so the time it takes says nothing about the secret.
        if client.secret != secret.map(|secret| key_of(secret.expose())) {
            return Err(refused);
        }
        Ok(client_id)
    }

    /// Keeps a client that was given a token.
    pub(super) async fn prolong(&self, vault: &Vault, client_id: &str) -> Result<(), StoreError> {
        if check_client_id_url(client_id).is_ok() {
            return Ok(());
        }
        let key = key_of(client_id);
        if let Some(client) = vault.get::<Client>(&key).await? {
            vault.replace(&key, &client, USED_TIME).await?;
        }
        Ok(())
    }

    async fn described(&self, url: &str) -> Result<Arc<Client>, NoClient> {
        let known = self.documents().get(url).cloned();
        if let Some((until, client)) = known
            && until > Instant::now()
        {
            return client.ok_or(NoClient::Unknown);
        }
        let Ok(_permit) = self.fetches.try_acquire() else {
            tracing::warn!("too many documents about clients are fetched at once");
            return Err(NoClient::Unavailable);
        };
        let client = self.fetch(url).await.map(Arc::new);
        self.keep(url, client.clone());
        client.ok_or(NoClient::Unknown)
    }

    async fn fetch(&self, url: &str) -> Option<Client> {
        let document: ClientIdMetadataDocument = match self.fetcher.get(url).await {
            Ok(document) => document,
            Err(error) => {
                tracing::debug!(%error, "the document about a client cannot be fetched");
                return None;
            }
        };
        if let Err(refused) = check_client_id_document(&document, url) {
            tracing::debug!(%refused, "the document about a client is refused");
            return None;
        }
        let metadata = document.metadata;
        let method = metadata.token_endpoint_auth_method.as_deref();
        if method.is_some_and(|method| method != AuthMethod::None.as_str()) {
            tracing::debug!("the document about a client wants a method that is not served");
            return None;
        }
        Some(Client {
            client_id: document.client_id,
            secret: None,
            redirect_uris: metadata.redirect_uris.unwrap_or_default(),
            name: metadata.client_name,
        })
    }

    fn keep(&self, url: &str, client: Option<Arc<Client>>) {
        let time = match client {
            Some(_) => DOCUMENT_TIME,
            None => FAILURE_TIME,
        };
        let now = Instant::now();
        let mut documents = self.documents();
        documents.insert(url.to_owned(), (now + time, client));
        if documents.len() > MAX_DOCUMENTS {
            let first = documents.iter().min_by_key(|(_, (until, _))| *until);
            if let Some(first) = first.map(|(url, _)| url.clone()) {
                documents.remove(&first);
            }
        }
    }

    fn documents(&self) -> MutexGuard<'_, Documents> {
        self.documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a client is not who it says it is.
#[derive(Debug)]
pub(super) enum NotAuthenticated {
    Refused(TokenRefused),
    Unavailable(StoreError),
}

impl From<StoreError> for NotAuthenticated {
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
