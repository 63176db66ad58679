//! An MCP server and its authorization server, each behind a name, and a user who goes from one to the other.

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
    AuthError, CallbackVerdict, CheckCallback, Login, OAuthConfig, OAuthHttpClient, PendingLogin,
};
use toolwire_auth::testing::form;

pub(super) const SERVER: &str = "https://mcp.example.com/mcp";
pub(super) const ISSUER: &str = "https://auth.example.com";
pub(super) const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// Everybody sees the same town.
#[derive(Clone, Default)]
pub(super) struct Town(Arc<Mutex<Rules>>);

/// How the town behaves, and what it has seen.
pub(super) struct Rules {
    /// The metadata of the authorization server.
    pub(super) metadata: Value,
    /// What the MCP server says about itself.
    pub(super) resource: Value,
    /// The scopes that a call needs, by the tool that it names.
    pub(super) needs: BTreeMap<String, String>,
    /// How long access tokens live, in seconds.
    pub(super) lifetime: u64,
    /// Whether refresh tokens are given out.
    pub(super) gives_refresh_tokens: bool,
    /// What the token endpoint says instead of an answer, once each.
    pub(super) troubles: VecDeque<(u16, Value)>,
    /// What the next token request waits for.
    pub(super) gate: Option<Arc<Notify>>,
    /// What the user says; the code, if nothing else is said.
    pub(super) user_says: Option<String>,
    /// What the client said about each redirect of the user.
    pub(super) verdicts: Vec<CallbackVerdict>,
    /// How long the user takes.
    pub(super) user_takes: Duration,
    /// The scopes that are granted, if not those that are asked for.
    pub(super) grants: Option<String>,
    /// The nonce that proofs have to carry, at both places.
    pub(super) nonce: Option<String>,
    /// `METHOD path`, in order.
    pub(super) seen: Vec<String>,
    /// The forms that came to the token endpoint.
    pub(super) forms: Vec<HashMap<String, String>>,
    /// The queries of authorization requests.
    pub(super) queries: Vec<HashMap<String, String>>,
    /// The claims and keys of all proofs.
    pub(super) proofs: Vec<(Value, Value)>,
    clients: HashSet<String>,
    codes: HashMap<String, HashMap<String, String>>,
    tokens: HashMap<String, String>,
    refresh_tokens: HashSet<String>,
    count: u64,
}

impl Default for Rules {
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
            resource: json!({"resource": SERVER, "authorization_servers": [ISSUER]}),
            needs: BTreeMap::new(),
            lifetime: 3600,
            gives_refresh_tokens: true,
            troubles: VecDeque::new(),
            gate: None,
            user_says: None,
            verdicts: Vec::new(),
            user_takes: Duration::ZERO,
            grants: None,
            nonce: None,
            seen: Vec::new(),
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

impl Town {
    pub(super) fn rules(&self) -> MutexGuard<'_, Rules> {
        self.0.lock().unwrap()
    }

    /// How often a path was asked for.
    pub(super) fn count(&self, request: &str) -> usize {
        let rules = self.rules();
        rules.seen.iter().filter(|seen| *seen == request).count()
    }

    /// A user's login in this town.
    pub(super) fn oauth(&self) -> OAuthConfig {
        self.at_home(OAuthConfig::login("test", User(self.clone())))
    }

    pub(super) fn at_home(&self, oauth: OAuthConfig) -> OAuthConfig {
        oauth.with_fetcher(DocumentFetcher::with_http_client(self.clone()))
    }

    /// A client that is let in as described.
    pub(super) fn client(&self, oauth: OAuthConfig) -> Arc<OAuthHttpClient<Self>> {
        let endpoint = Uri::from_static(SERVER);
        Arc::new(OAuthHttpClient::new(self.clone(), oauth, &endpoint))
    }

    /// No token is good any more, and no refresh token either if so wished.
    pub(super) fn revoke_all(&self, also_refresh_tokens: bool) {
        let mut rules = self.rules();
        rules.tokens.clear();
        if also_refresh_tokens {
            rules.refresh_tokens.clear();
        }
    }

    /// The authorization server has lost its database.
    pub(super) fn forget_clients(&self) {
        self.rules().clients.clear();
    }

