//! An in-memory MCP server, its authorization server, and a user who logs in there.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri};
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::BoxFuture;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError};
use toolwire_auth::DocumentFetcher;
use toolwire_auth::client::{
    AuthError, CallbackOutcome, CheckCallback, Login, OAuthConfig, OAuthHttpClient, PendingLogin,
};
use toolwire_auth::testing::form;

pub(super) const SERVER: &str = "https://mcp.example.com/mcp";
pub(super) const ISSUER: &str = "https://auth.example.com";
pub(super) const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A protected MCP server and its authorization server, as an HTTP client. Clones share one state.
#[derive(Clone, Default)]
pub(super) struct FakeServers(Arc<Mutex<ServerState>>);

/// The configuration of the servers, and the requests that they received.
pub(super) struct ServerState {
    /// The metadata of the authorization server.
    pub(super) metadata: Value,
    /// The protected resource metadata of the MCP server.
    pub(super) resource_metadata: Value,
    /// The scopes that a call requires, by tool name.
    pub(super) required_scopes: BTreeMap<String, String>,
    /// The lifetime of access tokens in seconds.
    pub(super) lifetime: u64,
    /// Whether the authorization server issues refresh tokens.
    pub(super) issues_refresh_tokens: bool,
    /// Responses that the token endpoint sends instead of tokens, one per request.
    pub(super) token_errors: VecDeque<(u16, Value)>,
    /// Delays the response to the next token request until the notification.
    pub(super) gate: Option<Arc<Notify>>,
    /// The query of the redirect to the client. `None` is a redirect with a code.
    pub(super) redirect_query: Option<String>,
    /// The verdict of the client on each redirect.
    pub(super) verdicts: Vec<CallbackOutcome>,
    /// The time that the user needs to log in.
    pub(super) login_duration: Duration,
    /// The scopes that are granted. `None` grants the requested scopes.
    pub(super) granted_scopes: Option<String>,
    /// The nonce that both servers require in DPoP proofs.
    pub(super) nonce: Option<String>,
    /// `METHOD path` of each request, in order.
    pub(super) requests: Vec<String>,
    /// The forms of token requests.
    pub(super) forms: Vec<HashMap<String, String>>,
    /// The queries of authorization requests.
    pub(super) queries: Vec<HashMap<String, String>>,
    /// The claims and keys of all DPoP proofs.
    pub(super) proofs: Vec<(Value, Value)>,
    clients: HashSet<String>,
    codes: HashMap<String, HashMap<String, String>>,
    tokens: HashMap<String, String>,
    refresh_tokens: HashSet<String>,
    count: u64,
}

impl Default for ServerState {
    fn default() -> Self {
        Self {
            metadata: json!({
                "issuer": ISSUER,
                "authorization_endpoint": format!("{ISSUER}/authorize"),
                "token_endpoint": format!("{ISSUER}/token"),
                "registration_endpoint": format!("{ISSUER}/register"),
                "revocation_endpoint": format!("{ISSUER}/revoke"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                "authorization_response_iss_parameter_supported": true,
            }),
            resource_metadata: json!({"resource": SERVER, "authorization_servers": [ISSUER]}),
            required_scopes: BTreeMap::new(),
            lifetime: 3600,
            issues_refresh_tokens: true,
            token_errors: VecDeque::new(),
            gate: None,
            redirect_query: None,
            verdicts: Vec::new(),
            login_duration: Duration::ZERO,
            granted_scopes: None,
            nonce: None,
            requests: Vec::new(),
            forms: Vec::new(),
            queries: Vec::new(),
            proofs: Vec::new(),
            clients: HashSet::new(),
            codes: HashMap::new(),
            tokens: HashMap::new(),
            refresh_tokens: HashSet::new(),
            count: 0,
        }
    }
}

impl FakeServers {
    pub(super) fn state(&self) -> MutexGuard<'_, ServerState> {
        self.0.lock().unwrap()
    }

    /// Returns the number of requests with this method and path.
    pub(super) fn request_count(&self, request: &str) -> usize {
        let state = self.state();
        state
            .requests
            .iter()
            .filter(|received| *received == request)
            .count()
    }

    /// Returns a configuration for the login of a user.
    pub(super) fn oauth(&self) -> OAuthConfig {
        self.with_test_fetcher(OAuthConfig::login("test", User(self.clone())))
    }

