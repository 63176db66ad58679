//! Upstreams that get a token in exchange for that of the caller.

use std::sync::Mutex;

use bytes::Bytes;
use http::request::Parts;
use http::{Request as HttpRequest, Response, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolwire::transport::http::{AuthorizationError, Authorizer, PublicRoute};
use toolwire::{ClientBuilder, ScopeSet, TokenInfo};
use toolwire_auth::{ResourceServerConfig, StaticTokens};

use super::*;
use crate::error::GatewayError;
use crate::front_auth::FrontAuth;

/// An authorization server that exchanges `token-of-NAME-…` and `assertion-NAME` for `exchanged-NAME`, and has a token for
/// the gateway itself. As an identity provider, it exchanges `token-of-NAME-…` for `assertion-NAME`.
#[derive(Debug, Default)]
struct TokenServer {
    issuer: String,
    /// The forms of the token requests.
    forms: Arc<Mutex<Vec<String>>>,
}

impl TokenServer {
    fn respond(&self, form: &str) -> (StatusCode, Value) {
        self.forms.lock().unwrap().push(form.to_owned());
        let name_after = |start: &str| {
            let mut names = form.split('&').filter_map(|part| part.strip_prefix(start));
            names.next().and_then(|name| name.split('-').next())
        };
        let subject = name_after("subject_token=token-of-");
        if form.contains("token-type%3Aid-jag")
            && let Some(name) = subject
        {
            let issued = "urn:ietf:params:oauth:token-type:id-jag";
            let token = format!("assertion-{name}");
            let response =
                json!({ "access_token": token, "token_type": "N_A", "issued_token_type": issued });
            return (StatusCode::OK, response);
        }
        match subject.or_else(|| name_after("assertion=assertion-")) {
            // The account of Eve may not use the upstream.
            Some("eve") => (
                StatusCode::BAD_REQUEST,
                json!({ "error": "invalid_target" }),
            ),
            Some(name) => {
                let issued = "urn:ietf:params:oauth:token-type:access_token";
                let token = format!("exchanged-{name}");
                let response = json!({ "access_token": token, "token_type": "Bearer", "issued_token_type": issued });
                (StatusCode::OK, response)
            }
            None => {
                let response = json!({ "access_token": "of-the-gateway", "token_type": "Bearer" });
                (StatusCode::OK, response)
            }
        }
    }
}

impl Authorizer for TokenServer {
    fn authorize<'a>(
        &'a self,
        _head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let error = AuthorizationError::new(StatusCode::UNAUTHORIZED, "unused");
        Box::pin(std::future::ready(Err(error)))
    }

    fn insufficient_scope(&self, _needed: &ScopeSet, _token: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "unused")
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        let issuer = &self.issuer;
        let metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        });
        let is_metadata = path == "/.well-known/oauth-authorization-server";
        is_metadata.then(|| metadata.to_string().into())
    }

    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        (path == "/token").then(|| PublicRoute::post(64 * 1024))
    }

    fn serve_public(&self, request: HttpRequest<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        let form = String::from_utf8_lossy(request.body()).into_owned();
        let (status, body) = self.respond(&form);
        let response = Response::builder().status(status);
        let response = response.header("content-type", "application/json");
        let response = response.body(body.to_string().into());
        Box::pin(std::future::ready(response.expect("a valid response")))
    }
}

/// Serves a server with an authorizer that needs to know its origin. Returns the origin.
pub(super) async fn serve<A: Authorizer + 'static>(
    server: Server,
    authorizer: impl FnOnce(&str) -> A,
) -> (String, AbortHandle) {
    let socket = TcpListener::bind("127.0.0.1:0").await;
    let socket = socket.expect("a port is free");
    let address = socket.local_addr().expect("it is bound");
    let origin = format!("http://{address}");
    let options = HttpOptions::new()
        .without_signals()
        .with_authorizer(authorizer(&origin));
    let listener = HttpListener::from_listener(server, socket, options).expect("it is usable");
    let serving = tokio::spawn(listener.run()).abort_handle();
    (origin, serving)
}

