//! Authorization over HTTP: a resource server that verifies tokens.
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
mod canned_http;
mod fetch;
mod jws;
mod resource;

pub use fetch::{FetchError, GuardedFetcher};
pub use resource::{
    FixedTokens, GitHubTokens, GoogleTokens, Introspection, InvalidConfig, JwtVerifier,
    ResourceServer, ResourceServerConfig, TokenPurpose, TokenRejected, TokenVerifier,
};
