//! Credentials for upstream servers over HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use toolwire::relay::{
    Credential, Credentials, FixedCredential, LoginRequired, Relay, Sharing, Upstream,
    UpstreamSource,
};
use toolwire::transport::http::{AuthorizationError, Authorizer, HttpOptions};
use toolwire::types::ElicitResult;
use toolwire::{
    BoxFuture, CacheHint, ClientBuilder, Era, Principal, RequestContext, ResourceHandler, ScopeSet,
    Server, TokenInfo, tool,
};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{legacy, modern, modern_with, server};

/// Returns the user that the upstream server knows.
#[tool]
async fn whoami(ctx: &RequestContext) -> String {
    ctx.auth().subject.clone().unwrap_or_default()
}

/// The authorizer of the upstream server. It stores the headers of all requests, and rejects the token `stale`.
#[derive(Debug, Clone, Default)]
struct RecordingAuthorizer {
    headers: Arc<Mutex<Vec<String>>>,
}

impl Authorizer for RecordingAuthorizer {
    fn authorize<'a>(
        &'a self,
        head: &'a http::request::Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let mut text = String::new();
        for (name, value) in &head.headers {
            text += &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()));
        }
        let is_stale = text.contains("Bearer stale");
        self.headers.lock().expect("no test panicked").push(text);
        if is_stale {
            let error = AuthorizationError::new(StatusCode::UNAUTHORIZED, "stale");
            return Box::pin(std::future::ready(Err(error)));
        }
        NamedUsers.authorize(head)
    }

    fn insufficient_scope(&self, scopes: &ScopeSet, token: &TokenInfo) -> AuthorizationError {
        NamedUsers.insufficient_scope(scopes, token)
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        NamedUsers.document(path)
    }
}

/// The credentials of the users `ann` and `carl`. The first token of `carl` is not valid any more. Others have to log in.
#[derive(Debug, Default)]
struct TokensOfUsers {
    has_renewed: Mutex<bool>,
}

impl Credentials for TokensOfUsers {
    fn present<'a>(
        &'a self,
        caller: &'a Principal,
        upstream: &'a str,
    ) -> BoxFuture<'a, Result<Credential, LoginRequired>> {
        let credential = match caller.as_str() {
            None => Ok(Credential::bearer("gateway")),
            Some(user) if user.contains("ann") => {
                Ok(Credential::bearer("up-ann").with_header("x-tenant", "blue"))
            }
            Some(user) if user.contains("carl") => {
                let is_renewed = *self.has_renewed.lock().expect("no test panicked");
                let token = if is_renewed { "up-carl" } else { "stale" };
                Ok(Credential::bearer(token))
            }
            Some(_) => Err(LoginRequired::new(format!("https://login/{upstream}"))),
        };
        Box::pin(std::future::ready(credential))
    }

    fn rejected(&self, _caller: &Principal, _upstream: &str) {
        *self.has_renewed.lock().expect("no test panicked") = true;
    }
}

/// A server in front of an upstream server, both over HTTP.
struct Gateway {
    front: Endpoint,
    source: UpstreamSource,
    headers: Arc<Mutex<Vec<String>>>,
    _upstream: Endpoint,
}

/// Starts an upstream server, and returns it with a way to reach it.
async fn upstream(credentials: impl Credentials) -> (Upstream, Endpoint, Arc<Mutex<Vec<String>>>) {
    let authorizer = RecordingAuthorizer::default();
    let headers = Arc::clone(&authorizer.headers);
    let upstream = Server::new("up", "1.0.0").tool(whoami).resource(
        ResourceHandler::new("x://a", "a", |_, _| async { "text" })
            .with_cache(CacheHint::public(Duration::from_secs(60))),
    );
    let options = HttpOptions::new().with_authorizer(authorizer);
    let endpoint = Endpoint::serve_with(&upstream, options).await;
    let address = format!("http://{}/mcp", endpoint.address);
    let upstream = Upstream::new(move |builder| {
        let address = address.clone();
        async move { builder.connect(&address).await }
    });
    let upstream = upstream.with_name("up").with_credentials(credentials);
    (upstream, endpoint, headers)
}

