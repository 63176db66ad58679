//! Configurations for well-known providers: their issuers, and what they put into `aud`.
//!
//! MCP wants tokens that are given out for one server (RFC 8707). Not every provider can do that; each constructor says
//! what its provider puts into a token instead, and what follows from it.

use toolwire_types::auth::Secret;

use crate::auth::fetch::DocumentFetcher;
use crate::auth::resource::config::{ResourceServerConfig, ResourceServerConfigError};
use crate::auth::resource::provider_tokens::{GitHubTokens, GoogleTokens};

pub(super) const GOOGLE_ISSUER: &str = "https://accounts.google.com";
pub(super) const GITHUB_ISSUER: &str = "https://github.com/login/oauth";

impl ResourceServerConfig {
    /// Tokens of Microsoft Entra ID, for the app registration of this server.
    ///
    /// Let the registration give out tokens of version 2 (`requestedAccessTokenVersion` is 2 in its manifest): those of
    /// version 1 have another issuer and are refused. Their `aud` is the id of the app, or its URI `api://…`, and both
    /// are accepted; scopes are in `scp`, roles of apps are in the claim `roles`. Clients have to be registered
    /// beforehand.
    ///
    /// # Errors
    /// When the tenant is not an id. `common`, `organizations` and `consumers` never stand in a token, and names of
    /// domains do not either.
    pub fn entra(
        resource: impl Into<String>,
        tenant: &str,
        app_id: &str,
    ) -> Result<Self, ResourceServerConfigError> {
        if !is_uuid(tenant) {
            return Err(ResourceServerConfigError::Tenant(tenant.to_owned()));
        }
        let tenant = tenant.to_ascii_lowercase();
        let issuer = format!("https://login.microsoftonline.com/{tenant}/v2.0");
        let config = Self::new(resource, [issuer]);
        Ok(config
            .with_audience(app_id)
            .with_audience(format!("api://{app_id}")))
    }

    /// Tokens of an Auth0 tenant, such as `example.eu.auth0.com`.
    ///
    /// Make an API there whose identifier is the URL of this server, or name its identifier with
    /// [`with_audience`](Self::with_audience). Where a client asks for no API, Auth0 gives out opaque tokens that are good
    /// for Auth0 alone; they are refused. Its issuer ends with a slash.
    #[must_use]
    pub fn auth0(resource: impl Into<String>, domain: &str) -> Self {
        Self::new(resource, [format!("https://{domain}/")])
    }

    /// Tokens that Google gave to one OAuth client.
    ///
    /// They are opaque, so Google is asked about each ([`GoogleTokens`]), and their `aud` is the client: a server is not
    /// told from others that accept the same client, so let no other server have it. Google knows neither resources
    /// nor scopes of yours, and registers no clients by itself.
    #[must_use]
    pub fn google(resource: impl Into<String>, client_id: &str) -> Self {
        Self::new(resource, [GOOGLE_ISSUER])
            .with_audience(client_id)
            .with_verifier(GoogleTokens::new(DocumentFetcher::new()))
    }

    /// Tokens that GitHub gave to one OAuth app or GitHub App.
    ///
    /// They are opaque, so GitHub is asked about each ([`GitHubTokens`]), as that app; the subject is the number of the
    /// user, and the claim `login` has the name. What [`google`](Self::google) says about the audience is true here,
    /// too. GitHub has its own scopes only, and tokens of GitHub Apps have none.
    #[must_use]
    pub fn github(resource: impl Into<String>, client_id: &str, client_secret: &Secret) -> Self {
        let tokens = GitHubTokens::new(client_id, client_secret, DocumentFetcher::new());
        Self::new(resource, [GITHUB_ISSUER])
            .with_audience(client_id)
            .with_verifier(tokens)
    }

    /// Tokens of WorkOS AuthKit, of a domain such as `example.authkit.app`.
    ///
    /// Add the URL of this server to the resource indicators of the environment, so that it becomes the `aud`; without
    /// that it is the client id, which [`with_audience`](Self::with_audience) accepts.
    #[must_use]
    pub fn workos(resource: impl Into<String>, domain: &str) -> Self {
        Self::new(resource, [format!("https://{domain}")])
    }

    /// Tokens of a realm of Keycloak, at a URL such as `https://keycloak.example.com`.
    ///
    /// Keycloak puts into `aud` what mappers say. Give a client scope an audience mapper with the URL of this server, or
    /// name another text with [`with_audience`](Self::with_audience); but not `account`, which is in nearly every token.
    /// A server on a private network is reached with a [fetcher](Self::with_fetcher) of your own.
    #[must_use]
    pub fn keycloak(resource: impl Into<String>, url: &str, realm: &str) -> Self {
        let url = url.trim_end_matches('/');
        Self::new(resource, [format!("{url}/realms/{realm}")])
    }

    /// Tokens of a custom authorization server of Okta, by the domain of the organization (`example.okta.com`), the id
    /// of the server (`default` is one) and its audience (`api://default` is that of the default one).
    ///
    /// Tokens of the organization's own server can be read by Okta alone and are refused. Scopes are in `scp`, the
    /// client is in `cid`.
    #[must_use]
    pub fn okta(
        resource: impl Into<String>,
        domain: &str,
        server: &str,
        audience: impl Into<String>,
    ) -> Self {
        Self::new(resource, [format!("https://{domain}/oauth2/{server}")]).with_audience(audience)
    }
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    let is_hexadecimal = |byte: u8| byte == b'-' || byte.is_ascii_hexdigit();
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(is_hexadecimal)
}

#[cfg(test)]
mod tests;
