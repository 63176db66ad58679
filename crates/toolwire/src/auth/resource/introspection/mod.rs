//! Tokens that only their issuer can read, which is asked about each (RFC 7662).

use std::time::Duration;

use toolwire_proto::auth::endpoints::{self, InvalidUrl};
use toolwire_proto::auth::form;
use toolwire_proto::auth::token_request::ClientAuthentication;
use toolwire_types::auth::{AccessTokenClaims, IntrospectionResponse, Secret};

use crate::auth::fetch::{DocumentFetcher, FetchError};
use crate::auth::resource::verification_cache::VerificationCache;
use crate::auth::resource::verifier::{TokenError, TokenPurpose, TokenVerifier};
use crate::engine::BoxFuture;

/// Asks an authorization server what a token says.
///
/// The answer must say whom the token is for (`aud`), or it is not accepted. It may leave out who gave the token out,
/// which is then the first issuer of the configuration, and when it ends. Up to 10 000 answers are kept, by the digests
/// of their tokens.
#[derive(Debug)]
pub struct Introspection {
    endpoint: String,
    client_id: String,
    client_secret: Secret,
    fetcher: DocumentFetcher,
    answers: VerificationCache,
}

impl Introspection {
    /// Asks at an endpoint, as this client of the authorization server.
    ///
    /// # Errors
    /// When the endpoint is neither `https` nor on this machine.
    pub fn new(
        endpoint: impl Into<String>,
        client_id: &str,
        client_secret: &Secret,
        fetcher: DocumentFetcher,
    ) -> Result<Self, InvalidUrl> {
        let endpoint = endpoint.into();
        endpoints::check(&endpoint)?;
        Ok(Self {
            endpoint,
            client_id: client_id.to_owned(),
            client_secret: client_secret.clone(),
            fetcher,
            answers: VerificationCache::default(),
        })
    }

    /// How long an answer is believed: 30 seconds by default, an hour at most, and never longer than its token lasts.
    /// Zero asks each time.
    #[must_use]
    pub fn with_cache_time(mut self, time: Duration) -> Self {
        self.answers.with_ttl(time);
        self
    }

    async fn ask(
        &self,
        token: &Secret,
        purpose: &TokenPurpose,
    ) -> Result<Option<AccessTokenClaims>, FetchError> {
        let form: Secret = form::encode([
            ("token", token.expose()),
            ("token_type_hint", "access_token"),
        ])
        .into();
        let client = ClientAuthentication::Basic {
            client_id: &self.client_id,
            client_secret: &self.client_secret,
        };
        let authorization = client.authorization();
        let asking = self
            .fetcher
            .post(&self.endpoint, &form, authorization.as_ref());
        let answer: IntrospectionResponse = asking.await?;
        // What is left out goes without saying, since the issuer itself answers.
        let mut claims = answer.claims;
        claims.iss = claims.iss.or_else(|| purpose.issuers.first().cloned());
        claims.sub = claims.sub.or(answer.username);
        Ok(answer.active.then_some(claims))
    }
}

impl TokenVerifier for Introspection {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        Box::pin(self.answers.get_or_verify(token, self.ask(token, purpose)))
    }
}

#[cfg(test)]
mod tests;