    /// Returns the configuration with a fetcher that reaches these servers.
    pub(super) fn with_test_fetcher(&self, oauth: OAuthConfig) -> OAuthConfig {
        oauth.with_fetcher(DocumentFetcher::with_http_client(self.clone()))
    }

    /// Returns a client of the MCP server.
    pub(super) fn client(&self, oauth: OAuthConfig) -> Arc<OAuthHttpClient<Self>> {
        let endpoint = Uri::from_static(SERVER);
        Arc::new(OAuthHttpClient::new(self.clone(), oauth, &endpoint))
    }

    /// Revokes all access tokens, and all refresh tokens if `also_refresh_tokens` is set.
    pub(super) fn revoke_all(&self, also_refresh_tokens: bool) {
        let mut state = self.state();
        state.tokens.clear();
        if also_refresh_tokens {
            state.refresh_tokens.clear();
        }
    }

    /// Removes all registered clients from the authorization server.
    pub(super) fn forget_clients(&self) {
        self.state().clients.clear();
    }

    /// Returns the query of the redirect that completes an authorization request.
    fn authorize(&self, url: &str) -> String {
        let mut state = self.state();
        let (_, query) = url.split_once('?').unwrap();
        let query = decoded(query);
        state.requests.push("GET /authorize".to_owned());
        state.queries.push(query.clone());
        let state_parameter = query["state"].clone();
        if let Some(redirect) = &state.redirect_query {
            return format!("{redirect}&state={state_parameter}");
        }
        state.count += 1;
        let code = format!("code-{}", state.count);
        state.codes.insert(code.clone(), query);
        let issuer = form::encode([("iss", ISSUER)]);
        format!("code={code}&state={state_parameter}&{issuer}")
    }

    fn respond(&self, request: &Request<Bytes>) -> Response<ClientBody> {
        let mut state = self.state();
        let path = request.uri().path().to_owned();
        state.requests.push(format!("{} {path}", request.method()));
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let is_server = request.uri().host() == Some("mcp.example.com");
        match path.as_str() {
            "/.well-known/oauth-protected-resource/mcp" => ok(&state.resource_metadata),
            "/.well-known/oauth-authorization-server" if !is_server => ok(&state.metadata),
            "/register" => {
                state.count += 1;
                let id = format!("client-{}", state.count);
                state.clients.insert(id.clone());
                let mut response: Value = serde_json::from_str(&body).unwrap();
                response["client_id"] = json!(id);
                ok(&response)
            }
            "/token" => state.token(&decoded(&body), request.headers()),
            "/revoke" => {
                let form = decoded(&body);
                state.refresh_tokens.remove(&form["token"]);
                state.tokens.remove(&form["token"]);
                ok(&json!({}))
            }
            "/mcp" => state.call(request.headers(), &body),
            _ => response(404, &json!({}), &[]),
        }
    }
}

impl ServerState {
    fn token(
        &mut self,
        form: &HashMap<String, String>,
        headers: &HeaderMap,
    ) -> Response<ClientBody> {
        let error_response = |error: &str| response(400, &json!({"error": error}), &[]);
        self.forms.push(form.clone());
        if let Some((status, body)) = self.token_errors.pop_front() {
            return response(status, &body, &[]);
        }
        if let Some(challenge) = self.nonce_challenge(headers, 400) {
            return challenge;
        }
        let client = form.get("client_id").cloned().unwrap_or_default();
        if client.starts_with("client-") && !self.clients.contains(&client) {
            return error_response("invalid_client");
        }
        let scope = match form["grant_type"].as_str() {
            "authorization_code" => {
                let Some(query) = self.codes.remove(&form["code"]) else {
                    return error_response("invalid_grant");
                };
                let is_same = ["client_id", "redirect_uri", "resource"]
                    .iter()
                    .all(|name| {
                        form.get(*name)
                            .is_none_or(|sent| Some(sent) == query.get(*name))
                    });
                if !is_same {
                    return error_response("invalid_grant");
                }
                query.get("scope").cloned()
            }
            "refresh_token" if !self.refresh_tokens.remove(&form["refresh_token"]) => {
                // A refresh token that is used twice may be stolen, so all of them are revoked.
                self.refresh_tokens.clear();
                return error_response("invalid_grant");
            }
            _ => form.get("scope").cloned(),
        };
        self.count += 1;
        let token = format!("token-{}", self.count);
        let scope = self.granted_scopes.clone().or(scope).unwrap_or_default();
        self.tokens.insert(token.clone(), scope.clone());
        let token_type = if headers.contains_key("dpop") {
            "DPoP"
        } else {
            "Bearer"
        };
        let mut body =
            json!({"access_token": token, "token_type": token_type, "expires_in": self.lifetime});
        if !scope.is_empty() {
            body["scope"] = json!(scope);
        }
        if self.issues_refresh_tokens {
            let refresh_token = format!("refresh-{}", self.count);
            self.refresh_tokens.insert(refresh_token.clone());
            body["refresh_token"] = json!(refresh_token);
        }
        ok(&body)
    }

