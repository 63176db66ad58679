//! Logs in and out independently of calls, and describes stored logins.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{Request, StatusCode, Uri};
use toolwire::transport::http_client::HttpClient as _;
use toolwire::transport::http_client::HyperClient;
use toolwire_types::ProtocolVersion;

use crate::client::AuthError;
use crate::client::authorized::challenges_of;
use crate::client::config::OAuthConfig;
use crate::client::registration::Registrar;
use crate::client::store::{Records, StoredToken};
use crate::client::token_endpoint::TokenEndpoint;
use crate::client::token_source::{RejectedRequest, TokenSource};
use crate::rules::attempts::NextStep;
use crate::rules::token_request::RevokedToken;

/// A stored login at a server.
#[derive(Clone)]
pub struct Account {
    resource: String,
    issuer: String,
    token: StoredToken,
}

impl Account {
    /// Returns the MCP server that the login is for.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns the authorization server that issued the token.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the id of the client that received the token.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.token.client.client_id
    }

    /// Returns the user's name, if the authorization server stated it.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.token.user.as_deref()
    }

    /// Returns the granted scopes, separated by spaces, or `None` if neither the client nor the server named scopes.
    #[must_use]
    pub fn scopes(&self) -> Option<&str> {
        self.token.scope.as_deref()
    }

    /// Returns the expiry of the access token in seconds since the Unix epoch, or `None` if it is unknown.
    #[must_use]
    pub fn expires_at(&self) -> Option<u64> {
        self.token.expires_at
    }

    /// Returns `true` if the client can get a new access token without the user.
    #[must_use]
    pub fn can_refresh(&self) -> bool {
        self.token.refresh_token.is_some()
    }

    /// Returns `true` if the token is bound to a key of this client.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.token.is_bound()
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("resource", &self.resource)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// The outcome of a logout.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LogoutOutcome {
    /// There was no login.
    NotLoggedIn,
    /// The login was removed and its tokens were revoked.
    Revoked,
    /// The login was removed. Its tokens stay valid until they expire, because revocation failed with this error.
    RemovedLocally(AuthError),
}

impl OAuthConfig {
    /// Logs in at a server before a call needs it. It also runs if there is a stored login.
    ///
    /// # Errors
    /// Returns an error if the server is unreachable, does not name its authorization server, no token is issued, or it
    /// cannot be stored.
    pub async fn log_in(&self, url: &str) -> Result<Account, AuthError> {
        let endpoint = endpoint_of(url)?;
        let source = Arc::new(self.token_source(&endpoint));
        let stored = source.stored_token().await?;
        let generation = stored.map_or(0, |active| active.token.generation);
        let rejected = self.probe_endpoint(&endpoint, generation).await?;
        let renewed = source.renew(NextStep::Authorize, rejected).await?;
        if let Some(error) = renewed.store_error {
            return Err(error);
        }
        let stored = source.records.last_token(&source.resource()).await;
        let issuer = stored.map_err(AuthError::of)?.map(|(issuer, _)| issuer);
        Ok(Account {
            resource: source.resource(),
            issuer: issuer.unwrap_or_default(),
            token: renewed.active.token.clone(),
        })
    }

    /// Removes the login at a server, and revokes its tokens if the authorization server supports that (RFC 7009).
    ///
    /// # Errors
    /// Returns an error if the store fails. The login is also removed if its tokens cannot be revoked.
    pub async fn log_out(&self, url: &str) -> Result<LogoutOutcome, AuthError> {
        let source = self.token_source(&endpoint_of(url)?);
        let resource = source.resource();
        let stored = source.records.last_token(&resource).await;
        let Some((issuer, token)) = stored.map_err(AuthError::of)? else {
            return Ok(LogoutOutcome::NotLoggedIn);
        };
        let revoked = revoke(&source, &issuer, &token).await;
        let removed = source.records.remove_token(&issuer, &resource).await;
        removed.map_err(AuthError::of)?;
        Ok(match revoked {
            Ok(()) => LogoutOutcome::Revoked,
            Err(error) => LogoutOutcome::RemovedLocally(error),
        })
    }

    /// Returns the stored login at a server, without network access.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid or the store fails.
    pub async fn account(&self, url: &str) -> Result<Option<Account>, AuthError> {
        let source = self.token_source(&endpoint_of(url)?);
        account(&source.records, source.resource()).await
    }

    /// Returns all stored logins.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn accounts(&self) -> Result<Vec<Account>, AuthError> {
        let records = self.config.records();
        let mut accounts = Vec::new();
        for resource in records.resources().await.map_err(AuthError::of)? {
            accounts.extend(account(&records, resource).await?);
        }
        Ok(accounts)
    }

    /// Sends a request without a token to get the server's challenge.
    async fn probe_endpoint(
        &self,
        endpoint: &Uri,
        generation: u64,
    ) -> Result<RejectedRequest, AuthError> {
        let request = Request::get(endpoint).header(ACCEPT, "text/event-stream");
        let request = request.body(Bytes::new()).map_err(AuthError::of)?;
        let response = match &self.config.http {
            Some(http) => http.send(request).await,
            None => HyperClient::new().send(request).await,
        };
        let response = response.map_err(AuthError::of)?;
        let challenges = challenges_of(&response);
        let scope = challenges
            .iter()
            .find_map(|challenge| challenge.scope.clone());
        Ok(RejectedRequest {
            scope,
            challenges,
            version: ProtocolVersion::LATEST,
            generation,
            // A server that sends no challenge and publishes no metadata most likely requires no authorization.
            allow_origin_server: self.config.allow_origin_server
                && response.status() == StatusCode::UNAUTHORIZED,
            may_ask_user: true,
        })
    }
}

async fn account(records: &Records, resource: String) -> Result<Option<Account>, AuthError> {
    let stored = records.last_token(&resource).await;
    let stored = stored.map_err(AuthError::of)?;
    Ok(stored.map(|(issuer, token)| Account {
        resource,
        issuer,
        token,
    }))
}

fn endpoint_of(url: &str) -> Result<Uri, AuthError> {
    crate::rules::endpoints::check(url).map_err(AuthError::of)?;
    url.parse().map_err(AuthError::of)
}

/// Revokes the longest-lived token. The authorization server invalidates the others with it (RFC 7009, section 2.1).
async fn revoke(source: &TokenSource, issuer: &str, token: &StoredToken) -> Result<(), AuthError> {
    let rejected = RejectedRequest {
        challenges: Vec::new(),
        scope: None,
        version: ProtocolVersion::LATEST,
        generation: 0,
        allow_origin_server: false,
        may_ask_user: false,
    };
    let server = source.discovery(&rejected).server_metadata(issuer).await?;
    let Some(url) = server.revocation_endpoint.clone() else {
        return Err(AuthError::new(format!(
            "{issuer} does not support token revocation"
        )));
    };
    let resource = source.resource();
    let registrar = Registrar {
        config: &source.config,
        records: &source.records,
        fetcher: &source.fetcher,
        server: &server,
        resource: &resource,
    };
    let client = registrar.client_of(token).await?;
    let endpoint = TokenEndpoint {
        fetcher: &source.fetcher,
        url: &url,
        issuer,
        client: &client,
        dpop_signer: None,
    };
    let revocation = match &token.refresh_token {
        Some(token) => RevokedToken::Refresh(token),
        None => RevokedToken::Access(&token.access_token),
    };
    endpoint.revoke(revocation).await
}