    /// What the user brings back from the authorization server.
    fn authorize(&self, url: &str) -> String {
        let mut rules = self.rules();
        let (_, query) = url.split_once('?').unwrap();
        let query = decoded(query);
        rules.seen.push("GET /authorize".to_owned());
        rules.queries.push(query.clone());
        let state = query["state"].clone();
        if let Some(says) = &rules.user_says {
            return format!("{says}&state={state}");
        }
        rules.count += 1;
        let code = format!("code-{}", rules.count);
        rules.codes.insert(code.clone(), query);
        let issuer = form::encode([("iss", ISSUER)]);
        format!("code={code}&state={state}&{issuer}")
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<ClientBody> {
        let mut rules = self.rules();
        let path = request.uri().path().to_owned();
        rules.seen.push(format!("{} {path}", request.method()));
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        let is_server = request.uri().host() == Some("mcp.example.com");
        match path.as_str() {
            "/.well-known/oauth-protected-resource/mcp" => ok(&rules.resource),
            "/.well-known/oauth-authorization-server" if !is_server => ok(&rules.metadata),
            "/register" => {
                rules.count += 1;
                let id = format!("client-{}", rules.count);
                rules.clients.insert(id.clone());
                let mut answer: Value = serde_json::from_str(&body).unwrap();
                answer["client_id"] = json!(id);
                ok(&answer)
            }
            "/token" => rules.token(&decoded(&body), request.headers()),
            "/revoke" => {
                let form = decoded(&body);
                rules.refresh_tokens.remove(&form["token"]);
                rules.tokens.remove(&form["token"]);
                ok(&json!({}))
            }
            "/mcp" => rules.call(request.headers(), &body),
            _ => answer(404, &json!({}), &[]),
        }
    }
}

impl Rules {
    fn token(
        &mut self,
        form: &HashMap<String, String>,
        headers: &HeaderMap,
    ) -> Response<ClientBody> {
        let refused = |error: &str| answer(400, &json!({"error": error}), &[]);
        self.forms.push(form.clone());
        if let Some((status, body)) = self.troubles.pop_front() {
            return answer(status, &body, &[]);
        }
        if let Some(asks) = self.asks_for_nonce(headers, 400) {
            return asks;
        }
        let client = form.get("client_id").cloned().unwrap_or_default();
        if client.starts_with("client-") && !self.clients.contains(&client) {
            return refused("invalid_client");
        }
        let scope = match form["grant_type"].as_str() {
            "authorization_code" => {
                let Some(query) = self.codes.remove(&form["code"]) else {
                    return refused("invalid_grant");
                };
                let is_same = ["client_id", "redirect_uri", "resource"]
                    .iter()
                    .all(|name| {
                        form.get(*name)
                            .is_none_or(|sent| Some(sent) == query.get(*name))
                    });
                if !is_same {
                    return refused("invalid_grant");
                }
                query.get("scope").cloned()
            }
            "refresh_token" if !self.refresh_tokens.remove(&form["refresh_token"]) => {
                // Somebody used it before: whoever that was, nobody shall go on.
                self.refresh_tokens.clear();
                return refused("invalid_grant");
            }
            _ => form.get("scope").cloned(),
        };
        self.count += 1;
        let token = format!("token-{}", self.count);
        let scope = self.grants.clone().or(scope).unwrap_or_default();
        self.tokens.insert(token.clone(), scope.clone());
        let kind = if headers.contains_key("dpop") {
            "DPoP"
        } else {
            "Bearer"
        };
        let mut given =
            json!({"access_token": token, "token_type": kind, "expires_in": self.lifetime});
        if !scope.is_empty() {
            given["scope"] = json!(scope);
        }
        if self.gives_refresh_tokens {
            let refresh_token = format!("refresh-{}", self.count);
            self.refresh_tokens.insert(refresh_token.clone());
            given["refresh_token"] = json!(refresh_token);
        }
        ok(&given)
    }

    fn call(&mut self, headers: &HeaderMap, body: &str) -> Response<ClientBody> {
        let header = headers
            .get("authorization")
            .map(|value| value.to_str().unwrap());
        let token = header
            .and_then(|header| header.split_once(' '))
            .map(|(_, token)| token);
        let Some(scope) = token.and_then(|token| self.tokens.get(token)).cloned() else {
            return answer(
                401,
                &json!({}),
                &[("www-authenticate", "Bearer".to_owned())],
            );
        };
        if let Some(asks) = self.asks_for_nonce(headers, 401) {
            return asks;
        }
        let message: Value = serde_json::from_str(body).unwrap();
        if message["method"] == "server/discover" {
            let facts = json!({
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "capabilities": {},
                "supportedVersions": ["2026-07-28"], "serverInfo": {"name": "town", "version": "1"},
            });
            let result = json!({"jsonrpc": "2.0", "id": message["id"], "result": facts});
            return answer(
                200,
                &result,
                &[("content-type", "application/json".to_owned())],
            );
        }
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        let needs = self.needs.get(tool).cloned().unwrap_or_default();
        let granted: HashSet<&str> = scope.split(' ').collect();
        if needs
            .split_whitespace()
            .all(|scope| granted.contains(scope))
        {
            return ok(&json!({"granted": scope}));
        }
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needs}\"");
        answer(403, &json!({}), &[("www-authenticate", challenge)])
    }

    /// Writes down a proof, and asks for a nonce that it lacks.
    fn asks_for_nonce(&mut self, headers: &HeaderMap, status: u16) -> Option<Response<ClientBody>> {
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
        Some(answer(
            status,
            &json!({"error": "use_dpop_nonce"}),
            &headers,
        ))
    }
}

fn ok(body: &Value) -> Response<ClientBody> {
    answer(200, body, &[])
}

fn answer(status: u16, body: &Value, headers: &[(&str, String)]) -> Response<ClientBody> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    response.body(ClientBody::full(body.to_string())).unwrap()
}

fn decoded(query: &str) -> HashMap<String, String> {
    form::decode(query).unwrap().into_iter().collect()
}

/// A call of a tool, as it goes over the wire.
pub(super) fn call(tool: &str) -> Request<Bytes> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}});
    Request::post(SERVER).body(body.to_string().into()).unwrap()
}

impl fmt::Debug for Town {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Town")
    }
}

impl HttpClient for Town {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            let gate = match request.uri().path() {
                "/token" => self.rules().gate.take(),
                _ => None,
            };
            let answer = self.answer(&request);
            if let Some(gate) = gate {
                gate.notified().await;
            }
            Ok(answer)
        })
    }
}

/// A user who does what the town says.
#[derive(Debug, Clone)]
pub(super) struct User(pub(super) Town);

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
            // Somebody else may come in between.
            tokio::task::yield_now().await;
            let time = self.0.rules().user_takes;
            tokio::time::sleep(time).await;
            let query = self.0.authorize(url);
            assert_eq!(check("code=a&state=b"), CallbackVerdict::Unrelated);
            self.0.rules().verdicts.push(check(&query));
            Ok(query)
        })
    }
}
