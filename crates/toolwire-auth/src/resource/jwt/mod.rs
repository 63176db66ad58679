//! Verifies access tokens that are signed by their issuer (RFC 9068).

use std::sync::Arc;

use toolwire::BoxFuture;

use crate::documents::{AccessTokenClaims, Jwk, JwkSet, Secret};
use crate::fetch::DocumentFetcher;
use crate::jws::Jws;
use crate::resource::keys::{IssuerKeys, KeySource};
use crate::resource::verifier::{TokenError, TokenPurpose, TokenVerifier};
use crate::rules::endpoints::{self, InvalidUrl};

/// A verifier for signed tokens that uses the keys of their issuers.
///
/// The keys are fetched for the first token and cached for 1 h. They are fetched again if a token names an unknown key, or if
/// the cached keys do not verify its signature, at most twice a minute. If a fetch fails, the cached keys are used for another
/// hour. At most 64 keys of an issuer are used, and 8 are tried with a token that names no key.
#[derive(Debug)]
pub struct JwtVerifier {
    issuers: Vec<Issuer>,
}

#[derive(Debug)]
struct Issuer {
    name: String,
    keys: Arc<IssuerKeys>,
}

impl JwtVerifier {
    /// Creates a verifier that finds the keys of these issuers through their metadata.
    #[must_use]
    pub fn new<S: Into<String>>(
        issuers: impl IntoIterator<Item = S>,
        fetcher: &DocumentFetcher,
    ) -> Self {
        let issuers = issuers.into_iter().map(|name| {
            let name = name.into();
            let keys = IssuerKeys::new(fetcher.clone(), KeySource::Metadata(name.clone()));
            Issuer {
                name,
                keys: Arc::new(keys),
            }
        });
        Self {
            issuers: issuers.collect(),
        }
    }

    /// Sets the URL of an issuer's keys.
    ///
    /// # Errors
    /// Returns an error if the URL is neither `https` nor on this machine.
    pub fn with_keys_at(
        self,
        issuer: impl Into<String>,
        url: impl Into<String>,
        fetcher: &DocumentFetcher,
    ) -> Result<Self, InvalidUrl> {
        let url = url.into();
        endpoints::check(&url)?;
        Ok(self.with_source(issuer.into(), fetcher, KeySource::Url(url)))
    }

    /// Sets fixed keys of an issuer.
    #[must_use]
    pub fn with_keys(self, issuer: impl Into<String>, keys: JwkSet) -> Self {
        let source = KeySource::Fixed(keys.keys.into());
        self.with_source(issuer.into(), &DocumentFetcher::new(), source)
    }

    fn with_source(mut self, name: String, fetcher: &DocumentFetcher, source: KeySource) -> Self {
        self.issuers.retain(|issuer| issuer.name != name);
        let keys = Arc::new(IssuerKeys::new(fetcher.clone(), source));
        self.issuers.push(Issuer { name, keys });
        self
    }

    async fn verify_token(
        &self,
        token: &Secret,
        purpose: &TokenPurpose,
    ) -> Result<AccessTokenClaims, TokenError> {
        let invalid = |reason: &str| TokenError::Invalid(reason.to_owned());
        let jws = Jws::parse(token.expose()).ok_or_else(|| invalid("the token is not signed"))?;
        // The unverified issuer only selects the keys that have to verify the token.
        let claimed = jws.claimed_issuer();
        let issuer = self
            .issuers
            .iter()
            .find(|issuer| claimed.as_ref() == Some(&issuer.name));
        let issuer = issuer.ok_or_else(|| invalid("the token has an unknown issuer"))?;
        let algorithm = purpose
            .rules
            .check_header(&jws.header)
            .map_err(|error| invalid(&error.to_string()))?;
        let kid = jws.header.kid.as_deref();
        let keys = issuer.keys.candidates(kid, algorithm).await;
        let keys = keys.map_err(|error| TokenError::Unavailable(Box::new(error)))?;
        let verify = |keys: &[Jwk]| keys.iter().find_map(|key| jws.verify(algorithm, key));
        let mut claims = verify(&keys);
        if claims.is_none() {
            claims = verify(&issuer.keys.new_candidates(kid, algorithm, &keys).await);
        }
        claims.ok_or_else(|| invalid("the token is not signed with a key of its issuer"))
    }
}

impl TokenVerifier for JwtVerifier {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        Box::pin(self.verify_token(token, purpose))
    }
}

#[cfg(test)]
mod tests;
