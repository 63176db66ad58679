//! Fixed tokens for development.

use toolwire::BoxFuture;

use crate::documents::{AccessTokenClaims, Secret};
use crate::resource::verifier::{TokenError, TokenPurpose, TokenVerifier};

/// A verifier with a fixed list of tokens. For development and tests: the tokens do not expire and cannot be revoked.
#[derive(Debug, Clone, Default)]
pub struct StaticTokens {
    tokens: Vec<(Secret, AccessTokenClaims)>,
}

impl StaticTokens {
    /// Creates a verifier without tokens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a token for a subject, with scopes separated by spaces.
    #[must_use]
    pub fn with_token(
        mut self,
        token: impl Into<Secret>,
        subject: impl Into<String>,
        scopes: impl Into<String>,
    ) -> Self {
        let claims = AccessTokenClaims {
            sub: Some(subject.into()),
            scope: Some(scopes.into().as_str().into()),
            ..AccessTokenClaims::default()
        };
        self.tokens.push((token.into(), claims));
        self
    }
}

impl TokenVerifier for StaticTokens {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        // All tokens are compared, so that the duration does not reveal a partial match.
        let mut matching = None;
        for (known_token, claims) in &self.tokens {
            if known_token == token {
                matching = Some(claims);
            }
        }
        let outcome = match matching {
            Some(claims) => {
                let mut claims = claims.clone();
                claims.iss = purpose.issuers.first().cloned();
                claims.aud = Some(purpose.resource.as_str().into());
                claims.exp = Some(u64::MAX);
                Ok(claims)
            }
            None => Err(TokenError::Invalid("the token is unknown".to_owned())),
        };
        Box::pin(std::future::ready(outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::tests::purpose;
    use super::*;

    #[tokio::test]
    async fn only_known_tokens_are_accepted() {
        let tokens = StaticTokens::new()
            .with_token("one", "ann", "read")
            .with_token("two", "bob", "");
        let purpose = purpose();
        let ann = tokens.verify(&"one".into(), &purpose).await.unwrap();
        assert_eq!(ann.sub.as_deref(), Some("ann"));
        assert_eq!(ann.scope, Some("read".into()));
        assert_eq!(purpose.rules.check_claims(&ann, 1), Ok(()));
        for token in ["", "on", "onee", "ONE"] {
            let outcome = tokens.verify(&token.into(), &purpose).await;
            assert!(matches!(outcome, Err(TokenError::Invalid(_))), "{token}");
        }
        assert!(!format!("{tokens:?}").contains("\"one"));
    }
}
