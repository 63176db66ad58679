//! Requests tokens with a grant: an authorization code, client credentials, or an assertion.

use toolwire_proto::scopes::ScopeSet;

use crate::client::AuthError;
use crate::client::assertion::IdentityProvider;
use crate::client::config::{GrantKind, OAuthSettings};
use crate::client::discovery::{DiscoveredServer, Discovery};
use crate::client::id_token;
use crate::client::login::{CallbackOutcome, Login, PendingLogin};
use crate::client::proofs::DpopSigner;
use crate::client::registration::{KnownClient, Registrar};
use crate::client::store::{Records, StoredToken};
use crate::client::token_endpoint::{TokenEndpoint, TokenRequestFailure};
use crate::clock::since_epoch;
use crate::documents::{Secret, TokenResponse};
use crate::fetch::DocumentFetcher;
use crate::rules::authorization_request::{AuthorizationRequest, state_from_random};
use crate::rules::authorization_response::{ExpectedResponse, read, state_of};
use crate::rules::metadata_rules::{AuthMethod, ClientCredentials};
use crate::rules::pkce::Verifier;
use crate::rules::token_request::Grant;
use crate::rules::token_response::{Consequence, GrantedToken, check_exchanged, read_assertion};

/// The inputs of all grants.
#[derive(Debug, Clone, Copy)]
pub(super) struct GrantClient<'a> {
    pub(super) config: &'a OAuthSettings,
    pub(super) records: &'a Records,
    pub(super) fetcher: &'a DocumentFetcher,
    pub(super) dpop_signer: &'a DpopSigner,
    pub(super) server: &'a DiscoveredServer,
    pub(super) discovery: Discovery<'a>,
    /// The MCP server that the token is for, as the store names it.
    pub(super) resource: &'a str,
    /// The generation of the previous token.
    pub(super) generation: u64,
}

