//! OAuth 2.1 for servers and clients of the Model Context Protocol.
//!
//! * [`ResourceServerConfig`] protects a server: it verifies access tokens.
//! * [`client::OAuthConfig`] gets access tokens for a client, with a login or with credentials.
//! * `OAuthProxy` (feature `proxy`) is an authorization server in front of an identity provider that has no dynamic
//!   registration, such as GitHub or Google.
//! * The [`guide`] explains each of them on one page.
//!
//! The crate uses only public items of `toolwire`: `Authorizer` on the server side, `HttpLayer` on the client side.
//!
//! ```
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use toolwire_auth::ResourceServerConfig;
//! use toolwire::transport::http::HttpOptions;
//! use toolwire::{Server, tool};
//!
//! /// Adds two integers.
//! #[tool]
//! async fn add(a: i64, b: i64) -> i64 { a + b }
//!
//! let config = ResourceServerConfig::new("https://mcp.example.com/mcp", ["https://auth.example.com"]);
//! let options = HttpOptions::new().with_public_hosts(["mcp.example.com"]).with_authorizer(config.build()?);
//! Server::new("demo", "1.0.0").tool(add).serve_http_with("0.0.0.0:8080", options).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | Feature | Default | Contents |
//! |---|---|---|
//! | `client` | yes | `toolwire_auth::client`: a client that logs in automatically. |
//! | `keyring` | no | `KeyringTokenStore`: tokens in the system keyring. |
//! | `proxy` | no | `OAuthProxy`: an authorization server in front of one client at GitHub, Google or another provider. |
//! | `resource-server` | yes | `ResourceServer`: a server that verifies access tokens. |
//! | `testing` | no | `toolwire_auth::testing`: forms, PKCE and key thumbprints for authorization servers in tests. |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
pub mod client;
mod clock;
#[cfg(any(feature = "client", feature = "proxy"))]
mod deprecation;
pub mod documents;
mod fetch;
pub mod guide;
#[cfg(feature = "resource-server")]
mod jws;
#[cfg(feature = "client")]
mod origin;
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(feature = "resource-server")]
mod resource;
#[cfg_attr(
    not(all(feature = "client", feature = "proxy", feature = "testing")),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "each feature uses a part of the rules"
    )
)]
mod rules;
#[cfg(feature = "resource-server")]
mod store_deadline;
#[cfg(any(feature = "client", feature = "resource-server"))]
mod sync;
#[cfg(test)]
#[cfg(feature = "resource-server")]
mod test_http;
#[cfg(feature = "testing")]
pub mod testing;

pub use fetch::{DocumentFetcher, FetchError};
#[cfg(feature = "proxy")]
pub use proxy::{
    OAuthProxy, OAuthProxyConfig, OAuthProxyConfigError, Upstream, UpstreamTokenError, UpstreamUser,
};
#[cfg(feature = "resource-server")]
pub use resource::{
    GitHubTokens, GoogleTokens, Introspection, JwtVerifier, ResourceServer, ResourceServerConfig,
    ResourceServerConfigError, StaticTokens, TokenError, TokenPurpose, TokenVerifier,
};
#[cfg(feature = "resource-server")]
pub use rules::scopes::ScopeHierarchy;
