//! Assertions issued by a platform or by an enterprise's identity provider that identify a client or its user.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolwire::BoxFuture;

use crate::client::AuthError;
use crate::client::registered_client::RegisteredClient;
use crate::documents::Secret;
use crate::rules::token_request::SubjectTokenType;

/// A source of signed tokens that identify this workload or its user. It is called for each new access token.
///
/// A [`Secret`] is a source that always returns the same token. [`AssertionFile`] reads it from a file.
pub trait AssertionSource: Send + Sync + fmt::Debug {
    /// Returns a token for an audience: the issuer of the authorization server that receives it.
    fn assertion<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>>;
}

impl AssertionSource for Secret {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

/// A token file that another program keeps up to date, for example the service account token of a pod.
#[derive(Debug, Clone)]
pub struct AssertionFile {
    path: PathBuf,
}

impl AssertionFile {
    /// Creates a source for the file at a path. The file is read for each assertion.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl AssertionSource for AssertionFile {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(async {
            let path = self.path.clone();
            let text = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
            let text = text.unwrap_or_else(|error| Err(std::io::Error::other(error)));
            let text = text.map_err(|error| {
                AuthError::new(format!("cannot read the token in {}", self.path.display()))
                    .with_source(error)
            })?;
            Ok(Secret::new(text.trim()))
        })
    }
}

/// The identity provider of an enterprise, which decides on behalf of its users which servers they may access
/// (extension enterprise-managed authorization).
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    pub(super) issuer: String,
    pub(super) token_endpoint: Option<String>,
    pub(super) client: RegisteredClient,
    pub(super) subject: Arc<dyn AssertionSource>,
    pub(super) subject_type: SubjectTokenType,
}

impl IdentityProvider {
    /// Creates a provider from its issuer, this client's registration there, and the source of the user's ID token.
    pub fn new(
        issuer: impl Into<String>,
        client: impl Into<RegisteredClient>,
        id_token: impl AssertionSource + 'static,
    ) -> Self {
        Self {
            issuer: issuer.into(),
            token_endpoint: None,
            client: client.into(),
            subject: Arc::new(id_token),
            subject_type: SubjectTokenType::Id,
        }
    }

    /// Sets the token endpoint of the provider. Default: the endpoint from the provider's metadata.
    #[must_use]
    pub fn with_token_endpoint(mut self, url: impl Into<String>) -> Self {
        self.token_endpoint = Some(url.into());
        self
    }

    /// Declares that the source returns refresh tokens instead of ID tokens, after a sign-in with SAML.
    #[must_use]
    pub fn with_refresh_tokens(mut self) -> Self {
        self.subject_type = SubjectTokenType::Refresh;
        self
    }

    /// Declares that the source returns access tokens instead of ID tokens, for a gateway that knows only the access tokens
    /// of its callers. Not every provider accepts them.
    #[must_use]
    pub fn with_access_tokens(mut self) -> Self {
        self.subject_type = SubjectTokenType::Access;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn assertion_file_is_read_for_each_assertion() {
        let directory =
            std::env::temp_dir().join(format!("toolwire-assertion-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("token");
        let source = AssertionFile::new(&path);
        let missing = source.assertion("https://a").await.unwrap_err().to_string();
        assert!(missing.contains("cannot read the token"), "{missing}");
        for text in ["first", "second"] {
            std::fs::write(&path, format!("{text}\n")).unwrap();
            let read = source.assertion("https://a").await.unwrap();
            assert_eq!(read.expose(), text);
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