impl GrantClient<'_> {
    /// Refreshes a token. Returns `None` if the refresh token is no longer valid and a new authorization is required.
    pub(super) async fn refresh(
        &self,
        previous: &StoredToken,
    ) -> Result<Option<StoredToken>, AuthError> {
        let Some(refresh_token) = &previous.refresh_token else {
            return Ok(None);
        };
        let client = self.registrar().client_of(previous).await?;
        let is_bound = previous.is_bound() || self.uses_dpop();
        let endpoint = self.endpoint(&client, is_bound);
        let grant = Grant::RefreshToken(refresh_token);
        let response = endpoint.request_token(grant, self.server.resource.as_ref(), None);
        match response.await {
            Ok(response) => {
                let mut token = self.stored_token(response, &client, None)?;
                // If the server returns no new refresh token, the old one stays valid.
                token.refresh_token = token.refresh_token.or_else(|| Some(refresh_token.clone()));
                token.scope = token.scope.or_else(|| previous.scope.clone());
                token.requested.clone_from(&previous.requested);
                token.user = token.user.or_else(|| previous.user.clone());
                Ok(Some(token))
            }
            Err(TokenRequestFailure::Rejected(Consequence::AuthorizeAgain, error)) => {
                tracing::debug!(%error, "the refresh token is no longer valid");
                Ok(None)
            }
            Err(TokenRequestFailure::Rejected(Consequence::RegisterAgain, error))
                if client.is_dynamic =>
            {
                self.remove_client(&error).await?;
                Ok(None)
            }
            // The registration was lost or replaced since. A login uses the current one.
            Err(TokenRequestFailure::Rejected(Consequence::RegisterAgain, error))
                if !self.is_configured(&client.client_id) =>
            {
                tracing::debug!(%error, "the authorization server no longer knows the client of a token");
                Ok(None)
            }
            Err(error) => Err(error.into_error()),
        }
    }

    /// Requests a token for these scopes.
    pub(super) async fn authorize(
        &self,
        scopes: Option<&ScopeSet>,
    ) -> Result<StoredToken, AuthError> {
        match self.authorize_once(scopes).await {
            Err(TokenRequestFailure::Rejected(Consequence::RegisterAgain, error))
                if self.is_registered().await? =>
            {
                self.remove_client(&error).await?;
                let retried = self.authorize_once(scopes).await;
                retried.map_err(TokenRequestFailure::into_error)
            }
            outcome => outcome.map_err(TokenRequestFailure::into_error),
        }
    }

    async fn authorize_once(
        &self,
        scopes: Option<&ScopeSet>,
    ) -> Result<StoredToken, TokenRequestFailure> {
        let resource = self.server.resource.as_ref();
        match &self.config.grant {
            GrantKind::Code(login) => {
                let (client, code) = self.authorization_code(&**login, scopes).await?;
                let grant = Grant::AuthorizationCode {
                    code: &code.code,
                    redirect_uri: &code.redirect_uri,
                    verifier: &code.verifier,
                };
                let endpoint = self.endpoint(&client, self.uses_dpop());
                // The scopes were sent with the authorization request.
                let response = endpoint.request_token(grant, resource, None).await?;
                Ok(self.stored_token(response, &client, scopes)?)
            }
            GrantKind::ClientCredentials => {
                let client = self.registrar().client(None).await?;
                let endpoint = self.endpoint(&client, self.uses_dpop());
                let response = endpoint.request_token(Grant::ClientCredentials, resource, scopes);
                Ok(self.stored_token(response.await?, &client, scopes)?)
            }
            GrantKind::Workload(source) => {
                let assertion = source.assertion(&self.server.metadata.issuer).await?;
                Ok(self.present_assertion(&assertion, scopes).await?)
            }
            GrantKind::Exchange(subject) => {
                // The client is known before the token is, so that no other authorization server gets the token.
                let client = self.registrar().client(None).await?;
                let token = subject.assertion(&self.server.metadata.issuer).await?;
                let endpoint = self.endpoint(&client, self.uses_dpop());
                let grant = Grant::ExchangeAccessToken(&token);
                let response = endpoint.request_token(grant, resource, scopes).await?;
                check_exchanged(&response).map_err(AuthError::of)?;
                Ok(self.stored_token(response, &client, scopes)?)
            }
            GrantKind::Stored => Err(AuthError::login_required(self.resource))?,
            GrantKind::Enterprise(provider) => {
                let assertion = self.exchange_for_assertion(provider, scopes).await?;
                Ok(self.present_assertion(&assertion, scopes).await?)
            }
        }
    }

    /// Exchanges an assertion for a token at the authorization server (RFC 7523).
    async fn present_assertion(
        &self,
        assertion: &Secret,
        scopes: Option<&ScopeSet>,
    ) -> Result<StoredToken, TokenRequestFailure> {
        let client = self.registrar().client(None).await?;
        let endpoint = self.endpoint(&client, self.uses_dpop());
        let resource = self.server.resource.as_ref();
        let response = endpoint.request_token(Grant::JwtBearer(assertion), resource, scopes);
        Ok(self.stored_token(response.await?, &client, scopes)?)
    }

    /// Requests an assertion for the authorization server from an identity provider (extension enterprise-managed
    /// authorization, section 4).
    async fn exchange_for_assertion(
        &self,
        provider: &IdentityProvider,
        scopes: Option<&ScopeSet>,
    ) -> Result<Secret, AuthError> {
        let metadata;
        let (url, supported) = match &provider.token_endpoint {
            Some(url) => (url.as_str(), None),
            None => {
                metadata = self.discovery.server_metadata(&provider.issuer).await?;
                let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
                let url = metadata.token_endpoint.as_deref();
                (url.unwrap_or_default(), methods)
            }
        };
        let credentials = ClientCredentials {
            has_secret: provider.client.secret.is_some(),
            has_key: provider.client.key.is_some(),
        };
        let method = AuthMethod::choose(None, supported, credentials).map_err(AuthError::of)?;
        let client = KnownClient {
            client_id: provider.client.client_id.clone(),
            secret: provider.client.secret.clone(),
            key: provider.client.key.clone(),
            method,
            is_dynamic: false,
        };
        let endpoint = TokenEndpoint {
            fetcher: self.fetcher,
            url,
            issuer: &provider.issuer,
            client: &client,
            dpop_signer: None,
        };
        let subject = provider.subject.assertion(&provider.issuer).await?;
        let grant = Grant::ExchangeForAssertion {
            subject_token: &subject,
            subject_token_type: provider.subject_type,
            audience: &self.server.metadata.issuer,
        };
        let response = endpoint.request_token(grant, self.server.resource.as_ref(), scopes);
        let response = response.await.map_err(TokenRequestFailure::into_error)?;
        read_assertion(&response).map_err(AuthError::of)
    }

    /// Runs a user login and returns the authorization code.
    async fn authorization_code(
        &self,
        login: &dyn Login,
        scopes: Option<&ScopeSet>,
    ) -> Result<(KnownClient, AuthorizationCode), AuthError> {
        let server = &self.server.metadata;
        let registered = self.records.client(&server.issuer).await;
        let registered = registered.map_err(AuthError::of)?;
        let registered_uri = registered.and_then(|client| client.redirect_uris.into_iter().next());
        let pending = login.begin(registered_uri.as_deref()).await?;
        let redirect_uri = pending.redirect_uri().to_owned();
        let client = self.registrar().client(Some(&redirect_uri)).await?;
        let state = state_from_random(crate::client::random()?);
        let verifier = Verifier::from_random(crate::client::random()?);
        let mut request =
            AuthorizationRequest::new(&client.client_id, &redirect_uri, &state, &verifier);
        if let Some(resource) = &self.server.resource {
            request = request.with_resource(resource);
        }
        if let Some(scopes) = scopes {
            request = request.with_scopes(scopes);
        }
        let endpoint = server.authorization_endpoint.as_deref().unwrap_or_default();
        let url = request.url(endpoint).map_err(AuthError::of)?;
        let expected = ExpectedResponse {
            state: &state,
            issuer: &server.issuer,
            declares_iss: server.authorization_response_iss_parameter_supported == Some(true),
        };
        let check = |query: &str| match read(query, &expected) {
            _ if state_of(query).as_ref() != Some(&state) => CallbackOutcome::Unrelated,
            Ok(_) => CallbackOutcome::Success,
            Err(_) => CallbackOutcome::Failure,
        };
        let query = PendingLogin::finish(pending, &url, &check).await?;
        let code = AuthorizationCode {
            code: read(&query, &expected).map_err(AuthError::of)?,
            redirect_uri,
            verifier,
        };
        Ok((client, code))
    }

    /// Returns the token in its stored form.
    fn stored_token(
        &self,
        response: TokenResponse,
        client: &KnownClient,
        scopes: Option<&ScopeSet>,
    ) -> Result<StoredToken, AuthError> {
        let now = since_epoch().as_secs();
        let granted = GrantedToken::read(&response, scopes, now).map_err(AuthError::of)?;
        let issuer = &self.server.metadata.issuer;
        let id_token = response.id_token.as_ref();
        Ok(StoredToken {
            user: id_token.and_then(|token| id_token::user(token, issuer, &client.client_id)),
            access_token: response.access_token,
            scheme: granted.scheme.as_str().to_owned(),
            expires_at: granted.expires_at,
            renew_at: granted.renew_at,
            refresh_token: response.refresh_token,
            scope: granted.scopes.map(|scopes| scopes.to_string()),
            requested: scopes.map(ToString::to_string),
            client: client.to_stored(),
            generation: self.generation.saturating_add(1),
        })
    }

    fn uses_dpop(&self) -> bool {
        self.config.always_uses_dpop || self.server.requires_dpop
    }

    fn endpoint<'s>(&'s self, client: &'s KnownClient, is_bound: bool) -> TokenEndpoint<'s> {
        let server = &self.server.metadata;
        TokenEndpoint {
            fetcher: self.fetcher,
            url: server.token_endpoint.as_deref().unwrap_or_default(),
            issuer: &server.issuer,
            client,
            dpop_signer: is_bound.then_some(self.dpop_signer),
        }
    }

    pub(super) fn registrar(&self) -> Registrar<'_> {
        Registrar {
            config: self.config,
            records: self.records,
            fetcher: self.fetcher,
            server: &self.server.metadata,
            resource: self.resource,
        }
    }

    /// Returns `true` if the client registered itself with this server.
    async fn is_registered(&self) -> Result<bool, AuthError> {
        let client = self.records.client(&self.server.metadata.issuer).await;
        Ok(client.map_err(AuthError::of)?.is_some())
    }

    /// Returns `true` if the configuration has a client, so that a login does not replace it.
    fn is_configured(&self, client_id: &str) -> bool {
        let mut clients = self.config.clients.iter();
        clients.any(|client| client.client_id == client_id)
            || self.config.document.as_deref() == Some(client_id)
    }

    async fn remove_client(&self, error: &AuthError) -> Result<(), AuthError> {
        tracing::debug!(%error, "the authorization server no longer knows this client");
        let removed = self
            .records
            .remove_client(&self.server.metadata.issuer)
            .await;
        removed.map_err(AuthError::of)
    }
}

/// An authorization code and the values for its redemption.
struct AuthorizationCode {
    code: Secret,
    redirect_uri: String,
    verifier: Verifier,
}
