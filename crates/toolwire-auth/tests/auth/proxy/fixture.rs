//! A server with an OAuth proxy, its identity provider, and a client that logs in.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;
use toolwire::{RequestContext, Server};
use toolwire_auth::testing::form;
use toolwire_auth::testing::pkce::Verifier;
use toolwire_auth::{DocumentFetcher, OAuthProxy, OAuthProxyConfig};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::Response;
use toolwire_tests::peer::{call, plain, server};

use super::browser::{Browser, location, sealed_request};
use super::provider::Provider;

pub(crate) const HOST: &str = "mcp.example.com";
pub(crate) const ORIGIN: &str = "https://mcp.example.com";
pub(crate) const RESOURCE: &str = "https://mcp.example.com/mcp";
pub(crate) const REDIRECT: &str = "https://app.example.com/callback";

/// A running server with its proxy and identity provider.
#[derive(Debug)]
pub(crate) struct ProxyFixture {
    pub(crate) provider: Provider,
    pub(crate) proxy: OAuthProxy,
    pub(crate) endpoint: Endpoint,
}

impl ProxyFixture {
    pub(crate) async fn new() -> Self {
        Self::with(|config| config).await
    }

    pub(crate) async fn with(change: impl FnOnce(OAuthProxyConfig) -> OAuthProxyConfig) -> Self {
        let provider = Provider::start().await;
        Self::in_front_of(provider, change).await
    }

    pub(crate) async fn in_front_of(
        provider: Provider,
        change: impl FnOnce(OAuthProxyConfig) -> OAuthProxyConfig,
    ) -> Self {
        let config = OAuthProxyConfig::new(RESOURCE, provider.upstream())
            .with_fetcher(DocumentFetcher::with_loopback_allowed());
        let proxy = change(config).build().unwrap();
        let options = HttpOptions::new()
            .with_public_hosts([HOST])
            .with_authorizer(proxy.clone());
        let endpoint = Endpoint::serve_with(&server_with_proxy(&proxy), options).await;
        Self {
            provider,
            proxy,
            endpoint,
        }
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.endpoint.address)
    }

    /// Registers a public client.
    pub(crate) async fn client(&self) -> Client {
        self.register(json!({
            "client_name": "Demo", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none",
        }))
        .await
    }

    pub(crate) async fn register(&self, metadata: Value) -> Client {
        let response = self.endpoint.request(&registration(&metadata)).await;
        assert_eq!(response.status(), 201, "{}", response.text());
        let registered = response.message();
        let redirect = metadata["redirect_uris"][0].as_str().unwrap();
        Client {
            id: registered["client_id"].as_str().unwrap().to_owned(),
            secret: registered["client_secret"].as_str().map(str::to_owned),
            redirect: redirect.to_owned(),
            verifier: Verifier::from_random([7; 32]),
        }
    }

    /// Consents to a request and logs in. Returns the URL of the redirect to the client.
    pub(crate) async fn consent_and_log_in(&self, browser: &mut Browser, target: &str) -> String {
        let page = browser.open(target).await;
        let sealed = sealed_request(&page);
        let allowed = [("request", sealed.as_str()), ("decision", "allow")];
        let response = browser.submit("/consent", &allowed).await;
        self.log_in_at_provider(browser, &location(&response)).await
    }

    /// Logs in at the provider. Returns the URL of the redirect to the client.
    pub(crate) async fn log_in_at_provider(
        &self,
        browser: &mut Browser,
        provider_url: &str,
    ) -> String {
        let callback = self.provider.log_in(provider_url);
        location(&browser.open(&callback).await)
    }

    /// Returns the authorization code of a complete login in a new browser.
    pub(crate) async fn code(&self, client: &Client) -> String {
        let mut browser = self.browser();
        let redirect = self
            .consent_and_log_in(&mut browser, &client.authorize(&[]))
            .await;
        parameters(&redirect)["code"].clone()
    }

    /// Returns the tokens of a complete login.
    pub(crate) async fn tokens(&self, client: &Client) -> Value {
        let code = self.code(client).await;
        let response = self.token(&client.redeem_form(&code)).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        response.message()
    }

    /// Sends a form to the token endpoint.
    pub(crate) async fn token(&self, pairs: &[(&str, &str)]) -> Response {
        self.endpoint.request(&form_to("/token", pairs)).await
    }

    /// Calls the tool that returns the identity of the caller.
    pub(crate) async fn whoami(&self, token: &str) -> Response {
        let request = Request::modern(&call(7, "whoami", json!({})))
            .with("Authorization", format!("Bearer {token}"));
        self.endpoint.request(&request).await
    }

    /// Returns the text of a tool result.
    #[track_caller]
    pub(crate) fn tool_text(response: &Response) -> String {
        assert_eq!(response.status(), 200, "{}", response.text());
        let text = &response.message()["result"]["content"][0]["text"];
        text.as_str().unwrap().to_owned()
    }
}

