//! A protected server of ours, whose tokens come from the authorization server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolwire::auth::{
    DocumentFetcher, Introspection, JwtVerifier, ResourceServerConfig, TokenError, TokenPurpose,
    TokenVerifier,
};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::types::auth::{AccessTokenClaims, Secret};
use toolwire::{BoxFuture, RequestContext, Server, tool};

/// Says who is calling: subject, client and scopes.
#[tool]
async fn who_calls(ctx: &RequestContext) -> String {
    let caller = ctx.auth();
    let subject = caller.subject.as_deref().unwrap_or("nobody");
    let client = caller.client_id.as_deref().unwrap_or("no client");
    format!("{subject}, {client}, {}", caller.scopes.join(" "))
}

/// Adds a note, which the server's own scope does not allow.
#[tool(scopes("notes:write"))]
async fn write(text: String) -> String {
    format!("written: {text}")
}

/// Which tokens the server wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Signed ones, verified with the keys of the authorization server.
    Signed,
    /// Signed ones that are bound to a key of the client.
    Bound,
    /// Opaque ones: the authorization server is asked about each, each time.
    Introspected,
}

/// A server on a port; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) url: String,
    tokens: Tokens,
    serving: JoinHandle<()>,
}

/// The tokens that were shown to the server, oldest first.
type Tokens = Arc<Mutex<Vec<Secret>>>;

impl Guarded {
    pub(crate) async fn start(issuer: &str, guard: Guard) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let url = format!("http://{address}/mcp");
        let tokens = Tokens::default();
        let verifier = Noting {
            inner: verifier(issuer, guard),
            tokens: Arc::clone(&tokens),
        };
        let mut config = ResourceServerConfig::new(&url, [issuer])
            .with_required_scopes(["notes:read"])
            .with_verifier(verifier);
        if guard == Guard::Bound {
            config = config.with_dpop_required();
        }
        let resource_server = config.build().expect("it is a configuration");
        let options = HttpOptions::new()
            .with_authorizer(resource_server)
            .without_signals();
        let server = Server::new("guarded", "1.0.0").tool(who_calls).tool(write);
        let listener = HttpListener::from_listener(server, listener, options);
        let listener = listener.expect("it is bound");
        let serving = tokio::spawn(async move { listener.run().await.expect("it serves") });
        Self {
            url,
            tokens,
            serving,
        }
    }

    /// The token that was shown last.
    pub(crate) fn last_token(&self) -> Secret {
        let tokens = self.tokens.lock().expect("no test panics here");
        tokens.last().expect("a token was shown").clone()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn verifier(issuer: &str, guard: Guard) -> Box<dyn TokenVerifier> {
    let fetcher = DocumentFetcher::with_loopback_allowed();
    if guard != Guard::Introspected {
        return Box::new(JwtVerifier::new([issuer], &fetcher));
    }
    let endpoint = format!("{issuer}/token/introspection");
    let secret = Secret::new("secret of the resource server");
    let asking = Introspection::new(endpoint, "resource-server", &secret, fetcher);
    let asking = asking.expect("it is a URL");
    // A token that is lost is refused at once.
    Box::new(asking.with_cache_time(Duration::ZERO))
}

/// Notes every token before it is verified.
#[derive(Debug)]
struct Noting {
    inner: Box<dyn TokenVerifier>,
    tokens: Tokens,
}

impl TokenVerifier for Noting {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        let mut tokens = self.tokens.lock().expect("no test panics here");
        tokens.push(token.clone());
        drop(tokens);
        self.inner.verify(token, purpose)
    }
}
