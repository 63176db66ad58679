//! Our own client logs in through the proxy: what each side believes of the specification is the same.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{BoxFuture, Client};
use toolwire_auth::client::{
    AuthError, CallbackVerdict, CheckCallback, Login, OAuthConfig, PendingLogin,
};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};

use super::browser::{Browser, location, sealed_request};
use super::provider::Provider;
use super::stage::{HOST, behind};
use crate::peer::within;

const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A user who agrees, and how often they were asked.
#[derive(Debug, Clone)]
struct User {
    address: SocketAddr,
    provider: Provider,
    asked: Arc<AtomicUsize>,
}

impl Login for User {
    fn begin<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn PendingLogin>) })
    }
}

impl PendingLogin for User {
    fn redirect_uri(&self) -> &str {
        REDIRECT
    }

    fn finish<'a>(
        self: Box<Self>,
        url: &'a str,
        check: CheckCallback<'a>,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let mut browser = Browser::new(self.address);
            let at = format!("http://{}", self.address);
            let page = browser.open(url.strip_prefix(&at).unwrap()).await;
            let sealed = sealed_request(&page);
            let allowed = [("request", sealed.as_str()), ("decision", "allow")];
            let answer = browser.submit("/consent", &allowed).await;
            let back = self.provider.log_in(&location(&answer));
            let back = location(&browser.open(&back).await);
            let query = back.strip_prefix(&format!("{REDIRECT}?")).unwrap();
            assert_eq!(check(query), CallbackVerdict::Success, "{query}");
            Ok(query.to_owned())
        })
    }
}

#[tokio::test]
async fn our_own_client_logs_in_calls_and_refreshes() {
    let provider = Provider::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let endpoint = format!("http://{address}/mcp");
    let proxy = OAuthProxyConfig::new(&endpoint, provider.upstream())
        .with_fetcher(DocumentFetcher::with_loopback_allowed())
        .with_required_scopes(["use"])
        .with_access_token_ttl(Duration::from_secs(1))
        .build()
        .unwrap();
    let options = HttpOptions::new()
        .with_public_hosts([HOST])
        .without_signals()
        .with_authorizer(proxy.clone());
    let listener = HttpListener::from_listener(behind(&proxy), listener, options).unwrap();
    let serving = tokio::spawn(listener.run());

    let user = User {
        address,
        provider,
        asked: Arc::default(),
    };
    let asked = Arc::clone(&user.asked);
    let connecting = Client::builder("test", "1")
        .with_http_layer(OAuthConfig::login("Our own client", user))
        .connect(&endpoint);
    let client = within(connecting).await.unwrap();
    // A token lasts a second here. However often the client gets the next one, the user is asked once.
    for _ in 0..3 {
        let calling = async { client.call_tool("whoami", json!({})).await };
        let result = within(calling).await.unwrap();
        let text = serde_json::to_string(&result.content).unwrap();
        assert!(text.contains("42 ") && text.contains("[use]"), "{text}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    serving.abort();
}
