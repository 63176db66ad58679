//! Identifies this client to an authorization server.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};

use crate::client::AuthError;
use crate::client::config::OAuthSettings;
use crate::client::registered_client::RegisteredClient;
use crate::client::signing::SigningKey;
use crate::client::store::{Records, StoredClient, StoredToken};
use crate::client::token_endpoint::reason;
use crate::clock::since_epoch;
use crate::deprecation::warn_about_registration;
use crate::documents::{AuthorizationServerMetadata, ClientRegistration, OAuthError, Secret};
use crate::fetch::DocumentFetcher;
use crate::rules::metadata_rules::{
    AuthMethod, ClientCredentials, Registration, RegistrationOptions, check_client_id_url,
};
use crate::rules::redirect_uri::{application_type, is_registered};

/// The client's identity at an authorization server.
#[derive(Debug, Clone)]
pub(super) struct KnownClient {
    pub(super) client_id: String,
    pub(super) secret: Option<Secret>,
    pub(super) key: Option<Arc<SigningKey>>,
    pub(super) method: AuthMethod,
    /// Whether the client can register again if the server no longer knows it.
    pub(super) is_dynamic: bool,
}

impl KnownClient {
    /// Returns the client in its stored form. The key is not stored, because the configuration provides it.
    pub(super) fn to_stored(&self) -> StoredClient {
        StoredClient {
            client_id: self.client_id.clone(),
            client_secret: self.secret.clone(),
            auth_method: Some(self.method.as_str().to_owned()),
            expires_at: None,
            redirect_uris: Vec::new(),
        }
    }
}

/// The inputs of a registration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registrar<'a> {
    pub(super) config: &'a OAuthSettings,
    pub(super) records: &'a Records,
    pub(super) fetcher: &'a DocumentFetcher,
    pub(super) server: &'a AuthorizationServerMetadata,
    /// The MCP server that the token is for.
    pub(super) resource: &'a str,
}

