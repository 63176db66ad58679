//! The client of toolwire logs in through the proxy. Both sides must implement the specification in the same way.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{BoxFuture, Client};
use toolwire_auth::client::{
    AuthError, CallbackOutcome, CheckCallback, Login, OAuthConfig, PendingLogin,
};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};
use toolwire_tests::peer::within;

use super::browser::{Browser, location, sealed_request};
use super::fixture::{HOST, server_with_proxy};
use super::provider::Provider;

const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A user who consents to every login, and the number of logins.
#[derive(Debug, Clone)]
struct User {
    address: SocketAddr,
    provider: Provider,
    logins: Arc<AtomicUsize>,
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
            self.logins.fetch_add(1, Ordering::SeqCst);
            let mut browser = Browser::new(self.address);
            let at = format!("http://{}", self.address);
            let page = browser.open(url.strip_prefix(&at).unwrap()).await;
            let sealed = sealed_request(&page);
            let allowed = [("request", sealed.as_str()), ("decision", "allow")];
            let response = browser.submit("/consent", &allowed).await;
            let callback = self.provider.log_in(&location(&response));
            let redirect = location(&browser.open(&callback).await);
            let query = redirect.strip_prefix(&format!("{REDIRECT}?")).unwrap();
            assert_eq!(check(query), CallbackOutcome::Success, "{query}");
            Ok(query.to_owned())
        })
    }
}

#[tokio::test]
async fn toolwire_client_logs_in_calls_a_tool_and_refreshes() {
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
    let listener =
        HttpListener::from_listener(server_with_proxy(&proxy), listener, options).unwrap();
    let serving = tokio::spawn(listener.run());

    let user = User {
        address,
        provider,
        logins: Arc::default(),
    };
    let logins = Arc::clone(&user.logins);
    let connection = Client::builder("test", "1")
        .with_http_layer(OAuthConfig::login("toolwire client", user))
        .connect(&endpoint);
    let client = within(connection).await.unwrap();
    // Tokens expire after one second. The client refreshes them without another login.
    for _ in 0..3 {
        let call = async { client.call_tool("whoami", json!({})).await };
        let result = within(call).await.unwrap();
        let text = serde_json::to_string(&result.content).unwrap();
        assert!(text.contains("42 ") && text.contains("[use]"), "{text}");
    }
    assert_eq!(logins.load(Ordering::SeqCst), 1);
    serving.abort();
}
