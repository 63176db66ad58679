//! Clients of toolwire, independent clients and a protected toolwire server, with an independent authorization server.
//! The user is a scripted browser.
//!
//! Each test has its own authorization server, which reports its requests at the end. A test checks that there are no
//! more logins and requests than needed.

mod browser;
mod client_credentials;
mod dpop;
mod example;
mod independent_clients;
mod logins;
mod protected_server;
mod rejected_requests;
mod rejections;
mod revocation;
mod token_file;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolwire::{Client, Error, ProtocolVersion};
use toolwire_auth::client::OAuthConfig;
use toolwire_interop::{AuthorizationServer, Variation};

use self::browser::Browser;
use self::protected_server::{ProtectedServer, TokenKind};

/// Longer than the refresh of a token that lasts one second.
const RENEWAL_TIME: Duration = Duration::from_secs(30);

/// The server, the authorization server and the browser of a test.
struct Fixture<'a> {
    provider: &'a AuthorizationServer,
    server: ProtectedServer,
    browser: Arc<Browser>,
}

/// Runs a test with clients of both eras. They share the authorization server, and have their own server and browser.
async fn in_both_eras(variations: &[Variation], test: impl AsyncFn(&Fixture<'_>, ProtocolVersion)) {
    let token_kind = if variations.contains(&Variation::Opaque) {
        TokenKind::Introspected
    } else {
        TokenKind::Signed
    };
    in_both_eras_with(token_kind, variations, test).await;
}

async fn in_both_eras_with(
    token_kind: TokenKind,
    variations: &[Variation],
    test: impl AsyncFn(&Fixture<'_>, ProtocolVersion),
) {
    let provider = start(variations);
    for version in [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25] {
        // Printed if the test fails.
        eprintln!("revision {}", version.as_str());
        test(&Fixture::new(&provider, token_kind).await, version).await;
    }
}

fn start(variations: &[Variation]) -> AuthorizationServer {
    let provider = AuthorizationServer::start(variations);
    provider.expect("the peers are installed")
}

impl<'a> Fixture<'a> {
    async fn new(provider: &'a AuthorizationServer, token_kind: TokenKind) -> Self {
        Self {
            server: ProtectedServer::start(provider.issuer(), token_kind).await,
            browser: Browser::new(provider.issuer(), "ann"),
            provider,
        }
    }

    /// Returns a configuration that opens the browser for logins.
    fn oauth(&self) -> OAuthConfig {
        OAuthConfig::login("Interop", self.browser.login())
    }

    async fn try_to_connect(
        &self,
        oauth: OAuthConfig,
        version: ProtocolVersion,
    ) -> Result<Client, Error> {
        let builder = Client::builder("toolwire-interop", "1.0.0").with_versions([version]);
        let connecting = builder.with_http_layer(oauth).connect(&self.server.url);
        connecting.await
    }

    async fn connect(&self, oauth: OAuthConfig, version: ProtocolVersion) -> Client {
        let client = self.try_to_connect(oauth, version).await;
        client.unwrap_or_else(|error| panic!("{}", error_chain(&error)))
    }

    /// Returns the events of the authorization server since the last call.
    async fn take_events(&self) -> Vec<String> {
        let page = self.test_page("events").await;
        serde_json::from_str(&page).expect("the page is a list")
    }

    /// Returns a page that the authorization server has for tests only.
    async fn test_page(&self, name: &str) -> String {
        let url = format!("{}/test/{name}", self.provider.issuer());
        self.browser.get(&url).await.text
    }
}

/// Calls until the token has expired and another one is used.
async fn call_until_renewed(fixture: &Fixture<'_>, client: &Client) {
    let first = fixture.server.last_token();
    let calling = async {
        while fixture.server.last_token() == first {
            who_calls(client).await;
        }
    };
    let renewed = tokio::time::timeout(RENEWAL_TIME, calling).await;
    renewed.expect("a token lasts one second");
}

/// Returns the server's view of its caller: subject, client and scopes.
async fn who_calls(client: &Client) -> Vec<String> {
    let text = call(client, "who_calls", json!({})).await;
    text.split(", ").map(str::to_owned).collect()
}

/// Returns the text of a tool result.
async fn call(client: &Client, tool: &str, arguments: serde_json::Value) -> String {
    let text = try_to_call(client, tool, arguments).await;
    text.unwrap_or_else(|error| panic!("{}", error_chain(&error)))
}

async fn try_to_call(
    client: &Client,
    tool: &str,
    arguments: serde_json::Value,
) -> Result<String, Error> {
    let result = client.call_tool(tool, arguments).await?;
    let texts = result.content.iter().filter_map(|block| block.as_text());
    Ok(texts.collect())
}

/// Returns an error with all its causes.
fn error_chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
