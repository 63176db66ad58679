//! A protected toolwire server with tokens of the authorization server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{BoxFuture, RequestContext, Server, tool};
use toolwire_auth::documents::{AccessTokenClaims, Secret};
use toolwire_auth::{
    DocumentFetcher, Introspection, JwtVerifier, ResourceServerConfig, TokenError, TokenPurpose,
    TokenVerifier,
};

/// Returns the subject, the client and the scopes of the caller.
#[tool]
async fn who_calls(ctx: &RequestContext) -> String {
    let caller = ctx.auth();
    let subject = caller.subject.as_deref().unwrap_or("no subject");
    let client = caller.client_id.as_deref().unwrap_or("no client");
    format!("{subject}, {client}, {}", caller.scopes.join(" "))
}

/// Adds a note, which needs another scope than the server.
#[tool(scopes("notes:write"))]
async fn write(text: String) -> String {
    format!("written: {text}")
}

/// The kind of tokens that the server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Signed tokens, verified with the keys of the authorization server.
    Signed,
    /// Signed tokens that are bound to a key of the client.
    Bound,
    /// Opaque tokens: the server introspects each one every time.
    Introspected,
}

/// A server on a port. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ProtectedServer {
    pub(crate) url: String,
    tokens: Tokens,
    serving: JoinHandle<()>,
}

/// The tokens that the server received, oldest first.
type Tokens = Arc<Mutex<Vec<Secret>>>;

impl ProtectedServer {
    pub(crate) async fn start(issuer: &str, token_kind: TokenKind) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("the listener is bound");
        let url = format!("http://{address}/mcp");
        let tokens = Tokens::default();
        let verifier = RecordingVerifier {
            inner: verifier(issuer, token_kind),
            tokens: Arc::clone(&tokens),
        };
        let mut config = ResourceServerConfig::new(&url, [issuer])
            .with_required_scopes(["notes:read"])
            .with_verifier(verifier);
        if token_kind == TokenKind::Bound {
            config = config.with_dpop_required();
        }
        let resource_server = config.build().expect("the configuration is valid");
        let options = HttpOptions::new()
            .with_authorizer(resource_server)
            .without_signals();
        let server = Server::new("protected", "1.0.0")
            .tool(who_calls)
            .tool(write);
        let listener = HttpListener::from_listener(server, listener, options);
        let listener = listener.expect("the listener is bound");
        let serving = tokio::spawn(async move { listener.run().await.expect("the server runs") });
        Self {
            url,
            tokens,
            serving,
        }
    }

    /// Returns the last token that the server received.
    pub(crate) fn last_token(&self) -> Secret {
        let tokens = self.tokens.lock().expect("no test panics with the lock");
        tokens.last().expect("a token was received").clone()
    }
}

impl Drop for ProtectedServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn verifier(issuer: &str, token_kind: TokenKind) -> Box<dyn TokenVerifier> {
    let fetcher = DocumentFetcher::with_loopback_allowed();
    if token_kind != TokenKind::Introspected {
        return Box::new(JwtVerifier::new([issuer], &fetcher));
    }
    let endpoint = format!("{issuer}/token/introspection");
    let secret = Secret::new("secret of the resource server");
    let introspection = Introspection::new(endpoint, "resource-server", &secret, fetcher);
    let introspection = introspection.expect("the URL is valid");
    // Without a cache, a revoked token is rejected at once.
    Box::new(introspection.with_cache_ttl(Duration::ZERO))
}

/// Records every token before it is verified.
#[derive(Debug)]
struct RecordingVerifier {
    inner: Box<dyn TokenVerifier>,
    tokens: Tokens,
}

impl TokenVerifier for RecordingVerifier {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        let mut tokens = self.tokens.lock().expect("no test panics with the lock");
        tokens.push(token.clone());
        drop(tokens);
        self.inner.verify(token, purpose)
    }
}
