//! Upstreams that are their own authorization servers.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderValue, Request as HttpRequest, Response, StatusCode};
use serde_json::json;
use toolwire::transport::http::{AuthorizationError, Authorizer, PublicRoute};
use toolwire::types::PromptArgument;
use toolwire::{PromptHandler, ScopeSet, TokenInfo, ToolError};
use toolwire_auth::proxy::user_page::decode_form;

use super::super::exchange::serve;
use super::super::*;

/// An upstream that is its own authorization server. It issues the tokens `up-ACCOUNT-NUMBER`.
#[derive(Debug, Clone)]
struct LoginServer {
    origin: String,
    state: Arc<LoginServerState>,
}

#[derive(Debug, Default)]
pub(super) struct LoginServerState {
    /// The account that is logged in there. `eve` denies the gateway access.
    pub(super) account: Mutex<String>,
    pub(super) issued: AtomicUsize,
    pub(super) registrations: AtomicUsize,
    pub(super) refreshes: AtomicUsize,
    /// Whether refresh tokens are not valid any more.
    pub(super) has_ended_sessions: AtomicBool,
    pub(super) rejected_tokens: Mutex<HashSet<String>>,
    /// The credentials of all requests.
    pub(super) authorizations: Mutex<Vec<String>>,
    /// The queries of authorization requests.
    pub(super) queries: Mutex<Vec<String>>,
    /// The scopes of the tokens.
    pub(super) scopes: Mutex<HashMap<String, String>>,
    /// The scopes that tools need, by their names.
    pub(super) needed: Mutex<HashMap<&'static str, &'static str>>,
}

impl LoginServerState {
    fn issue(&self, account: &str) -> Value {
        let number = self.issued.fetch_add(1, Ordering::Relaxed) + 1;
        let token = format!("up-{account}-{number}");
        let last = self.queries.lock().unwrap().last().cloned();
        let last = decode_form(&last.unwrap_or_default()).unwrap_or_default();
        let scope = last.into_iter().find(|(name, _)| name == "scope");
        let scope = scope.map(|(_, scope)| scope).unwrap_or_default();
        self.scopes.lock().unwrap().insert(token.clone(), scope);
        json!({
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": 3600,
            "refresh_token": format!("refresh-{account}"),
        })
    }

    pub(super) fn reject_all_tokens(&self) {
        let mut rejected = self.rejected_tokens.lock().unwrap();
        for number in 0..=self.issued.load(Ordering::Relaxed) {
            rejected.insert(format!("up-ann-{number}"));
        }
    }