impl Registrar<'_> {
    /// Returns the client's credentials for the server. Registers the client if it has no credentials for the server or
    /// the redirect URI.
    pub(super) async fn client(
        &self,
        redirect_uri: Option<&str>,
    ) -> Result<KnownClient, AuthError> {
        let issuer = &self.server.issuer;
        let is_for_issuer = |configured: &&RegisteredClient| {
            let configured_issuer = configured.issuer.as_ref();
            configured_issuer.is_none_or(|configured_issuer| configured_issuer == issuer)
        };
        if let Some(configured) = self.config.clients.iter().find(is_for_issuer) {
            if configured.issuer.is_none() {
                self.bind(&configured.client_id).await?;
            }
            let client = KnownClient {
                client_id: configured.client_id.clone(),
                secret: configured.secret.clone(),
                key: configured.key.clone(),
                method: AuthMethod::None,
                is_dynamic: false,
            };
            return self.with_method(client, None);
        }
        let mut clients = self.config.clients.iter();
        let options = RegistrationOptions {
            pre_registered_with: clients.find_map(|configured| configured.issuer.as_deref()),
            has_document: self.config.document.is_some(),
            may_register: self.config.may_register,
        };
        match options.choose(self.server).map_err(AuthError::of)? {
            Registration::Document => {
                let url = self.config.document.clone().unwrap_or_default();
                check_client_id_url(&url).map_err(AuthError::of)?;
                let client = KnownClient {
                    client_id: url,
                    secret: None,
                    key: self.config.document_key.clone(),
                    method: AuthMethod::None,
                    is_dynamic: false,
                };
                self.with_method(client, None)
            }
            Registration::Dynamic => self.dynamic_client(redirect_uri).await,
            Registration::PreRegistered | Registration::AskUser => Err(AuthError::new(format!(
                "{issuer} does not know this client and does not support registration"
            ))
            .with_advice("register the client there manually and configure its client id")),
        }
    }

    /// Returns the client that received a token. No other client can refresh it.
    pub(super) async fn client_of(&self, token: &StoredToken) -> Result<KnownClient, AuthError> {
        let stored = &token.client;
        let registered = self.records.client(&self.server.issuer).await;
        let registered = registered.map_err(AuthError::of)?;
        let mut configured = self.config.clients.iter();
        let configured = configured.find(|client| client.client_id == stored.client_id);
        let is_document = self.config.document.as_ref() == Some(&stored.client_id);
        // The secret may have changed since. That of another authorization server is not sent to this one.
        let of_issuer =
            configured.filter(|client| client.issuer.as_ref() == Some(&self.server.issuer));
        let secret = of_issuer.and_then(|client| client.secret.clone());
        let client = KnownClient {
            client_id: stored.client_id.clone(),
            secret: secret.or_else(|| stored.client_secret.clone()),
            key: match configured {
                Some(configured) => configured.key.clone(),
                None => self.config.document_key.clone().filter(|_| is_document),
            },
            method: AuthMethod::None,
            is_dynamic: registered.is_some_and(|client| client.client_id == stored.client_id),
        };
        self.with_method(client, stored.auth_method.as_deref())
    }

    /// Binds credentials without an issuer to the first authorization server that they are used with.
    async fn bind(&self, client_id: &str) -> Result<(), AuthError> {
        let issuer = &self.server.issuer;
        let bound = self.records.bind(client_id, self.resource, issuer).await;
        if bound.map_err(AuthError::of)? {
            return Ok(());
        }
        Err(AuthError::new(format!(
            "the client {client_id:?} is registered with another authorization server than {issuer}"
        ))
        .with_advice("register the client there as well"))
    }

    async fn dynamic_client(&self, redirect_uri: Option<&str>) -> Result<KnownClient, AuthError> {
        let issuer = &self.server.issuer;
        let stored = self.records.client(issuer).await.map_err(AuthError::of)?;
        let now = since_epoch().as_secs();
        let usable = stored.filter(|client| {
            let is_expired = client.expires_at.is_some_and(|expiry| expiry <= now);
            let has_uri = |uri: &str| client.redirect_uris.iter().any(|own| own == uri);
            !is_expired && redirect_uri.is_none_or(has_uri)
        });
        let stored = match usable {
            Some(stored) => stored,
            None => {
                let stored = self.register(redirect_uri).await?;
                let result = self.records.store_client(issuer, &stored).await;
                result.map_err(AuthError::of)?;
                stored
            }
        };
        let client = KnownClient {
            client_id: stored.client_id,
            secret: stored.client_secret,
            key: None,
            method: AuthMethod::None,
            is_dynamic: true,
        };
        self.with_method(client, stored.auth_method.as_deref())
    }

    async fn register(&self, redirect_uri: Option<&str>) -> Result<StoredClient, AuthError> {
        warn_about_registration();
        let url = self.server.registration_endpoint.as_deref();
        let url = url.unwrap_or_default();
        let supported = self.server.token_endpoint_auth_methods_supported.as_deref();
        let method = AuthMethod::for_registration(supported, false);
        let redirect_uris: Vec<String> = redirect_uri.into_iter().map(str::to_owned).collect();
        let mut metadata = self.config.metadata.clone();
        metadata = metadata
            .with_application_type(application_type(&redirect_uris))
            .with_redirect_uris(redirect_uris.clone())
            .with_grant_types(["authorization_code", "refresh_token"])
            .with_response_types(["code"])
            .with_token_endpoint_auth_method(method.as_str());
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = serde_json::to_vec(&metadata).map_err(AuthError::of)?;
        let response = self
            .fetcher
            .exchange(Method::POST, url, headers, Bytes::from(body))
            .await
            .map_err(AuthError::of)?;
        if !response.status.is_success() {
            let error: Option<OAuthError> = response.error_document();
            let reason = reason(response.status, error.as_ref());
            return Err(AuthError::new(format!(
                "{url} rejected the registration of this client: {reason}"
            ))
            .with_advice("register the client there manually and configure its client id"));
        }
        let registration: ClientRegistration = response.created(url).map_err(AuthError::of)?;
        // A server may change the registered metadata (RFC 7591, section 3.2.1), but it has to accept the redirect URI.
        if let Some(requested) = redirect_uri
            && let Some(accepted) = &registration.metadata.redirect_uris
            && !is_registered(requested, accepted)
        {
            return Err(AuthError::new(format!(
                "{url} does not accept the redirect URI {requested}"
            )));
        }
        Ok(StoredClient {
            client_id: registration.client_id,
            client_secret: registration.client_secret,
            auth_method: registration.metadata.token_endpoint_auth_method,
            // Zero means that the secret does not expire (RFC 7591, section 3.2.1).
            expires_at: registration
                .client_secret_expires_at
                .filter(|expiry| *expiry != 0),
            redirect_uris,
        })
    }

    fn with_method(
        &self,
        client: KnownClient,
        registered: Option<&str>,
    ) -> Result<KnownClient, AuthError> {
        let supported = self.server.token_endpoint_auth_methods_supported.as_deref();
        let credentials = ClientCredentials {
            has_secret: client.secret.is_some(),
            has_key: client.key.is_some(),
        };
        let method = AuthMethod::choose(registered, supported, credentials);
        Ok(KnownClient {
            method: method.map_err(AuthError::of)?,
            ..client
        })
    }
}
