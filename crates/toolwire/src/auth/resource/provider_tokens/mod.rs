//! Opaque tokens of providers that do not speak RFC 7662: each is asked in its own way.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use toolwire_proto::auth::token_request::ClientAuthentication;
use toolwire_types::auth::{AccessTokenClaims, OneOrMany, Secret};

use crate::auth::fetch::{DocumentFetcher, FetchError};
use crate::auth::resource::presets::{GITHUB_ISSUER, GOOGLE_ISSUER};
use crate::auth::resource::verification_cache::VerificationCache;
use crate::auth::resource::verifier::{TokenError, TokenPurpose, TokenVerifier};
use crate::engine::BoxFuture;

/// Asks Google about its access tokens. Answers are believed for 30 seconds.
///
/// The audience of such a token is the OAuth client it was given to, not a server: a server accepts the tokens of one
/// client, and so does every other server that knows this client.
#[derive(Debug)]
pub struct GoogleTokens {
    fetcher: DocumentFetcher,
    answers: VerificationCache,
}

impl GoogleTokens {
    /// Asks in this way.
    #[must_use]
    pub fn new(fetcher: DocumentFetcher) -> Self {
        Self {
            fetcher,
            answers: VerificationCache::default(),
        }
    }

    async fn ask(&self, token: &Secret) -> Result<Option<AccessTokenClaims>, FetchError> {
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let url = "https://oauth2.googleapis.com/tokeninfo";
        let nothing = Secret::new("");
        let asking = self.fetcher.post(url, &nothing, Some(&bearer));
        let Some(mut claims): Option<AccessTokenClaims> = unless_unknown(asking.await)? else {
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
        Box::pin(self.answers.get_or_verify(token, self.ask(token)))
    }
}

/// Asks GitHub about the tokens of one of its apps. Answers are believed for 30 seconds.
///
/// GitHub tells only about tokens of the app that asks, so the audience of what it tells is that app's client id.
#[derive(Debug)]
pub struct GitHubTokens {
    client_id: String,
    client_secret: Secret,
    fetcher: DocumentFetcher,
    answers: VerificationCache,
}

/// What GitHub says about a token.
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
    /// Asks as this app.
    #[must_use]
    pub fn new(client_id: &str, client_secret: &Secret, fetcher: DocumentFetcher) -> Self {
        Self {
            client_id: client_id.to_owned(),
            client_secret: client_secret.clone(),
            fetcher,
            answers: VerificationCache::default(),
        }
    }

    async fn ask(&self, token: &Secret) -> Result<Option<AccessTokenClaims>, FetchError> {
        let url = format!(
            "https://api.github.com/applications/{}/token",
            self.client_id
        );
        let client = ClientAuthentication::Basic {
            client_id: &self.client_id,
            client_secret: &self.client_secret,
        };
        let authorization = client.authorization().unwrap_or_else(|| Secret::new(""));
        let question = json!({ "access_token": token.expose() });
        let question = Secret::new(question.to_string());
        let asking = self.fetcher.post_json(&url, &question, &authorization);
        let Some(answer): Option<GitHubToken> = unless_unknown(asking.await)? else {
            return Ok(None);
        };
        let mut claims = AccessTokenClaims::default();
        claims.iss = Some(GITHUB_ISSUER.to_owned());
        claims.aud = Some(self.client_id.as_str().into());
        claims.client_id = Some(self.client_id.clone());
        claims.scope = answer.scopes.map(OneOrMany::Many);
        // The number stays when somebody changes the name.
        if let Some(user) = answer.user {
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
        Box::pin(self.answers.get_or_verify(token, self.ask(token)))
    }
}

/// Both providers say by the status that they do not know a token. A wrong client is none of these, and stays a failure.
fn unless_unknown<T>(answer: Result<T, FetchError>) -> Result<Option<T>, FetchError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
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
