//! A small identity provider on a port of this machine: it knows one user, redeems codes and renews tokens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolwire_auth::Upstream;
use toolwire_auth::testing::{form, pkce};

use super::stage::parameters;

pub(crate) const CLIENT_ID: &str = "the-one-client";
pub(crate) const CLIENT_SECRET: &str = "upstream/secret";

/// How the provider behaves, and what it has seen.
#[derive(Debug, Default)]
pub(crate) struct Behaviour {
    /// For how long its tokens are good.
    pub(crate) expires_in: Option<u64>,
    pub(crate) gives_refresh_tokens: bool,
    /// What it answers instead of tokens.
    pub(crate) refusal: Option<(u16, Value)>,
    /// What it says about the user, and with which status if not 200.
    pub(crate) user: Value,
    pub(crate) user_status: Option<u16>,
    /// Claims of its ID tokens besides those that each has.
    pub(crate) id_claims: Value,
    /// Whether its redirects carry `iss`, which its metadata then announces.
    pub(crate) announces_iss: bool,
    /// Forms that came to the token endpoint.
    pub(crate) forms: Vec<HashMap<String, String>>,
    /// Challenges by their codes.
    challenges: HashMap<String, String>,
    /// The refresh token that is good at the moment.
    refresh_token: String,
    count: usize,
}

/// A running provider.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) issuer: String,
    pub(crate) behaviour: Arc<Mutex<Behaviour>>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let behaviour = Behaviour {
            user: json!({"id": 42, "login": "ann", "secret": "hidden"}),
            ..Behaviour::default()
        };
        let provider = Self {
            issuer: format!("http://{}", listener.local_addr().unwrap()),
            behaviour: Arc::new(Mutex::new(behaviour)),
        };
        let serving = provider.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                serving.serve(socket).await;
            }
        });
        provider
    }

    /// The client that is registered there, for a provider without metadata.
    pub(crate) fn upstream(&self) -> Upstream {
        let issuer = &self.issuer;
        Upstream::new(issuer, CLIENT_ID, CLIENT_SECRET)
            .with_endpoints(format!("{issuer}/authorize"), format!("{issuer}/token"))
            .with_user_info(format!("{issuer}/user"), "id")
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.behaviour.lock().unwrap());
    }

    /// A user opens this URL, is known already, and is sent back: path and query of where to.
    pub(crate) fn log_in(&self, url: &str) -> String {
        let asked = parameters(url);
        assert!(
            url.starts_with(&format!("{}/authorize?", self.issuer)),
            "{url}"
        );
        assert_eq!(asked["client_id"], CLIENT_ID);
        assert_eq!(asked["code_challenge_method"], "S256");
        let mut behaviour = self.behaviour.lock().unwrap();
        behaviour.count += 1;
        let code = format!("upstream-code-{}", behaviour.count);
        let challenge = asked["code_challenge"].clone();
        behaviour.challenges.insert(code.clone(), challenge);
        let mut pairs = vec![("code", code.as_str()), ("state", &asked["state"])];
        if behaviour.announces_iss {
            pairs.push(("iss", &self.issuer));
        }
        let uri: http::Uri = asked["redirect_uri"].parse().unwrap();
        let path = uri.path();
        format!("{path}?{}", form::encode(pairs))
    }

    async fn serve(&self, mut socket: TcpStream) {
        let mut received = Vec::new();
        let (head, body) = loop {
            if socket.read_buf(&mut received).await.unwrap_or(0) == 0 {
                return;
            }
            let text = String::from_utf8_lossy(&received).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n")
                && body.len() >= length(head)
            {
                break (head.to_owned(), body.to_owned());
            }
        };
        let (status, document) = self.answer(&head, &body);
        let document = document.to_string();
        let length = document.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{document}"
        );
        let _ = socket.write_all(answer.as_bytes()).await;
    }

    fn answer(&self, head: &str, body: &str) -> (u16, Value) {
        let mut behaviour = self.behaviour.lock().unwrap();
        let issuer = &self.issuer;
        match head.split(' ').nth(1) {
            Some("/.well-known/oauth-authorization-server") => {
                let metadata = json!({
                    "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"), "response_types_supported": ["code"],
                    "authorization_response_iss_parameter_supported": behaviour.announces_iss,
                });
                (200, metadata)
            }
            Some("/user")
                if header(head, "authorization").starts_with("Bearer upstream-access-") =>
            {
                let status = behaviour.user_status.unwrap_or(200);
                (status, behaviour.user.clone())
            }
            Some("/token") => behaviour.tokens(header(head, "authorization"), body, issuer),
            _ => (404, Value::Null),
        }
    }
}

impl Behaviour {
    fn tokens(&mut self, authorization: &str, body: &str, issuer: &str) -> (u16, Value) {
        let form: HashMap<String, String> = form::decode(body).unwrap().into_iter().collect();
        self.forms.push(form.clone());
        if let Some(refusal) = self.refusal.clone() {
            return refusal;
        }
        let secret = CLIENT_SECRET.replace('/', "%2F");
        let expected = STANDARD.encode(format!("{CLIENT_ID}:{secret}"));
        if authorization != format!("Basic {expected}") {
            return (401, json!({"error": "invalid_client"}));
        }
        let refused = (
            400,
            json!({"error": "invalid_grant", "error_description": "hidden detail"}),
        );
        if form["grant_type"] == "authorization_code" {
            let Some(challenge) = self.challenges.remove(&form["code"]) else {
                return refused;
            };
            pkce::verify(&form["code_verifier"], &challenge, Some("S256")).unwrap();
        } else if form["refresh_token"] != self.refresh_token {
            return refused;
        }
        self.count += 1;
        let count = self.count;
        let mut claims =
            json!({"iss": issuer, "aud": CLIENT_ID, "exp": u32::MAX, "sub": "ann-by-id-token"});
        for (name, value) in self.id_claims.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        let mut answer = json!({
            "access_token": format!("upstream-access-{count}"), "token_type": "bearer",
            "id_token": format!("e30.{}.", URL_SAFE_NO_PAD.encode(claims.to_string())),
        });
        if let Some(expires_in) = self.expires_in {
            answer["expires_in"] = expires_in.into();
        }
        if self.gives_refresh_tokens {
            self.refresh_token = format!("upstream-refresh-{count}");
            answer["refresh_token"] = self.refresh_token.clone().into();
        }
        (200, answer)
    }
}

fn header<'h>(head: &'h str, name: &str) -> &'h str {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(own, _)| own.eq_ignore_ascii_case(name));
    values.next().map_or("", |(_, value)| value.trim())
}

fn length(head: &str) -> usize {
    header(head, "content-length").parse().unwrap_or(0)
}