/// A gateway in front of a server that tells a caller its account there.
struct ExchangingGateway {
    gateway: Gateway,
    front: String,
    upstream_url: String,
    serving: AbortHandle,
    front_serving: JoinHandle<Result<(), toolwire::Error>>,
    _scratch: Scratch,
}

impl ExchangingGateway {
    /// Starts the servers and the gateway. `issuer` is the authorization server of the upstream, `callers` that of callers.
    async fn start(issuer: &str, callers: &str, exchange: &str) -> Self {
        let scratch = Scratch::new("gateway");
        let whoami = ToolHandler::typed("whoami", |ctx: RequestContext, _: Value| async move {
            ctx.auth().subject.clone().unwrap_or_default()
        });
        let protected = |origin: &str| {
            // Another token than these is rejected.
            let known = StaticTokens::new()
                .with_token("exchanged-ann", "Ann", "")
                .with_token("exchanged-bob", "Bob", "")
                .with_token("of-the-gateway", "gateway", "");
            let config = ResourceServerConfig::new(format!("{origin}/mcp"), [issuer]);
            config.with_verifier(known).build().expect("it is valid")
        };
        let upstream = Server::new("upstream", "1.0.0").tool(whoami);
        let (origin, serving) = serve(upstream, protected).await;
        let upstream_url = format!("{origin}/mcp");
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[auth]\nissuer = {callers:?}\naudience = \"https://tools.example.com/mcp\"\n\
             [upstream.files]\nurl = {upstream_url:?}\ncredentials = {{ exchange = {exchange} }}\n"
        );
        let tokens = StaticTokens::new()
            .with_token("token-of-ann-0000", "ann", "")
            .with_token("token-of-bob-0000", "bob", "")
            .with_token("token-of-eve-0000", "eve", "");
        let front = ResourceServerConfig::new("https://tools.example.com/mcp", [callers]);
        let front = front.with_verifier(tokens).build().expect("it is valid");
        let options = GatewayOptions::new();
        let auth = FrontAuth::of(front, Arc::clone(&options.tokens));
        let gateway = Gateway::with_front_auth(parse(&scratch, &text), options, Some(auth));
        let gateway = gateway.unwrap_or_else(|error| panic!("{error}"));
        within(gateway.connect_all()).await;
        let listener = gateway.bind(false).await.expect("a port is free");
        let front = listener.url().to_owned();
        let front_serving = tokio::spawn(listener.run());
        Self {
            gateway,
            front,
            upstream_url,
            serving,
            front_serving,
            _scratch: scratch,
        }
    }

    async fn connect(&self, name: &str) -> Client {
        let token = format!("Bearer token-of-{name}-0000");
        let builder = ClientBuilder::new("test", "1.0.0");
        let builder = builder.with_header("Authorization", &token).unwrap();
        let client = within(builder.connect(&self.front)).await;
        client.expect("it is served")
    }

    async fn check_accounts(&self) {
        for (name, account) in [("ann", "Ann"), ("bob", "Bob"), ("ann", "Ann")] {
            let client = self.connect(name).await;
            let called = call(&client, "files_whoami").await;
            assert_eq!(called, Ok(account.to_owned()));
            client.close().await;
        }
        // A caller whose token is not exchanged costs only its own calls.
        let eve = self.connect("eve").await;
        assert!(call(&eve, "files_whoami").await.is_err());
        let bob = self.connect("bob").await;
        assert_eq!(call(&bob, "files_whoami").await, Ok("Bob".to_owned()));
        eve.close().await;
        bob.close().await;
    }

    async fn stop(self) {
        self.gateway.close().await;
        let ended = within(self.front_serving).await;
        ended.expect("it ends").expect("no failure");
        self.serving.abort();
    }
}

/// The forms of the token requests of one server.
type Forms = Arc<Mutex<Vec<String>>>;

async fn serve_tokens(forms: &Forms) -> (String, AbortHandle) {
    let token_server = |issuer: &str| TokenServer {
        issuer: issuer.to_owned(),
        forms: Arc::clone(forms),
    };
    serve(server_with(&[]), token_server).await
}

/// Returns the number of forms that contain a text.
fn count(forms: &[String], text: &str) -> usize {
    forms.iter().filter(|form| form.contains(text)).count()
}