async fn gateway(credentials: impl Credentials) -> Gateway {
    let (upstream, endpoint, headers) = upstream(credentials).await;
    let source = upstream.source();
    source
        .connect()
        .await
        .expect("the upstream server is reachable");
    let server = server().mount("up", source.clone());
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    Gateway {
        front: Endpoint::serve_with(&server, options).await,
        source,
        headers,
        _upstream: endpoint,
    }
}

/// Calls the tool through a relay as a user, and returns the message of the response.
async fn call_relay(front: &Endpoint, user: &str) -> Value {
    let params = json!({"name": "whoami", "arguments": {}});
    let message = modern_with(1, "tools/call", params, json!({}));
    let request = Request::modern(&message).with("Authorization", format!("Bearer {user}"));
    front.request(&request).await.message()
}

async fn serve_relay(relay: &Relay) -> Endpoint {
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    Endpoint::serve_with(relay.server(), options).await
}

impl Gateway {
    /// Calls the tool as a user with a token, a cookie and a header that must not leave the gateway.
    async fn call(&self, user: &str, mut params: Value, capabilities: Value) -> Value {
        params["name"] = "up_whoami".into();
        params["arguments"] = json!({});
        let message = modern_with(1, "tools/call", params, capabilities);
        let request = Request::modern(&message)
            .with("Authorization", format!("Bearer canary-{user}"))
            .with("Cookie", "session=canary")
            .with("X-Own", "canary");
        let response = self.front.request(&request).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        response.message()["result"].clone()
    }

    async fn text(&self, user: &str) -> Value {
        let result = self.call(user, json!({}), json!({})).await;
        result["content"][0]["text"].clone()
    }

    fn expect_no_canary(&self) {
        let headers = self.headers.lock().expect("no test panicked");
        assert!(!headers.is_empty());
        for text in &*headers {
            assert!(!text.contains("canary"), "{text}");
        }
    }
}

#[tokio::test]
async fn upstream_server_sees_the_credentials_of_each_caller_and_nothing_of_its_request() {
    let gateway = gateway(TokensOfUsers::default()).await;
    assert_eq!(gateway.text("ann").await, "up-ann");
    // The stale token is replaced once.
    assert_eq!(gateway.text("carl").await, "up-carl");
    assert_eq!(gateway.text("ann").await, "up-ann");
    gateway.expect_no_canary();
    let sent = gateway.headers.lock().expect("no test panicked").concat();
    assert!(sent.contains("x-tenant: blue"), "{sent}");
    gateway.source.close().await;
}

#[tokio::test]
async fn contents_that_are_read_with_the_credential_of_a_caller_are_not_shared() {
    let check = async |gateway: Gateway, expected: &str| {
        let message = modern(1, "resources/read", json!({"uri": "x://a"}));
        let request = Request::modern(&message).with("Authorization", "Bearer ann");
        let response = gateway.front.request(&request).await.message();
        assert_eq!(response["result"]["cacheScope"], expected, "{response}");
        gateway.source.close().await;
    };
    check(gateway(TokensOfUsers::default()).await, "private").await;
    let same = FixedCredential::new(Credential::bearer("gateway"));
    check(gateway(same).await, "public").await;
}

