//! Verifies opaque tokens by introspection (RFC 7662).

use std::time::Duration;

use toolwire::BoxFuture;

use crate::documents::{AccessTokenClaims, IntrospectionResponse, Secret};
use crate::fetch::{DocumentFetcher, FetchError};
use crate::resource::verification_cache::VerificationCache;
use crate::resource::verifier::{TokenError, TokenPurpose, TokenVerifier};
use crate::rules::endpoints::{self, InvalidUrl};
use crate::rules::form;
use crate::rules::token_request::ClientAuthentication;

/// A verifier that asks an authorization server about each token.
///
/// The response has to name the audience (`aud`), or the token is rejected. The issuer is optional; the default is the
/// first issuer of the configuration. The expiry is optional, too. Up to 10 000 responses about valid tokens, and as many
/// about invalid ones, are cached by the digests of their tokens. At most 100 tokens are introspected at the same time.
#[derive(Debug)]
pub struct Introspection {
    endpoint: String,
    client_id: String,
    client_secret: Secret,
    fetcher: DocumentFetcher,
    cache: VerificationCache,
}

impl Introspection {
    /// Creates a verifier for an introspection endpoint, with this client's credentials at the authorization server.
    ///
    /// # Errors
    /// Returns an error if the endpoint is neither `https` nor on this machine.
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
            cache: VerificationCache::default(),
        })
    }

    /// Sets how long a response is cached. Default: 30 s, at most 1 h, and never beyond the expiry of the token. Zero
    /// disables the cache.
    #[must_use]
    pub fn with_cache_ttl(mut self, ttl: Duration) -> Self {
        self.cache.set_ttl(ttl);
        self
    }

    async fn introspect(
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
        let request = self
            .fetcher
            .post(&self.endpoint, &form, authorization.as_ref());
        let response: IntrospectionResponse = request.await?;
        // The issuer itself responds, so omitted values have defaults.
        let mut claims = response.claims;
        claims.iss = claims.iss.or_else(|| purpose.issuers.first().cloned());
        claims.sub = claims.sub.or(response.username);
        Ok(response.active.then_some(claims))
    }
}

impl TokenVerifier for Introspection {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        Box::pin(
            self.cache
                .get_or_verify(token, self.introspect(token, purpose)),
        )
    }
}

#[cfg(test)]
mod tests;
