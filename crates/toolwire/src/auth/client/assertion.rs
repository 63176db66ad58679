//! Tokens of somebody else that say who a client or its user is: of a platform, or of an enterprise's identity provider.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolwire_proto::auth::token_request::SubjectTokenType;
use toolwire_types::auth::Secret;

use crate::auth::client::AuthError;
use crate::auth::client::registered_client::RegisteredClient;
use crate::engine::BoxFuture;

/// Gives signed tokens that say who this workload, or its user, is. It is asked anew for every access token.
///
/// A [`Secret`] is such a source, which always gives the same; [`AssertionFile`] is another.
pub trait AssertionSource: Send + Sync + fmt::Debug {
    /// A token for an audience: the issuer of the authorization server that it will be shown to.
    fn assertion<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>>;
}

impl AssertionSource for Secret {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

/// A file that somebody else keeps fresh, such as the service account token of a pod.
#[derive(Debug, Clone)]
pub struct AssertionFile {
    path: PathBuf,
}

impl AssertionFile {
    /// The file at a path. It is read each time.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl AssertionSource for AssertionFile {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(async {
            let path = self.path.clone();
            let reading = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
            let read = reading.unwrap_or_else(|error| Err(std::io::Error::other(error)));
            let text = read.map_err(|error| {
                AuthError::new(format!(
                    "the token in {} cannot be read",
                    self.path.display()
                ))
                .with_source(error)
            })?;
            Ok(Secret::new(text.trim()))
        })
    }
}

/// The identity provider of an enterprise, which decides in place of its users who may use what (extension
/// enterprise-managed authorization).
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    pub(super) issuer: String,
    pub(super) token_endpoint: Option<String>,
    pub(super) client: RegisteredClient,
    pub(super) subject: Arc<dyn AssertionSource>,
    pub(super) subject_type: SubjectTokenType,
}

impl IdentityProvider {
    /// A provider, this client as it is registered there, and where the user's ID token comes from.
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
            subject_type: SubjectTokenType::IdToken,
        }
    }

    /// Where tokens are exchanged; otherwise the provider's metadata says so.
    #[must_use]
    pub fn with_token_endpoint(mut self, url: impl Into<String>) -> Self {
        self.token_endpoint = Some(url.into());
        self
    }

    /// The source gives refresh tokens instead of ID tokens, after a sign-in with SAML.
    #[must_use]
    pub fn with_refresh_tokens(mut self) -> Self {
        self.subject_type = SubjectTokenType::RefreshToken;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_read_each_time() {
        let directory =
            std::env::temp_dir().join(format!("toolwire-assertion-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("token");
        let source = AssertionFile::new(&path);
        let missing = source.assertion("https://a").await.unwrap_err().to_string();
        assert!(missing.contains("token cannot be read"), "{missing}");
        for text in ["first", "second"] {
            std::fs::write(&path, format!("{text}\n")).unwrap();
            let read = source.assertion("https://a").await.unwrap();
            assert_eq!(read.expose(), text);
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
