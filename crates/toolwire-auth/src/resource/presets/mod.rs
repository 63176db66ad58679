//! Configurations for known providers: their issuers and their values of `aud`.
//!
//! MCP requires tokens that are issued for one server (RFC 8707). Not every provider supports that. Each constructor
//! documents the `aud` of its provider and the consequences.

use crate::documents::Secret;
use crate::fetch::DocumentFetcher;
use crate::resource::config::{ResourceServerConfig, ResourceServerConfigError};
use crate::resource::provider_tokens::{GitHubTokens, GoogleTokens};

pub(super) const GOOGLE_ISSUER: &str = "https://accounts.google.com";
pub(super) const GITHUB_ISSUER: &str = "https://github.com/login/oauth";

impl ResourceServerConfig {
    /// Accepts tokens of Microsoft Entra ID for the app registration of this server.
    ///
    /// The registration has to issue tokens of version 2 (`requestedAccessTokenVersion` is 2 in its manifest). Tokens
    /// of version 1 have another issuer and are rejected. The `aud` is the id of the app or its URI `api://…`, and both
    /// are accepted. Scopes are in `scp`, and app roles are in the claim `roles`. Clients have to be registered in
    /// advance.
    ///
    /// # Errors
    /// Returns an error if the tenant is not an id. Tokens never contain `common`, `organizations`, `consumers` or
    /// domain names as tenant.
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

    /// Accepts tokens of an Auth0 tenant, such as `example.eu.auth0.com`.
    ///
    /// Create an API there whose identifier is the URL of this server, or set its identifier with
    /// [`with_audience`](Self::with_audience). If a client requests no API, Auth0 issues opaque tokens that only Auth0
    /// accepts. They are rejected. Its issuer ends with a slash.
    #[must_use]
    pub fn auth0(resource: impl Into<String>, domain: &str) -> Self {
        Self::new(resource, [format!("https://{domain}/")])
    }

    /// Accepts tokens that Google issued to one OAuth client.
    ///
    /// They are opaque, so each is verified by a request to Google ([`GoogleTokens`]). Their `aud` is the client, so a
    /// token is valid at every server that accepts the same client. Do not share the client with other servers. Google
    /// has neither resource indicators nor custom scopes, and does not support dynamic registration.
    #[must_use]
    pub fn google(resource: impl Into<String>, client_id: &str) -> Self {
        Self::new(resource, [GOOGLE_ISSUER])
            .with_audience(client_id)
            .with_verifier(GoogleTokens::new(DocumentFetcher::new()))
    }

    /// Accepts tokens that GitHub issued to one OAuth app or GitHub App.
    ///
    /// They are opaque, so each is verified by a request to GitHub ([`GitHubTokens`]) with the credentials of that app.
    /// The subject is the numeric id of the user, and the claim `login` contains the user name. The note on the
    /// audience of [`google`](Self::google) applies here as well. GitHub has only its own scopes, and tokens of GitHub
    /// Apps have none.
    #[must_use]
    pub fn github(resource: impl Into<String>, client_id: &str, client_secret: &Secret) -> Self {
        let tokens = GitHubTokens::new(client_id, client_secret, DocumentFetcher::new());
        Self::new(resource, [GITHUB_ISSUER])
            .with_audience(client_id)
            .with_verifier(tokens)
    }

    /// Accepts tokens of WorkOS AuthKit, of a domain such as `example.authkit.app`.
    ///
    /// Add the URL of this server to the resource indicators of the environment, so that it becomes the `aud`.
    /// Otherwise, the `aud` is the client id, which [`with_audience`](Self::with_audience) accepts.
    #[must_use]
    pub fn workos(resource: impl Into<String>, domain: &str) -> Self {
        Self::new(resource, [format!("https://{domain}")])
    }

    /// Accepts tokens of an MCP server that is defined in Descope. The parameters are the id of the Descope project
    /// (`P…`) and the id of the MCP server in it (`MS…`).
    ///
    /// The issuer belongs to this MCP server only. The `aud` is the id of the project or, for newer servers, the URL of
    /// this server, and both are accepted. If the project has a domain of its own or is in another region, pass the
    /// issuer that the console shows to [`new`](Self::new), and the id of the project to
    /// [`with_audience`](Self::with_audience).
    #[must_use]
    pub fn descope(resource: impl Into<String>, project_id: &str, mcp_server_id: &str) -> Self {
        let issuer =
            format!("https://api.descope.com/v1/apps/agentic/{project_id}/{mcp_server_id}");
        Self::new(resource, [issuer]).with_audience(project_id)
    }

    /// Accepts tokens of an MCP server that is registered in Scalekit. The parameters are the URL of the environment
    /// (`https://example.scalekit.com`) and the resource id of the MCP server (`res_…`).
    ///
    /// The `aud` of its tokens contains the resource id, so tokens of other servers in the same environment are
    /// rejected. Clients use the authorization server of this resource. Tokens name it as their issuer or, if they are
    /// older, the environment. Both are accepted.
    #[must_use]
    pub fn scalekit(resource: impl Into<String>, environment_url: &str, resource_id: &str) -> Self {
        let environment = environment_url.trim_end_matches('/');
        Self::new(resource, [format!("{environment}/resources/{resource_id}")])
            .with_unlisted_issuer(environment)
            .with_audience(resource_id)
    }

    /// Accepts tokens of a realm of Keycloak, at a URL such as `https://keycloak.example.com`.
    ///
    /// In Keycloak, mappers determine the `aud`. Give a client scope an audience mapper with the URL of this server, or
    /// set another audience with [`with_audience`](Self::with_audience). Do not use `account`, which is in nearly every
    /// token. A server on a private network needs a custom [fetcher](Self::with_fetcher).
    #[must_use]
    pub fn keycloak(resource: impl Into<String>, url: &str, realm: &str) -> Self {
        let url = url.trim_end_matches('/');
        Self::new(resource, [format!("{url}/realms/{realm}")])
    }

    /// Accepts tokens of a custom authorization server of Okta. The parameters are the domain of the organization
    /// (`example.okta.com`), the id of the server (for example `default`) and its audience (`api://default` for the
    /// default server).
    ///
    /// Tokens of the organization's own server are readable by Okta only, and are rejected. Scopes are in `scp`, and
    /// the client is in `cid`.
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

/// Returns `true` if the text is 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    let is_hexadecimal = |byte: u8| byte == b'-' || byte.is_ascii_hexdigit();
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(is_hexadecimal)
}

#[cfg(test)]
mod tests;
