//! An identity provider with one user on a local port, which redeems codes and refreshes tokens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolwire_auth::Upstream;
use toolwire_auth::testing::{form, pkce};

use super::fixture::parameters;

pub(crate) const CLIENT_ID: &str = "the-one-client";
pub(crate) const CLIENT_SECRET: &str = "upstream/secret";

/// The configuration of the provider, and the forms that it received.
#[derive(Debug, Default)]
pub(crate) struct ProviderState {
    /// The lifetime of its tokens in seconds. `None` omits `expires_in`.
    pub(crate) expires_in: Option<u64>,
    pub(crate) issues_refresh_tokens: bool,
    /// The status and body that the token endpoint sends instead of tokens.
    pub(crate) token_error: Option<(u16, Value)>,
    /// The user information.
    pub(crate) user: Value,
    /// The status of the user information endpoint. `None` is 200.
    pub(crate) user_status: Option<u16>,
    /// Additional claims of its ID tokens.
    pub(crate) id_claims: Value,
    /// Whether its redirects have the parameter `iss`, which its metadata then announces.
    pub(crate) announces_iss: bool,
    /// The forms of token requests.
    pub(crate) forms: Vec<HashMap<String, String>>,
    /// PKCE challenges by authorization code.
    challenges: HashMap<String, String>,
    /// The current refresh token.
    refresh_token: String,
    count: usize,
}

/// A running provider.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) issuer: String,
    pub(crate) state: Arc<Mutex<ProviderState>>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = ProviderState {
            user: json!({"id": 42, "login": "ann", "secret": "hidden"}),
            ..ProviderState::default()
        };
        let provider = Self {
            issuer: format!("http://{}", listener.local_addr().unwrap()),
            state: Arc::new(Mutex::new(state)),
        };
        let serving = provider.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                serving.serve(socket).await;
            }
        });
        provider
    }

    /// Returns the configuration of the proxy for a provider without metadata.
    pub(crate) fn upstream(&self) -> Upstream {
        let issuer = &self.issuer;
        Upstream::new(issuer, CLIENT_ID, CLIENT_SECRET)
            .with_endpoints(format!("{issuer}/authorize"), format!("{issuer}/token"))
            .with_user_info(format!("{issuer}/user"), "id")
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ProviderState)) {
        change(&mut self.state.lock().unwrap());
    }

    /// Handles an authorization request of a user who is logged in. Returns the path and query of the redirect.
    pub(crate) fn log_in(&self, url: &str) -> String {
        let requested = parameters(url);
        assert!(
            url.starts_with(&format!("{}/authorize?", self.issuer)),
            "{url}"
        );
        assert_eq!(requested["client_id"], CLIENT_ID);
        assert_eq!(requested["code_challenge_method"], "S256");
        let mut state = self.state.lock().unwrap();
        state.count += 1;
        let code = format!("upstream-code-{}", state.count);
        let challenge = requested["code_challenge"].clone();
        state.challenges.insert(code.clone(), challenge);
        let mut pairs = vec![("code", code.as_str()), ("state", &requested["state"])];
        if state.announces_iss {
            pairs.push(("iss", &self.issuer));
        }
        let uri: http::Uri = requested["redirect_uri"].parse().unwrap();
        let path = uri.path();
        format!("{path}?{}", form::encode(pairs))
    }

    async fn serve(&self, mut socket: TcpStream) {
        let mut received = Vec::new();
        let (headers, body) = loop {
            if socket.read_buf(&mut received).await.unwrap_or(0) == 0 {
                return;
            }
            let text = String::from_utf8_lossy(&received).into_owned();
            if let Some((headers, body)) = text.split_once("\r\n\r\n")
                && body.len() >= length(headers)
            {
                break (headers.to_owned(), body.to_owned());
            }
        };
        let (status, document) = self.respond(&headers, &body);
        let document = document.to_string();
        let length = document.len();
        let response = format!(
            "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{document}"
        );
        let _ = socket.write_all(response.as_bytes()).await;
    }

    fn respond(&self, headers: &str, body: &str) -> (u16, Value) {
        let mut state = self.state.lock().unwrap();
        let issuer = &self.issuer;
        match headers.split(' ').nth(1) {
            Some("/.well-known/oauth-authorization-server") => {
                let metadata = json!({
                    "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"), "response_types_supported": ["code"],
                    "authorization_response_iss_parameter_supported": state.announces_iss,
                });
                (200, metadata)
            }
            Some("/user")
                if header(headers, "authorization").starts_with("Bearer upstream-access-") =>
            {
                let status = state.user_status.unwrap_or(200);
                (status, state.user.clone())
            }
            Some("/token") => state.tokens(header(headers, "authorization"), body, issuer),
            _ => (404, Value::Null),
        }
    }
}

impl ProviderState {
    fn tokens(&mut self, authorization: &str, body: &str, issuer: &str) -> (u16, Value) {
        let form: HashMap<String, String> = form::decode(body).unwrap().into_iter().collect();
        self.forms.push(form.clone());
        if let Some(token_error) = self.token_error.clone() {
            return token_error;
        }
        let secret = CLIENT_SECRET.replace('/', "%2F");
        let expected = STANDARD.encode(format!("{CLIENT_ID}:{secret}"));
        if authorization != format!("Basic {expected}") {
            return (401, json!({"error": "invalid_client"}));
        }
        let invalid_grant = (
            400,
            json!({"error": "invalid_grant", "error_description": "hidden detail"}),
        );
        if form["grant_type"] == "authorization_code" {
            let Some(challenge) = self.challenges.remove(&form["code"]) else {
                return invalid_grant;
            };
            pkce::verify(&form["code_verifier"], &challenge, Some("S256")).unwrap();
        } else if form["refresh_token"] != self.refresh_token {
            return invalid_grant;
        }
        self.count += 1;
        let count = self.count;
        let mut claims =
            json!({"iss": issuer, "aud": CLIENT_ID, "exp": u32::MAX, "sub": "ann-by-id-token"});
        for (name, value) in self.id_claims.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        let mut response = json!({
            "access_token": format!("upstream-access-{count}"), "token_type": "bearer",
            "id_token": format!("e30.{}.", URL_SAFE_NO_PAD.encode(claims.to_string())),
        });
        if let Some(expires_in) = self.expires_in {
            response["expires_in"] = expires_in.into();
        }
        if self.issues_refresh_tokens {
            self.refresh_token = format!("upstream-refresh-{count}");
            response["refresh_token"] = self.refresh_token.clone().into();
        }
        (200, response)
    }
}

fn header<'h>(headers: &'h str, name: &str) -> &'h str {
    let lines = headers.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(own, _)| own.eq_ignore_ascii_case(name));
    values.next().map_or("", |(_, value)| value.trim())
}

fn length(headers: &str) -> usize {
    header(headers, "content-length").parse().unwrap_or(0)
}