#[tokio::test]
async fn upstream_gets_an_exchanged_token_and_never_that_of_the_caller() {
    let forms = Forms::default();
    let (issuer, token_serving) = serve_tokens(&forms).await;
    let exchange = format!("{{ id = \"gw\", secret = \"s3cret\", issuer = {issuer:?} }}");
    let gateway = ExchangingGateway::start(&issuer, &issuer, &exchange).await;
    gateway.check_accounts().await;

    let forms = forms.lock().unwrap().clone();
    let url = &gateway.upstream_url;
    let resource = format!("resource={}", url.replace(':', "%3A").replace('/', "%2F"));
    assert_eq!(count(&forms, &resource), forms.len(), "{forms:?}");
    // Requests of one caller share a connection, and with it the token.
    for name in ["ann", "bob"] {
        let subject = format!("subject_token=token-of-{name}-");
        assert_eq!(count(&forms, &subject), 1, "{forms:?}");
    }
    gateway.stop().await;
    token_serving.abort();
}

#[tokio::test]
async fn token_of_a_caller_is_sent_to_its_identity_provider_only() {
    let (asked, exchanged) = (Forms::default(), Forms::default());
    let (provider, provider_serving) = serve_tokens(&asked).await;
    let (issuer, token_serving) = serve_tokens(&exchanged).await;
    let exchange = format!(
        "{{ id = \"gw\", secret = \"s3cret\", issuer = {issuer:?}, provider = {{ id = \"gw\", secret = \"other\", issuer = {provider:?} }} }}"
    );
    let gateway = ExchangingGateway::start(&issuer, &provider, &exchange).await;
    gateway.check_accounts().await;

    let asked = asked.lock().unwrap().clone();
    let audience = format!(
        "audience={}",
        issuer.replace(':', "%3A").replace('/', "%2F")
    );
    assert_eq!(count(&asked, &audience), asked.len(), "{asked:?}");
    assert_eq!(
        count(
            &asked,
            "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
        ),
        asked.len(),
        "{asked:?}"
    );
    let exchanged = exchanged.lock().unwrap().clone();
    assert_eq!(count(&exchanged, "token-of-"), 0, "{exchanged:?}");
    for name in ["ann", "bob"] {
        let subject = format!("subject_token=token-of-{name}-");
        assert_eq!(count(&asked, &subject), 1, "{asked:?}");
        let assertion = format!("assertion=assertion-{name}");
        assert_eq!(count(&exchanged, &assertion), 1, "{exchanged:?}");
    }
    gateway.stop().await;
    provider_serving.abort();
    token_serving.abort();
}

#[tokio::test]
async fn exchange_needs_callers_with_access_tokens_of_an_authorization_server() {
    let scratch = Scratch::new("gateway");
    std::fs::write(scratch.path("tokens"), "ann token-of-ann-0000\n").unwrap();
    let config = |auth: &str, credentials: &str| {
        let upstream = format!("[upstream.files]\nurl = \"https://a.example/mcp\"\n{credentials}");
        parse(&scratch, &format!("{auth}\n{upstream}\n"))
    };
    let client = "{ id = \"gw\", secret = \"s3cret\", issuer = \"https://id.example\" }";
    let exchange = format!("credentials = {{ exchange = {client} }}");
    let resource_server =
        "[auth]\nissuer = \"https://id.example\"\naudience = \"https://tools.example/mcp\"";
    let check = |error: GatewayError| {
        let error = error.to_string();
        let has_parts = error.contains("`files`") && error.contains("[auth]");
        assert!(has_parts, "{error}");
    };
    for auth in ["", "[auth]\nbearer_file = \"tokens\""] {
        let gateway = Gateway::new(config(auth, &exchange), GatewayOptions::new());
        check(gateway.expect_err("an error"));
        let gateway = Gateway::new(config(auth, ""), GatewayOptions::new());
        let gateway = gateway.unwrap_or_else(|error| panic!("{error}"));
        check(gateway.reload(config(auth, &exchange)).await.unwrap_err());
        // Another `[auth]` needs a restart.
        let next = config(resource_server, &exchange);
        check(gateway.reload(next).await.unwrap_err());
        gateway.close().await;
    }
}