#[tokio::test]
async fn relay_presents_the_credentials_of_each_caller() {
    for sharing in [Sharing::PerPrincipal, Sharing::Shared] {
        let (upstream, _endpoint, _) = upstream(TokensOfUsers::default()).await;
        let relay = upstream.with_sharing(sharing).relay();
        let front = serve_relay(&relay).await;
        // A caller that has to log in causes no pause for the others.
        for _ in 0..6 {
            let rejected = call_relay(&front, "bob").await;
            let message = rejected["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("https://login/up"), "{rejected}");
        }
        for (user, seen) in [("ann", "up-ann"), ("carl", "up-carl"), ("ann", "up-ann")] {
            let response = call_relay(&front, user).await;
            let text = &response["result"]["content"][0]["text"];
            assert_eq!(text, seen, "{sharing:?} {response}");
        }
        let session = call_in_session(&front, "ann", "whoami").await;
        assert!(session.contains("up-ann"), "{session}");
        relay.close().await;
    }
}

/// Calls a tool as a user in a legacy session, and returns the body of the response.
async fn call_in_session(front: &Endpoint, user: &str, tool: &str) -> String {
    let post = async |message: Value, session: Option<&str>| {
        let token = format!("Bearer {user}");
        let mut request = Request::post(&message).with("Authorization", token);
        if let Some(session) = session {
            request = request.in_session(session, "2025-11-25");
        }
        front.request(&request).await
    };
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    });
    let initialized = post(legacy(1, "initialize", params), None).await;
    let session = initialized.header("mcp-session-id").map(str::to_owned);
    let call = legacy(2, "tools/call", json!({"name": tool, "arguments": {}}));
    post(call, session.as_deref()).await.text().to_owned()
}

#[tokio::test]
async fn legacy_session_has_the_credentials_of_its_caller() {
    let gateway = gateway(TokensOfUsers::default()).await;
    let text = call_in_session(&gateway.front, "canary-ann", "up_whoami").await;
    assert!(text.contains("up-ann"), "{text}");
    gateway.expect_no_canary();
}

#[tokio::test]
async fn caller_without_a_credential_gets_an_elicitation_to_log_in() {
    let gateway = gateway(TokensOfUsers::default()).await;
    let failed = gateway.call("bob", json!({}), json!({})).await;
    assert_eq!(failed["isError"], true);
    let text = failed["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("https://login/up"), "{text}");
    let url = json!({"elicitation": {"url": {}}});
    let required = gateway.call("bob", json!({}), url.clone()).await;
    assert_eq!(required["resultType"], "input_required");
    let requests = required["inputRequests"].as_object().expect("requests");
    let (key, request) = requests.iter().next().expect("one request");
    assert_eq!(request["params"]["url"], "https://login/up");
    assert_eq!(request["params"]["mode"], "url");
    // After the login, the response to the input request is not forwarded.
    let retry = json!({"inputResponses": {key: {"action": "accept"}}});
    let result = gateway.call("ann", retry, url).await;
    assert_eq!(result["content"][0]["text"], "up-ann", "{result}");
}

/// Credentials of users who log in during the test.
#[derive(Debug, Clone, Default)]
struct LaterLogins(watch::Sender<bool>);

impl Credentials for LaterLogins {
    fn present<'a>(
        &'a self,
        caller: &'a Principal,
        upstream: &'a str,
    ) -> BoxFuture<'a, Result<Credential, LoginRequired>> {
        let is_logged_in = *self.0.borrow() || caller.as_str().is_none();
        let presented = if is_logged_in {
            Ok(Credential::bearer("up-user"))
        } else {
            Err(LoginRequired::new(format!("https://login/{upstream}")))
        };
        Box::pin(std::future::ready(presented))
    }

    fn logged_in<'a>(&'a self, _caller: &'a Principal, _upstream: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {
            let mut logins = self.0.subscribe();
            let _ = logins.wait_for(|is_logged_in| *is_logged_in).await;
        })
    }
}

#[tokio::test]
async fn call_waits_for_the_login_that_its_user_has_accepted() {
    let logins = LaterLogins::default();
    let gateway = gateway(logins.clone()).await;
    let url = json!({"elicitation": {"url": {}}});
    let respond = |action: &str| json!({"inputResponses": {"toolwire-login": {"action": action}}});
    for action in ["decline", "cancel"] {
        let result = gateway.call("ann", respond(action), url.clone()).await;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("declined"), "{result}");
    }
    let log_in = async {
        // The call subscribes when it waits.
        while logins.0.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
        logins.0.send_replace(true);
    };
    let call = gateway.call("ann", respond("accept"), url);
    let (result, ()) = tokio::join!(call, log_in);
    assert_eq!(result["content"][0]["text"], "up-user", "{result}");
}

/// Credentials of users who never log in.
#[derive(Debug)]
struct NoLogins;

