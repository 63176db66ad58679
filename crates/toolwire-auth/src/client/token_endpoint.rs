//! Requests tokens from the token endpoint of an authorization server.

use http::{HeaderMap, Method, StatusCode};
use toolwire_proto::scopes::ScopeSet;

use crate::client::AuthError;
use crate::client::proofs::DpopSigner;
use crate::client::registration::KnownClient;
use crate::clock::since_epoch;
use crate::documents::{OAuthError, Secret, TokenResponse};
use crate::fetch::{DocumentFetcher, FetchedDocument};
use crate::rules::metadata_rules::AuthMethod;
use crate::rules::resource_indicator::ResourceIndicator;
use crate::rules::token_request::{
    ClientAssertionClaims, ClientAuthentication, Grant, RevokedToken, TokenRequest,
};
use crate::rules::token_response::{Consequence, consequence, describe};

/// The token endpoint and the client that sends requests to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenEndpoint<'a> {
    pub(super) fetcher: &'a DocumentFetcher,
    pub(super) url: &'a str,
    pub(super) issuer: &'a str,
    pub(super) client: &'a KnownClient,
    /// The DPoP signer, if the token is to be bound to a key.
    pub(super) dpop_signer: Option<&'a DpopSigner>,
}

/// The reason why a token request failed.
#[derive(Debug)]
pub(super) enum TokenRequestFailure {
    /// The server rejected the request, with this consequence.
    Rejected(Consequence, AuthError),
    /// The request failed without a response from the token endpoint.
    Failed(AuthError),
}

impl From<AuthError> for TokenRequestFailure {
    fn from(error: AuthError) -> Self {
        Self::Failed(error)
    }
}

impl TokenRequestFailure {
    pub(super) fn into_error(self) -> AuthError {
        match self {
            Self::Rejected(_, error) | Self::Failed(error) => error,
        }
    }
}

impl TokenEndpoint<'_> {
    /// Requests a token in exchange for a grant.
    pub(super) async fn request_token(
        &self,
        grant: Grant<'_>,
        resource: Option<&ResourceIndicator>,
        scopes: Option<&ScopeSet>,
    ) -> Result<TokenResponse, TokenRequestFailure> {
        let response = self.post(grant, resource, scopes).await?;
        let Some((consequence, error)) = self.rejection(&response) else {
            return Ok(response.document(self.url).map_err(AuthError::of)?);
        };
        let has_nonce = self
            .dpop_signer
            .is_some_and(|dpop_signer| dpop_signer.store_nonce(self.issuer, &response.headers));
        if consequence != Consequence::RepeatWithNonce || !has_nonce {
            return Err(TokenRequestFailure::Rejected(consequence, error));
        }
        let response = self.post(grant, resource, scopes).await?;
        match self.rejection(&response) {
            None => Ok(response.document(self.url).map_err(AuthError::of)?),
            Some((consequence, error)) => Err(TokenRequestFailure::Rejected(consequence, error)),
        }
    }

    /// Revokes a token. The URL is that of the revocation endpoint.
    pub(super) async fn revoke(&self, token: RevokedToken<'_>) -> Result<(), AuthError> {
        let assertion = self.assertion()?;
        let request = TokenRequest::revocation(token, self.authentication(assertion.as_ref())?);
        let form = request.body();
        let response =
            self.fetcher
                .post_form(self.url, &form, request.authorization(), HeaderMap::new());
        let response = response.await.map_err(AuthError::of)?;
        if response.status.is_success() {
            return Ok(());
        }
        let reason = reason(
            response.status,
            response.error_document::<OAuthError>().as_ref(),
        );
        Err(AuthError::new(format!(
            "{} rejected the revocation: {reason}",
            self.url
        )))
    }

    /// Sends one request. An assertion and a proof are valid once, so each request has its own.
    async fn post(
        &self,
        grant: Grant<'_>,
        resource: Option<&ResourceIndicator>,
        scopes: Option<&ScopeSet>,
    ) -> Result<FetchedDocument, AuthError> {
        let assertion = self.assertion()?;
        let mut request = TokenRequest::new(grant, self.authentication(assertion.as_ref())?);
        if let Some(resource) = resource {
            request = request.with_resource(resource);
        }
        if let Some(scopes) = scopes {
            request = request.with_scopes(scopes);
        }
        let mut headers = HeaderMap::new();
        if let Some(dpop_signer) = self.dpop_signer {
            let proof =
                dpop_signer.add_proof(&mut headers, &Method::POST, self.url, self.issuer, None);
            proof.await?;
        }
        let form = request.body();
        let response = self
            .fetcher
            .post_form(self.url, &form, request.authorization(), headers);
        response.await.map_err(AuthError::of)
    }

    fn rejection(&self, response: &FetchedDocument) -> Option<(Consequence, AuthError)> {
        if response.status.is_success() {
            return None;
        }
        let error: Option<OAuthError> = response.error_document();
        let consequence = consequence(response.status.as_u16(), error.as_ref());
        let reason = reason(response.status, error.as_ref());
        let error = AuthError::new(format!("{} issued no token: {reason}", self.url));
        Some((consequence, error))
    }

    fn assertion(&self) -> Result<Option<Secret>, AuthError> {
        if self.client.method != AuthMethod::PrivateKeyJwt {
            return Ok(None);
        }
        let key = self.client.key.as_ref();
        let key =
            key.ok_or_else(|| AuthError::new("the client has no private key for its assertion"))?;
        let claims = ClientAssertionClaims::new(
            &self.client.client_id,
            self.issuer,
            since_epoch().as_secs(),
            crate::client::random()?,
        );
        key.sign("JWT", None, &claims).map(Some)
    }

    fn authentication<'s>(
        &'s self,
        assertion: Option<&'s Secret>,
    ) -> Result<ClientAuthentication<'s>, AuthError> {
        let client_id = self.client.client_id.as_str();
        let missing = || AuthError::new("the client has no credentials for authentication");
        let secret = || self.client.secret.as_ref().ok_or_else(missing);
        Ok(match self.client.method {
            AuthMethod::ClientSecretBasic => ClientAuthentication::Basic {
                client_id,
                client_secret: secret()?,
            },
            AuthMethod::ClientSecretPost => ClientAuthentication::Post {
                client_id,
                client_secret: secret()?,
            },
            AuthMethod::PrivateKeyJwt => {
                ClientAuthentication::Assertion(assertion.ok_or_else(missing)?)
            }
            _ => ClientAuthentication::Public { client_id },
        })
    }
}

/// Returns the reason of an error response as text.
pub(super) fn reason(status: StatusCode, error: Option<&OAuthError>) -> String {
    error.map_or_else(|| status.to_string(), describe)
}
