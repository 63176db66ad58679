//! Verifies opaque tokens of providers without RFC 7662 introspection, each with the provider's own API.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use toolwire::BoxFuture;

use crate::documents::{AccessTokenClaims, OneOrMany, Secret};
use crate::fetch::{DocumentFetcher, FetchError};
use crate::resource::presets::{GITHUB_ISSUER, GOOGLE_ISSUER};
use crate::resource::verification_cache::VerificationCache;
use crate::resource::verifier::{TokenError, TokenPurpose, TokenVerifier};
use crate::rules::token_request::ClientAuthentication;

/// A verifier for access tokens of Google. Results are cached for 30 s.
///
/// The audience of such a token is the OAuth client that received it, not a server. All servers that accept this client
/// accept the token.
#[derive(Debug)]
pub struct GoogleTokens {
    fetcher: DocumentFetcher,
    cache: VerificationCache,
}

impl GoogleTokens {
    /// Creates a verifier with a fetcher.
    #[must_use]
    pub fn new(fetcher: DocumentFetcher) -> Self {
        Self {
            fetcher,
            cache: VerificationCache::default(),
        }
    }

    async fn request_claims(
        &self,
        token: &Secret,
    ) -> Result<Option<AccessTokenClaims>, FetchError> {
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let url = "https://oauth2.googleapis.com/tokeninfo";
        let empty_form = Secret::new("");
        let request = self.fetcher.post(url, &empty_form, Some(&bearer));
        let Some(mut claims): Option<AccessTokenClaims> = none_if_unknown(request.await)? else {
            return Ok(None);
        };
        claims.iss = Some(GOOGLE_ISSUER.to_owned());
        Ok(Some(claims))
    }
}

impl TokenVerifier for GoogleTokens {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        _: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        Box::pin(self.cache.get_or_verify(token, self.request_claims(token)))
    }
}

/// A verifier for tokens of one app of GitHub. Results are cached for 30 s.
///
/// GitHub responds only for tokens of the requesting app, so their audience is the client id of that app.
#[derive(Debug)]
pub struct GitHubTokens {
    client_id: String,
    client_secret: Secret,
    fetcher: DocumentFetcher,
    cache: VerificationCache,
}

/// GitHub's response about a token.
#[derive(Deserialize)]
struct GitHubToken {
    user: Option<GitHubUser>,
    #[serde(default)]
    scopes: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct GitHubUser {
    id: u64,
    login: String,
}

impl GitHubTokens {
    /// Creates a verifier with the credentials of an app.
    #[must_use]
    pub fn new(client_id: &str, client_secret: &Secret, fetcher: DocumentFetcher) -> Self {
        Self {
            client_id: client_id.to_owned(),
            client_secret: client_secret.clone(),
            fetcher,
            cache: VerificationCache::default(),
        }
    }

    async fn request_claims(
        &self,
        token: &Secret,
    ) -> Result<Option<AccessTokenClaims>, FetchError> {
        let url = format!(
            "https://api.github.com/applications/{}/token",
            self.client_id
        );
        let client = ClientAuthentication::Basic {
            client_id: &self.client_id,
            client_secret: &self.client_secret,
        };
        let authorization = client.authorization().unwrap_or_else(|| Secret::new(""));
        let body = json!({ "access_token": token.expose() });
        let body = Secret::new(body.to_string());
        let request = self.fetcher.post_json(&url, &body, &authorization);
        let Some(response): Option<GitHubToken> = none_if_unknown(request.await)? else {
            return Ok(None);
        };
        let mut claims = AccessTokenClaims {
            iss: Some(GITHUB_ISSUER.to_owned()),
            aud: Some(self.client_id.as_str().into()),
            client_id: Some(self.client_id.clone()),
            scope: response.scopes.map(OneOrMany::Many),
            ..AccessTokenClaims::default()
        };
        // The numeric id does not change with the user name.
        if let Some(user) = response.user {
            claims.sub = Some(user.id.to_string());
            claims.extra.insert("login".to_owned(), user.login.into());
        }
        Ok(Some(claims))
    }
}

impl TokenVerifier for GitHubTokens {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        _: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        Box::pin(self.cache.get_or_verify(token, self.request_claims(token)))
    }
}

/// Converts the status with which both providers report an unknown token to `None`. Wrong client credentials have
/// another status and stay an error.
fn none_if_unknown<T>(response: Result<T, FetchError>) -> Result<Option<T>, FetchError> {
    match response {
        Ok(response) => Ok(Some(response)),
        Err(error) => match error.status() {
            Some(
                StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY,
            ) => Ok(None),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests;