impl Credentials for NoLogins {
    fn present<'a>(
        &'a self,
        _caller: &'a Principal,
        upstream: &'a str,
    ) -> BoxFuture<'a, Result<Credential, LoginRequired>> {
        let login = LoginRequired::new(format!("https://login/{upstream}"));
        Box::pin(std::future::ready(Err(login)))
    }

    fn logged_in<'a>(&'a self, _caller: &'a Principal, _upstream: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }
}

/// Connects a source of an upstream server in this process.
async fn source_in_process(credentials: impl Credentials) -> UpstreamSource {
    let upstream = Server::new("up", "1.0.0").tool(whoami).resource(
        ResourceHandler::new("x://a", "a", |_, _| async { "text" })
            .with_cache(CacheHint::public(Duration::from_secs(60))),
    );
    let upstream = Upstream::new(move |builder| {
        let upstream = upstream.clone();
        async move { builder.in_process(&upstream).await }
    });
    let upstream = upstream.with_name("up").with_credentials(credentials);
    let source = upstream.source();
    source.connect().await.expect("it is in this process");
    source
}

#[tokio::test(start_paused = true)]
async fn call_waits_5_min_for_a_login_and_asks_again() {
    let source = source_in_process(NoLogins).await;
    let server = server().mount("up", source.clone());
    let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let times = Arc::clone(&asked);
    let builder = ClientBuilder::new("test", "1.0.0").on_url_elicitation(move |_| {
        let mut times = times.lock().expect("no test panicked");
        times.push(Instant::now());
        let result = match times.len() {
            1 => ElicitResult::accept(),
            _ => ElicitResult::decline(),
        };
        std::future::ready(Ok(result))
    });
    let client = builder.in_process(&server).await.expect("in process");
    let hour = Duration::from_secs(3600);
    let call = client.call_tool("up_whoami", json!({}));
    let call = call.with_timeout(hour).with_max_timeout(hour);
    let result = call.await.expect("a result");
    let text = result.content[0].as_text().unwrap_or_default();
    assert!(text.contains("declined"), "{text}");
    let asked = asked.lock().expect("no test panicked").clone();
    let waited = asked[1] - asked[0];
    assert_eq!(waited.as_secs(), 300, "{waited:?}");
    source.close().await;
}

/// Credentials of users who never log in, and for whom no call waits.
#[derive(Debug)]
struct NoLoginsToWaitFor;

impl Credentials for NoLoginsToWaitFor {
    fn present<'a>(
        &'a self,
        _caller: &'a Principal,
        upstream: &'a str,
    ) -> BoxFuture<'a, Result<Credential, LoginRequired>> {
        let login = LoginRequired::new(format!("https://login/{upstream}"));
        Box::pin(std::future::ready(Err(login)))
    }
}

#[tokio::test]
async fn elicitation_is_not_complete_without_a_login() {
    let source = source_in_process(NoLoginsToWaitFor).await;
    let server = server().mount("up", source.clone());
    let completed: Arc<Mutex<Vec<String>>> = Arc::default();
    let ids = Arc::clone(&completed);
    let builder = ClientBuilder::new("test", "1.0.0")
        .with_era(Era::Legacy)
        .on_url_elicitation(|_| async { Ok(ElicitResult::accept()) })
        .on_elicitation_complete(move |complete| {
            let mut ids = ids.lock().expect("no test panicked");
            ids.push(complete.elicitation_id);
        });
    let client = builder.in_process(&server).await.expect("in process");
    let result = client.call_tool("up_whoami", json!({})).await;
    let result = result.expect("a result");
    let text = result.content[0].as_text().unwrap_or_default();
    assert!(text.contains("https://login/up"), "{text}");
    let completed = completed.lock().expect("no test panicked").clone();
    assert!(completed.is_empty(), "{completed:?}");
    source.close().await;
}

#[tokio::test]
async fn fixed_credential_is_the_same_for_all_callers() {
    let credential = Credential::bearer("fixed");
    let gateway = gateway(FixedCredential::new(credential)).await;
    assert_eq!(gateway.text("ann").await, "fixed");
    assert_eq!(gateway.text("bob").await, "fixed");
    gateway.expect_no_canary();
}