    /// Responds to a token request.
    fn token(&self, form: &str) -> (StatusCode, Value) {
        let form = decode_form(form).unwrap_or_default();
        let value = |name: &str| {
            let found = form.iter().find(|(own, _)| own == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        assert!(value("resource").ends_with("/mcp"), "{form:?}");
        if let Some(account) = value("code").strip_prefix("code-") {
            assert!(value("code_verifier").len() >= 43, "{form:?}");
            return (StatusCode::OK, self.issue(account));
        }
        match value("refresh_token").strip_prefix("refresh-") {
            Some(account) if !self.has_ended_sessions.load(Ordering::Relaxed) => {
                self.refreshes.fetch_add(1, Ordering::Relaxed);
                (StatusCode::OK, self.issue(account))
            }
            _ => (StatusCode::BAD_REQUEST, json!({ "error": "invalid_grant" })),
        }
    }

    /// Returns where an authorization request sends the browser.
    fn authorize(&self, query: &str, issuer: &str) -> String {
        self.queries.lock().unwrap().push(query.to_owned());
        let query = decode_form(query).unwrap_or_default();
        let value = |name: &str| {
            let found = query.iter().find(|(own, _)| own == name);
            found.map_or("", |(_, value)| value.as_str()).to_owned()
        };
        let account = self.account.lock().unwrap().clone();
        let outcome = match account.as_str() {
            "eve" => "error=access_denied".to_owned(),
            account => format!("code=code-{account}"),
        };
        let issuer = issuer.replace(':', "%3A").replace('/', "%2F");
        let (redirect, state) = (value("redirect_uri"), value("state"));
        format!("{redirect}?{outcome}&state={state}&iss={issuer}")
    }
}

impl Authorizer for LoginServer {
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let value = head.headers.get(AUTHORIZATION);
        let value = value.map_or("", |value| value.to_str().unwrap_or_default());
        self.state
            .authorizations
            .lock()
            .unwrap()
            .push(value.to_owned());
        let token = value.strip_prefix("Bearer ").unwrap_or_default();
        let is_rejected = self.state.rejected_tokens.lock().unwrap().contains(token);
        let tool = head.headers.get("mcp-name");
        let tool = tool.and_then(|tool| tool.to_str().ok()).unwrap_or_default();
        let granted = self.state.scopes.lock().unwrap().get(token).cloned();
        let granted = granted.unwrap_or_default();
        let needed = self.state.needed.lock().unwrap().get(tool).copied();
        let lacking = needed.filter(|needed| granted.split(' ').all(|scope| scope != *needed));
        let mut parts = token.split('-');
        let outcome = match (parts.next(), parts.next()) {
            (Some("up"), Some(_)) if lacking.is_some() => {
                let scope = lacking.unwrap_or_default();
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
                let error = AuthorizationError::new(StatusCode::FORBIDDEN, "a scope is needed");
                Err(error.with_challenge(HeaderValue::try_from(challenge).unwrap()))
            }
            (Some("up"), Some(account)) if !is_rejected => {
                Ok(TokenInfo::verified().with_subject(account))
            }
            _ => {
                let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
                let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
                let error = AuthorizationError::new(StatusCode::UNAUTHORIZED, "a login is needed");
                Err(error.with_challenge(HeaderValue::try_from(challenge).unwrap()))
            }
        };
        Box::pin(std::future::ready(outcome))
    }

    fn insufficient_scope(&self, _needed: &ScopeSet, _token: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "unused")
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        let origin = &self.origin;
        let document = match path {
            "/.well-known/oauth-protected-resource/mcp" => json!({
                "resource": format!("{origin}/mcp"),
                "authorization_servers": [origin],
            }),
            "/.well-known/oauth-authorization-server" => json!({
                "issuer": origin,
                "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            }),
            _ => return None,
        };
        Some(document.to_string().into())
    }

    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        match path {
            "/authorize" => Some(PublicRoute::get()),
            "/token" | "/register" => Some(PublicRoute::post(64 * 1024)),
            _ => None,
        }
    }

    fn serve_public(&self, request: HttpRequest<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let response = Response::builder().header(CONTENT_TYPE, "application/json");
        let response = match request.uri().path() {
            "/authorize" => {
                let query = request.uri().query().unwrap_or_default();
                let location = self.state.authorize(query, &self.origin);
                let response = response.status(StatusCode::SEE_OTHER);
                response.header(LOCATION, location).body(Bytes::new())
            }
            "/register" => {
                let number = self.state.registrations.fetch_add(1, Ordering::Relaxed);
                let mut client: Value = serde_json::from_str(&body).unwrap_or_default();
                client["client_id"] = format!("gateway-{number}").into();
                let response = response.status(StatusCode::CREATED);
                response.body(client.to_string().into())
            }
            _ => {
                let (status, body) = self.state.token(&body);
                response.status(status).body(body.to_string().into())
            }
        };
        Box::pin(std::future::ready(response.expect("a valid response")))
    }
}

pub(super) async fn upstream() -> (Arc<LoginServerState>, String, AbortHandle) {
    let whoami = ToolHandler::typed("whoami", |ctx: RequestContext, _: Value| async move {
        ctx.auth().subject.clone().unwrap_or_default()
    });
    let state = Arc::new(LoginServerState::default());
    let login_server = |origin: &str| LoginServer {
        origin: origin.to_owned(),
        state: Arc::clone(&state),
    };
    let rename = ToolHandler::typed("rename", |_: RequestContext, _: Value| async { "renamed" });
    let confirm = ToolHandler::typed("confirm", |ctx: RequestContext, _: Value| async move {
        let is_confirmed = ctx.confirm("sure", "Sure?").await?;
        Ok::<_, ToolError>(is_confirmed.to_string())
    });
    let greet = PromptHandler::new("greet", |_, _| async { "Hello" })
        .with_argument(PromptArgument::new("name"))
        .with_completion("name", |_, _| async { vec!["Ann".to_owned()] });
    let server = Server::new("upstream", "1.0.0")
        .tool(whoami)
        .tool(rename)
        .tool(confirm)
        .prompt(greet);
    let (origin, serving) = serve(server, login_server).await;
    (state, format!("{origin}/mcp"), serving)
}
