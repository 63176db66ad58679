//! Our client, clients that are not ours, and our protected server, at an authorization server that is not ours. The user
//! is a scripted browser.
//!
//! Each test has an authorization server of its own, which says in the end what it was asked for: nobody has to log in
//! more often than needed, and nothing is asked twice.

mod browser;
mod ends;
mod example;
mod foreign;
mod guarded;
mod logins;
mod machines;
mod proofs;
mod refusals;
mod rejected_requests;
mod token_file;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolwire::auth::client::OAuthConfig;
use toolwire::{Client, Error, ProtocolVersion};
use toolwire_interop::{AuthorizationServer, Variation};

use self::browser::Browser;
use self::guarded::{Guard, Guarded};

/// Longer than it takes until a token that lasts a second is renewed.
const RENEWAL_TIME: Duration = Duration::from_secs(30);

/// Everybody who takes part.
struct Scene<'a> {
    provider: &'a AuthorizationServer,
    server: Guarded,
    browser: Arc<Browser>,
}

/// Plays a scene with clients of both eras. The authorization server is the same, everybody else is new.
async fn in_both_eras(variations: &[Variation], play: impl AsyncFn(&Scene<'_>, ProtocolVersion)) {
    let guard = if variations.contains(&Variation::Opaque) {
        Guard::Introspected
    } else {
        Guard::Signed
    };
    in_both_eras_with(guard, variations, play).await;
}

async fn in_both_eras_with(
    guard: Guard,
    variations: &[Variation],
    play: impl AsyncFn(&Scene<'_>, ProtocolVersion),
) {
    let provider = start(variations);
    for version in [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25] {
        // It is printed when the test fails.
        eprintln!("speaking {}", version.as_str());
        play(&Scene::new(&provider, guard).await, version).await;
    }
}

fn start(variations: &[Variation]) -> AuthorizationServer {
    let provider = AuthorizationServer::start(variations);
    provider.expect("the peers are installed")
}

impl<'a> Scene<'a> {
    async fn new(provider: &'a AuthorizationServer, guard: Guard) -> Self {
        Self {
            server: Guarded::start(provider.issuer(), guard).await,
            browser: Browser::new(provider.issuer(), "ann"),
            provider,
        }
    }

    /// A client that sends its user to the browser.
    fn oauth(&self) -> OAuthConfig {
        OAuthConfig::login("Interop", self.browser.login())
    }

    async fn try_to_connect(
        &self,
        oauth: OAuthConfig,
        version: ProtocolVersion,
    ) -> Result<Client, Error> {
        let builder = Client::builder("toolwire-interop", "1.0.0").with_versions([version]);
        let connecting = builder.with_oauth(oauth).connect(&self.server.url);
        connecting.await
    }

    async fn connect(&self, oauth: OAuthConfig, version: ProtocolVersion) -> Client {
        let client = self.try_to_connect(oauth, version).await;
        client.unwrap_or_else(|error| panic!("{}", story(&error)))
    }

    /// What the authorization server was asked for since it was asked last.
    async fn seen(&self) -> Vec<String> {
        let page = self.test_page("seen").await;
        serde_json::from_str(&page).expect("it is a list")
    }

    /// What the authorization server tells its tests alone.
    async fn test_page(&self, name: &str) -> String {
        let url = format!("{}/test/{name}", self.provider.issuer());
        self.browser.get(&url).await.text
    }
}

/// Calls until the token has come to its end, and another one is shown.
async fn call_until_renewed(scene: &Scene<'_>, client: &Client) {
    let first = scene.server.last_token();
    let calling = async {
        while scene.server.last_token() == first {
            who_calls(client).await;
        }
    };
    let renewed = tokio::time::timeout(RENEWAL_TIME, calling).await;
    renewed.expect("a token lasts a second");
}

/// What the server says about its caller: subject, client and scopes.
async fn who_calls(client: &Client) -> Vec<String> {
    let text = call(client, "who_calls", json!({})).await;
    text.split(", ").map(str::to_owned).collect()
}

/// The text a tool answers with.
async fn call(client: &Client, tool: &str, arguments: serde_json::Value) -> String {
    let text = try_to_call(client, tool, arguments).await;
    text.unwrap_or_else(|error| panic!("{}", story(&error)))
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

/// An error and all its causes.
fn story(error: &Error) -> String {
    let mut story = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        story.push_str(&format!(": {error}"));
        cause = error.source();
    }
    story
}