    fn call(&mut self, headers: &HeaderMap, body: &str) -> Response<ClientBody> {
        let header = headers
            .get("authorization")
            .map(|value| value.to_str().unwrap());
        let token = header
            .and_then(|header| header.split_once(' '))
            .map(|(_, token)| token);
        let Some(scope) = token.and_then(|token| self.tokens.get(token)).cloned() else {
            return response(
                401,
                &json!({}),
                &[("www-authenticate", "Bearer".to_owned())],
            );
        };
        if let Some(challenge) = self.nonce_challenge(headers, 401) {
            return challenge;
        }
        let message: Value = serde_json::from_str(body).unwrap();
        if message["method"] == "server/discover" {
            let discovery = json!({
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "capabilities": {},
                "supportedVersions": ["2026-07-28"], "serverInfo": {"name": "test", "version": "1"},
            });
            let result = json!({"jsonrpc": "2.0", "id": message["id"], "result": discovery});
            return response(
                200,
                &result,
                &[("content-type", "application/json".to_owned())],
            );
        }
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        let required = self.required_scopes.get(tool).cloned().unwrap_or_default();
        let granted: HashSet<&str> = scope.split(' ').collect();
        if required
            .split_whitespace()
            .all(|scope| granted.contains(scope))
        {
            return ok(&json!({"granted": scope}));
        }
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{required}\"");
        response(403, &json!({}), &[("www-authenticate", challenge)])
    }

    /// Records a DPoP proof. Returns a challenge if the proof lacks the required nonce.
    fn nonce_challenge(
        &mut self,
        headers: &HeaderMap,
        status: u16,
    ) -> Option<Response<ClientBody>> {
        let proof = headers.get("dpop")?.to_str().unwrap();
        let part = |index: usize| -> Value {
            let part = proof.split('.').nth(index).unwrap();
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        let claims = part(1);
        self.proofs.push((claims.clone(), part(0)["jwk"].clone()));
        let nonce = self.nonce.as_ref()?;
        if claims["nonce"] == json!(nonce) {
            return None;
        }
        let headers = [
            ("dpop-nonce", nonce.clone()),
            (
                "www-authenticate",
                "DPoP error=\"use_dpop_nonce\"".to_owned(),
            ),
        ];
        Some(response(
            status,
            &json!({"error": "use_dpop_nonce"}),
            &headers,
        ))
    }
}

fn ok(body: &Value) -> Response<ClientBody> {
    response(200, body, &[])
}

fn response(status: u16, body: &Value, headers: &[(&str, String)]) -> Response<ClientBody> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    response.body(ClientBody::full(body.to_string())).unwrap()
}

fn decoded(query: &str) -> HashMap<String, String> {
    form::decode(query).unwrap().into_iter().collect()
}

/// Returns an HTTP request that calls a tool.
pub(super) fn call(tool: &str) -> Request<Bytes> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}});
    Request::post(SERVER).body(body.to_string().into()).unwrap()
}

impl fmt::Debug for FakeServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FakeServers")
    }
}

impl HttpClient for FakeServers {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            let gate = match request.uri().path() {
                "/token" => self.state().gate.take(),
                _ => None,
            };
            let response = self.respond(&request);
            if let Some(gate) = gate {
                gate.notified().await;
            }
            Ok(response)
        })
    }
}

/// A user who logs in as configured in [`ServerState`].
#[derive(Debug, Clone)]
pub(super) struct User(pub(super) FakeServers);

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
            // Lets other tasks run before the login completes.
            tokio::task::yield_now().await;
            let duration = self.0.state().login_duration;
            tokio::time::sleep(duration).await;
            let query = self.0.authorize(url);
            assert_eq!(check("code=a&state=b"), CallbackOutcome::Unrelated);
            self.0.state().verdicts.push(check(&query));
            Ok(query)
        })
    }
}
