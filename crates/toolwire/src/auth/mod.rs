//! Authorization over HTTP: a resource server that verifies access tokens, and a client that requests them.
//!
//! ```
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use toolwire::auth::ResourceServerConfig;
//! use toolwire::transport::http::HttpOptions;
//! use toolwire::{Server, tool};
//!
//! /// Adds two integers.
//! #[tool]
//! async fn add(a: i64, b: i64) -> i64 { a + b }
//!
//! let guard = ResourceServerConfig::new("https://mcp.example.com/mcp", ["https://auth.example.com"]).build()?;
//! let options = HttpOptions::new().with_public_hosts(["mcp.example.com"]).with_authorizer(guard);
//! Server::new("demo", "1.0.0").tool(add).serve_http_with("0.0.0.0:8080", options).await?;
//! # Ok(())
//! # }
//! ```

#[cfg(test)]
#[cfg(feature = "resource-server")]
mod canned_http;
#[cfg(feature = "oauth-client")]
pub mod client;
mod fetch;
#[cfg(feature = "resource-server")]
mod jws;
#[cfg(feature = "oauth-proxy")]
mod proxy;
#[cfg(feature = "resource-server")]
mod resource;

pub use fetch::{DocumentFetcher, FetchError};
#[cfg(feature = "oauth-proxy")]
pub use proxy::{
    OAuthProxy, OAuthProxyConfig, OAuthProxyConfigError, Upstream, UpstreamTokenError, UpstreamUser,
};
#[cfg(feature = "resource-server")]
pub use resource::{
    GitHubTokens, GoogleTokens, Introspection, JwtVerifier, ResourceServer, ResourceServerConfig,
    ResourceServerConfigError, StaticTokens, TokenError, TokenPurpose, TokenVerifier,
};
