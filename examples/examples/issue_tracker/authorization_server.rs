//! The authorization server: users log in on its page, and clients receive signed tokens.
//!
//! A real one is a product or a service. This one is a part of the program, so that the example runs without a network.
//! It has two users, who need no password.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolwire_auth::testing::{form, pkce};

use crate::signing_key::SigningKey;

/// The users, and the scopes that each of them may grant.
const USERS: [(&str, &[&str]); 2] = [
    ("ann", &["issues:read"]),
    ("bob", &["issues:read", "issues:write"]),
];

/// The lifetime of a token in seconds.
const TOKEN_LIFETIME: u64 = 600;

/// The largest number of registered clients, and of codes that no client has redeemed.
const MAX_ENTRIES: usize = 100;

type Form = HashMap<String, String>;

struct AuthorizationServer {
    issuer: String,
    key: SigningKey,
    records: Mutex<Records>,
}

#[derive(Default)]
struct Records {
    /// The redirect URIs of each client.
    clients: HashMap<String, Vec<String>>,
    codes: HashMap<String, Grant>,
}

/// The permission of a user, until the client redeems its code.
struct Grant {
    user: &'static str,
    request: Form,
}

/// Starts the authorization server and returns its issuer identifier.
pub(crate) async fn start() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let issuer = format!("http://{}", listener.local_addr()?);
    let server = AuthorizationServer {
        issuer: issuer.clone(),
        key: SigningKey::new()?,
        records: Mutex::default(),
    };
    let app = Router::new()
        .route("/.well-known/oauth-authorization-server", get(metadata))
        .route("/keys", get(keys))
        .route("/register", post(register))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .with_state(Arc::new(server));
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(issuer)
}

async fn metadata(State(server): State<Arc<AuthorizationServer>>) -> Response {
    let issuer = &server.issuer;
    let metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    });
    json_response(StatusCode::OK, &metadata)
}

async fn keys(State(server): State<Arc<AuthorizationServer>>) -> Response {
    json_response(StatusCode::OK, &json!(server.key.public()))
}

/// Registers a client (RFC 7591).
async fn register(
    State(server): State<Arc<AuthorizationServer>>,
    body: String,
) -> Result<Response, StatusCode> {
    let mut client: Value = serde_json::from_str(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    let uris = serde_json::from_value(client["redirect_uris"].clone())
        .map_err(|_| StatusCode::BAD_REQUEST)?;
    let id = server.random_text()?;
    client["client_id"] = json!(id);
    client["token_endpoint_auth_method"] = json!("none");
    let mut records = server.records();
    if records.clients.len() >= MAX_ENTRIES {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    records.clients.insert(id, uris);
    Ok(json_response(StatusCode::CREATED, &client))
}

/// Shows the users. A link adds the chosen one to the request, which then redirects to the client.
async fn authorize(
    State(server): State<Arc<AuthorizationServer>>,
    RawQuery(query): RawQuery,
) -> Result<Response, StatusCode> {
    let mut request = form_of(&query.unwrap_or_default())?;
    let redirect_uri = value(&request, "redirect_uri").to_owned();
    let registered = server
        .records()
        .clients
        .get(value(&request, "client_id"))
        .is_some_and(|uris| uris.contains(&redirect_uri));
    // A redirect to an unknown address would send the code to another program.
    if !registered || !request.contains_key("code_challenge") {
        return Err(StatusCode::BAD_REQUEST);
    }
    let Some(name) = request.remove("user") else {
        return Ok(Html(login_page(&request)).into_response());
    };
    let state = value(&request, "state").to_owned();
    let outcome = match grantable(&name, value(&request, "scope")) {
        Some(user) => ("code", server.new_code(Grant { user, request })?),
        None => ("error", "access_denied".to_owned()),
    };
    let parameters = [
        (outcome.0, outcome.1.as_str()),
        ("state", &state),
        ("iss", &server.issuer),
    ];
    let address = format!("{redirect_uri}?{}", form::encode(parameters));
    Ok(Redirect::to(&address).into_response())
}

/// Exchanges a code for a token.
async fn token(
    State(server): State<Arc<AuthorizationServer>>,
    body: String,
) -> Result<Response, StatusCode> {
    let form = form_of(&body)?;
    // Each code is valid once.
    let grant = server.records().codes.remove(value(&form, "code"));
    let Some(Grant { user, request }) = grant.filter(|grant| is_redeemable(&form, &grant.request))
    else {
        let error = json!({"error": "invalid_grant"});
        return Ok(json_response(StatusCode::BAD_REQUEST, &error));
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |duration| duration.as_secs());
    let scope = value(&request, "scope");
    // The token is valid at the server that the client named, and nowhere else.
    let claims = json!({
        "iss": server.issuer, "sub": user, "aud": request.get("resource"),
        "client_id": request.get("client_id"), "scope": scope,
        "iat": now, "exp": now + TOKEN_LIFETIME, "jti": server.random_text()?,
    });
    let token = server.key.token(&claims);
    let token = token.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let granted = json!({
        "access_token": token, "token_type": "Bearer", "expires_in": TOKEN_LIFETIME, "scope": scope,
    });
    Ok(json_response(StatusCode::OK, &granted))
}

impl AuthorizationServer {
    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn random_text(&self) -> Result<String, StatusCode> {
        let text = self.key.random_text();
        text.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn new_code(&self, grant: Grant) -> Result<String, StatusCode> {
        let code = self.random_text()?;
        let mut records = self.records();
        if records.codes.len() >= MAX_ENTRIES {
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        records.codes.insert(code.clone(), grant);
        Ok(code)
    }
}

/// Returns the user if they may grant all of these scopes.
fn grantable(name: &str, requested: &str) -> Option<&'static str> {
    let (user, permitted) = USERS.into_iter().find(|(user, _)| *user == name)?;
    let mut requested = requested.split_whitespace();
    requested
        .all(|scope| permitted.contains(&scope))
        .then_some(user)
}

/// Whether this client started the request, and has the secret of its challenge (PKCE).
fn is_redeemable(form: &Form, request: &Form) -> bool {
    let same = |name: &str| form.get(name) == request.get(name);
    let verifier = value(form, "code_verifier");
    let challenge = value(request, "code_challenge");
    same("client_id")
        && same("redirect_uri")
        && pkce::verify(verifier, challenge, Some("S256")).is_ok()
}

fn login_page(request: &Form) -> String {
    let pairs = request.iter();
    let query = form::encode(pairs.map(|(name, value)| (name.as_str(), value.as_str())));
    let links = USERS.map(|(user, scopes)| {
        let address = format!("/authorize?{query}&user={user}").replace('&', "&amp;");
        let scopes = scopes.join(", ");
        format!("<li><a href=\"{address}\">Log in as {user}</a> ({scopes})</li>")
    });
    format!(
        "<!doctype html><title>Log in</title><ul>{}</ul>",
        links.concat()
    )
}

fn form_of(text: &str) -> Result<Form, StatusCode> {
    let pairs = form::decode(text).ok_or(StatusCode::BAD_REQUEST)?;
    Ok(pairs.into_iter().collect())
}

fn value<'a>(form: &'a Form, name: &str) -> &'a str {
    form.get(name).map_or("", String::as_str)
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    let headers = [(CONTENT_TYPE, "application/json")];
    (status, headers, value.to_string()).into_response()
}