/// Returns a server whose tools return the identity of the caller and the token of the provider.
pub(crate) fn server_with_proxy(proxy: &OAuthProxy) -> Server {
    let whoami = plain("whoami", |ctx: RequestContext| {
        let auth = ctx.auth();
        let login = auth.claims.get("login").cloned().unwrap_or_default();
        let names = auth.claims.keys().cloned().collect::<Vec<_>>().join(",");
        let subject = auth.subject.clone().unwrap_or_default();
        let scopes = auth.scopes.join(" ");
        async move { format!("{subject} {login} [{scopes}] {names}") }
    });
    let proxy = proxy.clone();
    let upstream = plain("upstream", move |ctx: RequestContext| {
        let proxy = proxy.clone();
        async move {
            match proxy.upstream_token(ctx.auth()).await {
                Ok(token) => token.expose().to_owned(),
                Err(error) => format!("no token: {error}"),
            }
        }
    });
    server().tool(whoami).tool(upstream)
}

/// A registered client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    pub(crate) redirect: String,
    pub(crate) verifier: Verifier,
}

impl Client {
    /// Returns the path and query of an authorization request. `changes` replace parameters. An empty value removes the
    /// parameter.
    pub(crate) fn authorize(&self, changes: &[(&str, &str)]) -> String {
        let challenge = self.verifier.challenge();
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", &self.redirect),
            ("state", "the state"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", RESOURCE),
        ];
        for (name, value) in changes {
            pairs.retain(|(own, _)| own != name);
            if !value.is_empty() {
                pairs.push((name, value));
            }
        }
        format!("/authorize?{}", form::encode(pairs))
    }

    /// Returns the form that redeems a code.
    pub(crate) fn redeem_form<'a>(&'a self, code: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut pairs = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect),
            ("code_verifier", self.verifier.as_secret().expose()),
            ("client_id", &self.id),
            ("resource", RESOURCE),
        ];
        pairs.extend(
            self.secret
                .as_deref()
                .map(|secret| ("client_secret", secret)),
        );
        pairs
    }

    /// Returns the form that uses a refresh token.
    pub(crate) fn refresh_form<'a>(&'a self, token: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut pairs = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", &self.id),
        ];
        pairs.extend(
            self.secret
                .as_deref()
                .map(|secret| ("client_secret", secret)),
        );
        pairs
    }
}

pub(crate) fn registration(metadata: &Value) -> Request {
    Request::new("POST")
        .with_target("/register")
        .with("Content-Type", "application/json")
        .with_body(metadata.to_string())
}

pub(crate) fn form_to(target: &str, pairs: &[(&str, &str)]) -> Request {
    Request::new("POST")
        .with_target(target)
        .with("Content-Type", "application/x-www-form-urlencoded")
        .with_body(form::encode(pairs.iter().copied()))
}

/// Returns the query parameters of a URL.
#[track_caller]
pub(crate) fn parameters(url: &str) -> HashMap<String, String> {
    let (_, query) = url.split_once('?').unwrap();
    form::decode(query).unwrap().into_iter().collect()
}

/// Returns the error code in a response of an OAuth endpoint.
#[track_caller]
pub(crate) fn error_of(response: &Response) -> String {
    assert_eq!(response.header("cache-control"), Some("no-store"));
    response.message()["error"].as_str().unwrap().to_owned()
}
