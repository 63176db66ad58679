//! A small authorization server with registration, a login page that grants every request, single-use refresh tokens,
//! and revocation. Tokens are `access-1`, `refresh-1` and so on.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use toolwire_auth::testing::{form, pkce};

use crate::process::within;

/// The running server, until it is dropped.
pub(super) struct AuthorizationServer {
    pub(super) url: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

pub(super) struct Shared {
    state: Mutex<State>,
    /// The number of requests for metadata and refreshes, so that tests can wait for them.
    counts: watch::Sender<RequestCounts>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestCounts {
    pub(super) metadata: usize,
    pub(super) refreshes: usize,
}

#[derive(Default)]
pub(super) struct State {
    /// The secrets of clients that were registered manually.
    pub(super) secrets: HashMap<String, String>,
    pub(super) denies: bool,
    pub(super) omits_refresh_tokens: bool,
    /// Responds to token requests with 503.
    pub(super) is_down: bool,
    /// Responds to refreshes only after this many requests for metadata.
    pub(super) delays_refreshes_until: usize,
    /// Processes refreshes, but never responds.
    pub(super) drops_responses: bool,
    pub(super) registrations: usize,
    pub(super) requested_scopes: Vec<String>,
    pub(super) revoked: Vec<String>,
    codes: HashMap<String, Code>,
    count: usize,
    /// Valid refresh tokens, and used ones.
    refresh_tokens: HashSet<String>,
    used: HashSet<String>,
    /// Valid access tokens and their scopes.
    access_tokens: HashMap<String, String>,
}

struct Code {
    challenge: String,
    redirect_uri: String,
    client_id: String,
    scope: String,
}

impl AuthorizationServer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the listener is bound");
        let url = format!("http://{address}");
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            counts: watch::Sender::default(),
        });
        let (serving_url, serving_shared) = (url.clone(), Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (url, shared) = (serving_url.clone(), Arc::clone(&serving_shared));
                tokio::spawn(async move { shared.serve(client, &url).await });
            }
        });
        Self {
            url,
            shared,
            serving,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    pub(super) fn counts(&self) -> RequestCounts {
        *self.shared.counts.borrow()
    }

    /// Waits until the request counts satisfy the condition.
    pub(super) async fn until(&self, condition: impl Fn(&RequestCounts) -> bool) {
        let mut counts = self.shared.counts.subscribe();
        let waiting = counts.wait_for(condition);
        within(waiting).await.expect("the server runs");
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Request {
    target: String,
    authorization: Option<String>,
    body: String,
}

type Response = (&'static str, String);

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with the lock")
    }

    /// Returns the scopes of a valid access token.
    pub(super) fn scopes_of(&self, token: &str) -> Option<String> {
        self.state().access_tokens.get(token).cloned()
    }

    async fn serve(&self, mut client: TcpStream, url: &str) {
        let Some(request) = read(&mut client).await else {
            return;
        };
        let Some((head, body)) = self.respond(&request, url).await else {
            // The connection stays open until the client closes it.
            let _ = client.read(&mut [0]).await;
            return;
        };
        let length = body.len();
        let response = format!(
            "HTTP/1.1 {head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let _ = client.write_all(response.as_bytes()).await;
        let _ = client.shutdown().await;
    }

    async fn respond(&self, request: &Request, url: &str) -> Option<Response> {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        match path {
            "/.well-known/oauth-authorization-server" => {
                self.counts.send_modify(|counts| counts.metadata += 1);
                Some(ok(&metadata(url)))
            }
            "/register" => Some(self.register(&request.body)),
            "/authorize" => Some(self.authorize(&pairs(query), url)),
            "/token" => self.token(request).await,
            "/revoke" => {
                let form = pairs(&request.body);
                let mut state = self.state();
                if state.is_down {
                    return Some(("503 Service Unavailable", String::new()));
                }
                state.revoked.push(form["token"].clone());
                state.revoke_all_tokens();
                Some(("200 OK", String::new()))
            }
            _ => Some(("404 Not Found", String::new())),
        }
    }

    fn register(&self, body: &str) -> Response {
        let mut client: Value = serde_json::from_str(body).expect("JSON");
        let mut state = self.state();
        state.registrations += 1;
        client["client_id"] = json!(format!("client-{}", state.registrations));
        ("201 Created", client.to_string())
    }

    fn authorize(&self, query: &HashMap<String, String>, url: &str) -> Response {
        let mut state = self.state();
        state.count += 1;
        let code = format!("code-{}", state.count);
        let scope = query.get("scope").cloned().unwrap_or_default();
        state.requested_scopes.push(scope.clone());
        let outcome = if state.denies {
            ("error", "access_denied")
        } else {
            ("code", code.as_str())
        };
        let parameters = [outcome, ("state", &query["state"]), ("iss", url)];
        let location = format!("{}?{}", query["redirect_uri"], form::encode(parameters));
        let issued = Code {
            challenge: query["code_challenge"].clone(),
            redirect_uri: query["redirect_uri"].clone(),
            client_id: query["client_id"].clone(),
            scope,
        };
        state.codes.insert(code, issued);
        // The body is the redirect address: see `open_page`.
        ("200 OK", location)
    }

    async fn token(&self, request: &Request) -> Option<Response> {
        let form = pairs(&request.body);
        if self.state().is_down {
            return Some(("503 Service Unavailable", String::new()));
        }
        if form["grant_type"] == "refresh_token" {
            self.counts.send_modify(|counts| counts.refreshes += 1);
            let required = self.state().delays_refreshes_until;
            let mut counts = self.counts.subscribe();
            let _ = counts.wait_for(|counts| counts.metadata >= required).await;
        }
        let mut state = self.state();
        let client_id = match state.client_of(request, &form) {
            Ok(client_id) => client_id,
            Err(rejection) => return Some(rejection),
        };
        let granted = match form["grant_type"].as_str() {
            "refresh_token" => state.refresh(&form["refresh_token"]),
            _ => state.redeem(&form, &client_id),
        };
        let response = match granted {
            Some(scope) => ok(&state.grant(&scope)),
            None => (
                "400 Bad Request",
                json!({"error": "invalid_grant"}).to_string(),
            ),
        };
        (!state.drops_responses).then_some(response)
    }
}

impl State {
    fn client_of(
        &self,
        request: &Request,
        form: &HashMap<String, String>,
    ) -> Result<String, Response> {
        let basic = request
            .authorization
            .as_deref()
            .and_then(|header| header.strip_prefix("Basic "))
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let (client_id, secret) = match basic.as_deref().and_then(|basic| basic.split_once(':')) {
            Some((id, secret)) => (id.to_owned(), Some(secret.to_owned())),
            None => (form["client_id"].clone(), None),
        };
        if self.secrets.get(&client_id) == secret.as_ref() {
            Ok(client_id)
        } else {
            Err((
                "401 Unauthorized",
                json!({"error": "invalid_client"}).to_string(),
            ))
        }
    }

    fn redeem(&mut self, form: &HashMap<String, String>, client_id: &str) -> Option<String> {
        let code = self.codes.remove(&form["code"])?;
        let verified = pkce::verify(&form["code_verifier"], &code.challenge, Some("S256"));
        let is_valid = verified.is_ok()
            && form["redirect_uri"] == code.redirect_uri
            && client_id == code.client_id;
        is_valid.then_some(code.scope)
    }

    /// Refreshes a login. A refresh token that is used twice was stolen, so all tokens become invalid.
    fn refresh(&mut self, token: &str) -> Option<String> {
        if self.used.contains(token) {
            self.revoke_all_tokens();
            return None;
        }
        if !self.refresh_tokens.remove(token) {
            return None;
        }
        self.used.insert(token.to_owned());
        Some("notes".to_owned())
    }

    fn grant(&mut self, scope: &str) -> Value {
        self.count += 1;
        let (access, refresh) = (
            format!("access-{}", self.count),
            format!("refresh-{}", self.count),
        );
        self.access_tokens.insert(access.clone(), scope.to_owned());
        let mut granted = json!({
            "access_token": access, "token_type": "Bearer",
            "expires_in": 3600, "scope": scope,
        });
        if !self.omits_refresh_tokens {
            self.refresh_tokens.insert(refresh.clone());
            granted["refresh_token"] = json!(refresh);
        }
        granted
    }

    pub(super) fn revoke_all_tokens(&mut self) {
        self.refresh_tokens.clear();
        self.access_tokens.clear();
    }

    /// Makes all access tokens invalid before they expire.
    pub(super) fn invalidate_access_tokens(&mut self) {
        self.access_tokens.clear();
    }
}

fn metadata(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "revocation_endpoint": format!("{url}/revoke"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn ok(value: &Value) -> Response {
    ("200 OK", value.to_string())
}

fn pairs(text: &str) -> HashMap<String, String> {
    form::decode(text).expect("a form").into_iter().collect()
}

async fn read(client: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if client.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let mut lines = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        lines.next().map(|(_, value)| value.trim().to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().expect("a number"));
    while bytes.len() < end + length {
        if client.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request {
        target: head.split(' ').nth(1)?.to_owned(),
        authorization: header("authorization"),
        body: String::from_utf8(bytes[end..].to_vec()).ok()?,
    })
}

/// Opens a page like a browser. Returns the redirect address or the shown text.
pub(super) async fn open_page(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("a URL of this server");
    let (host, path) = rest.split_once('/').expect("the URL has a path");
    let mut stream = TcpStream::connect(host).await.expect("the server listens");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let mut response = String::new();
    within(stream.read_to_string(&mut response))
        .await
        .expect("the response is UTF-8");
    let (_, body) = response
        .split_once("\r\n\r\n")
        .expect("the response has headers");
    body.to_owned()
}
