//! A toolwire server that accepts the tokens of the authorization server.

use std::fmt;
use std::sync::Arc;

use tokio::task::JoinHandle;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{BoxFuture, Server, tool};
use toolwire_auth::documents::{AccessTokenClaims, Secret};
use toolwire_auth::{ResourceServerConfig, TokenError, TokenPurpose, TokenVerifier};

use crate::accounts::authorization_server::{AuthorizationServer, Shared};

/// Greets the caller.
#[tool]
async fn greet() -> &'static str {
    "hello, friend"
}

/// Needs an additional scope.
#[tool(scopes("mail"))]
async fn send_mail() -> &'static str {
    "sent"
}

/// The running server, until it is dropped.
pub(super) struct ProtectedServer {
    url: String,
    serving: JoinHandle<()>,
}

impl ProtectedServer {
    pub(super) async fn start(issuer: &AuthorizationServer) -> Self {
        // The configuration needs the address before the server listens. Another process may take the port in between.
        for _ in 0..16 {
            let free =
                std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
            let address = free.expect("a free port");
            let url = format!("http://{address}/mcp");
            let config = ResourceServerConfig::new(&url, [&issuer.url])
                .with_required_scopes(["notes"])
                .with_verifier(Verifier(issuer.shared()))
                .build()
                .expect("the configuration is valid");
            let options = HttpOptions::new().with_authorizer(config);
            let server = Server::new("protected", "1.0.0")
                .tool(greet)
                .tool(send_mail);
            if let Ok(listener) = HttpListener::bind(server, address, options).await {
                let serving = tokio::spawn(async move {
                    let _ = listener.run().await;
                });
                return Self { url, serving };
            }
        }
        panic!("no port stays free");
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for ProtectedServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Checks every token at the authorization server.
struct Verifier(Arc<Shared>);

impl TokenVerifier for Verifier {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        let claims = self.0.scopes_of(token.expose()).map(|scopes| {
            let mut claims = AccessTokenClaims::default();
            claims.sub = Some("ann".to_owned());
            claims.scope = Some(scopes.as_str().into());
            claims.iss = purpose.issuers.first().cloned();
            claims.aud = Some(purpose.resource.as_str().into());
            claims.exp = Some(u64::MAX);
            claims
        });
        let unknown = || TokenError::Invalid("the token is not known".to_owned());
        Box::pin(std::future::ready(claims.ok_or_else(unknown)))
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}
