//! Who may use the gateway: callers with a token of a file, with an access token of an authorization server, or with one of
//! the gateway itself, after a login at an identity provider.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::{Map, Value};
use toolwire::transport::http::{AuthorizationError, Authorizer, PublicRoute};
use toolwire::{BoxFuture, ScopeSet, TokenInfo};
use toolwire_auth::documents::Secret;
use toolwire_auth::{
    OAuthProxyConfig, ResourceServerConfig, Upstream as IdentityProvider, UpstreamUser,
};
use toolwire_proto::relay::glob::Glob;

use crate::caller_tokens::CallerTokens;
use crate::config::{AuthConfig, EMAIL, GITHUB, GOOGLE, LoginProvider};
use crate::connect::UserLogins;

/// The maximum size of a file with tokens in bytes.
const MAX_TOKEN_FILE_BYTES: usize = 1024 * 1024;

/// The authorizer that all addresses of a gateway share.
#[derive(Debug, Clone)]
pub(crate) struct FrontAuth {
    authorizer: Arc<dyn Authorizer>,
    tokens: Arc<CallerTokens>,
    logins: Arc<UserLogins>,
}

impl FrontAuth {
    /// Creates the authorizer of a configuration. The tokens of callers are passed to `tokens`.
    pub(crate) fn new(
        config: &AuthConfig,
        trusted_proxies: usize,
        tokens: Arc<CallerTokens>,
    ) -> Result<Self, String> {
        let authorizer: Arc<dyn Authorizer> = match config {
            AuthConfig::BearerFile(path) => Arc::new(BearerTokens::read(path)?),
            AuthConfig::ResourceServer {
                issuer,
                audience,
                scopes,
            } => {
                let server = ResourceServerConfig::new(audience, [issuer])
                    .with_required_scopes(scopes.iter().cloned())
                    .build();
                Arc::new(server.map_err(|error| format!("[auth]: {error}"))?)
            }
            AuthConfig::Login {
                audience,
                scopes,
                provider,
            } => {
                let proxy = OAuthProxyConfig::new(audience, client_at(provider))
                    .with_required_scopes(scopes.iter().cloned())
                    .with_trusted_proxies(trusted_proxies)
                    .with_user_filter(user_filter(provider));
                let proxy = proxy.build();
                Arc::new(proxy.map_err(|error| format!("[auth]: {error}"))?)
            }
        };
        Ok(Self {
            authorizer,
            tokens,
            logins: Arc::new(UserLogins::new()?),
        })
    }

    /// Returns the logins of users at upstreams.
    pub(crate) fn logins(&self) -> &Arc<UserLogins> {
        &self.logins
    }
}

#[cfg(test)]
impl FrontAuth {
    /// Creates the authorizer of a test, whose tokens need no keys of an authorization server.
    pub(crate) fn of(authorizer: impl Authorizer + 'static, tokens: Arc<CallerTokens>) -> Self {
        Self {
            authorizer: Arc::new(authorizer),
            tokens,
            logins: Arc::new(UserLogins::new().expect("the system has random bytes")),
        }
    }
}

/// Returns the client of the gateway at an identity provider.
fn client_at(provider: &LoginProvider) -> IdentityProvider {
    let LoginProvider { id, secret, .. } = provider;
    let client = match provider.issuer.as_str() {
        GITHUB => IdentityProvider::github(id, secret.clone()),
        GOOGLE => IdentityProvider::google(id, secret.clone()),
        issuer => IdentityProvider::new(issuer, id, secret.clone()).with_scopes([EMAIL]),
    };
    client.with_scopes(provider.scopes.iter().cloned())
}

/// Returns the function that decides which users of the provider may log in.
fn user_filter(provider: &LoginProvider) -> impl Fn(&UpstreamUser) -> bool + Send + Sync + 'static {
    let (claim, users) = (provider.user_claim.clone(), provider.users.clone());
    move |user| is_permitted(&user.claims, &claim, &users)
}

/// Returns `true` if a claim matches one of the patterns. An email address has to be verified, because users can write any
/// address at some providers. Only `*` permits users without the claim.
fn is_permitted(claims: &Map<String, Value>, claim: &str, users: &[Glob]) -> bool {
    if users.iter().any(|pattern| pattern.as_str() == "*") {
        return true;
    }
    let is_verified =
        claim != EMAIL || claims.get("email_verified").and_then(Value::as_bool) == Some(true);
    let name = claims.get(claim).and_then(Value::as_str);
    is_verified && name.is_some_and(|name| users.iter().any(|pattern| pattern.matches(name)))
}

impl Authorizer for FrontAuth {
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        Box::pin(async move {
            let info = self.authorizer.authorize(head).await?;
            self.tokens.store(head, &info);
            Ok(info)
        })
    }

    fn insufficient_scope(&self, needed: &ScopeSet, token: &TokenInfo) -> AuthorizationError {
        self.authorizer.insufficient_scope(needed, token)
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        self.authorizer.document(path)
    }

    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        let own = self.logins.public_route(path);
        own.or_else(|| self.authorizer.public_route(path))
    }

    fn serve_public(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        if self.logins.public_route(request.uri().path()).is_some() {
            return Box::pin(async move { self.logins.serve(&request).await });
        }
        self.authorizer.serve_public(request)
    }
}

/// Tokens of a file. Each line has the name of a caller, its token, and its scopes, separated by spaces. `#` starts a
/// comment.
struct BearerTokens {
    callers: Vec<BearerCaller>,
}

struct BearerCaller {
    name: String,
    token: Secret,
    scopes: Vec<String>,
}

impl BearerTokens {
    fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{shown} cannot be read: {error}"))?;
        warn_if_readable(path);
        let callers = parse(&text).map_err(|problem| format!("{shown}{problem}"))?;
        Ok(Self { callers })
    }

    fn find(&self, token: &Secret) -> Option<TokenInfo> {
        // All tokens are compared, so that the duration does not reveal a partial match.
        let mut matching = None;
        for caller in &self.callers {
            if caller.token == *token {
                matching = Some(caller);
            }
        }
        let caller = matching?;
        let info = TokenInfo::verified().with_subject(&caller.name);
        Some(info.with_scopes(caller.scopes.iter().cloned()))
    }
}

/// Parses a file. An error contains the line, and no token.
fn parse(text: &str) -> Result<Vec<BearerCaller>, String> {
    if text.len() > MAX_TOKEN_FILE_BYTES {
        return Err(format!(" has more than {MAX_TOKEN_FILE_BYTES} bytes"));
    }
    let mut callers: Vec<BearerCaller> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next().filter(|word| !word.starts_with('#')) else {
            continue;
        };
        let at = index + 1;
        let token = words.next();
        let Some(token) = token.filter(|token| token.len() >= 16) else {
            return Err(format!(
                ", line {at}: write the name of a caller and a token of at least 16 characters"
            ));
        };
        let token = Secret::new(token);
        if callers.iter().any(|caller| caller.token == token) {
            return Err(format!(", line {at}: another caller has this token"));
        }
        callers.push(BearerCaller {
            name: name.to_owned(),
            token,
            scopes: words.map(str::to_owned).collect(),
        });
    }
    if callers.is_empty() {
        return Err(" has no token; write a line with a name and a token".to_owned());
    }
    Ok(callers)
}

#[cfg(unix)]
fn warn_if_readable(path: &Path) {
    use std::os::unix::fs::MetadataExt as _;

    if std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o077 != 0) {
        let path = path.display();
        tracing::warn!(%path, "other users of this machine can read the tokens of the gateway");
    }
}

#[cfg(not(unix))]
fn warn_if_readable(_path: &Path) {}

impl Authorizer for BearerTokens {
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let mut values = head.headers.get_all(AUTHORIZATION).iter();
        let value = values.next().filter(|_| values.next().is_none());
        let token = value.and_then(|value| {
            let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
            let is_bearer = scheme.eq_ignore_ascii_case("bearer");
            is_bearer.then(|| Secret::new(token.trim()))
        });
        let known = token.as_ref().and_then(|token| self.find(token));
        let outcome = known.ok_or_else(|| {
            let (reason, challenge) = if token.is_some() {
                ("the token is unknown", "Bearer error=\"invalid_token\"")
            } else {
                ("a bearer token is required", "Bearer")
            };
            AuthorizationError::new(StatusCode::UNAUTHORIZED, reason)
                .with_challenge(HeaderValue::from_static(challenge))
        });
        Box::pin(std::future::ready(outcome))
    }

    fn insufficient_scope(&self, _needed: &ScopeSet, _token: &TokenInfo) -> AuthorizationError {
        let challenge = HeaderValue::from_static("Bearer error=\"insufficient_scope\"");
        AuthorizationError::new(StatusCode::FORBIDDEN, "the token lacks required scopes")
            .with_challenge(challenge)
    }

    fn document(&self, _path: &str) -> Option<Bytes> {
        None
    }
}

impl fmt::Debug for BearerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let callers = self.callers.len();
        f.debug_struct("BearerTokens")
            .field("callers", &callers)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn lines_have_a_name_a_token_and_scopes() {
        let text = format!("# callers\n\nann {TOKEN} read write\nbob {TOKEN}x\n");
        let callers = parse(&text).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(callers.len(), 2);
        assert_eq!(callers[0].scopes, ["read", "write"]);
        let check = |text: &str, part: &str| {
            let problem = parse(text).err().expect("an error");
            assert!(
                problem.contains(part) && !problem.contains(TOKEN),
                "{problem}"
            );
        };
        check("", "no token");
        check("ann short", "line 1");
        check(&format!("ann {TOKEN}\nbob {TOKEN}"), "line 2");
        check(&"#".repeat(MAX_TOKEN_FILE_BYTES + 1), "more than");
    }

    #[test]
    fn users_are_permitted_by_a_verified_claim() {
        let check = |claims: Value, claim: &str, users: &[&str], expected: bool| {
            let users: Vec<Glob> = users.iter().map(|user| user.parse().unwrap()).collect();
            let members = claims.as_object().unwrap();
            assert_eq!(is_permitted(members, claim, &users), expected, "{claims}");
        };
        let ann = json!({ "email": "ann@example.com", "email_verified": true, "login": "ann" });
        check(ann.clone(), "email", &["*@example.com"], true);
        check(ann.clone(), "email", &["*@example.org"], false);
        check(ann.clone(), "email", &[], false);
        check(ann.clone(), "login", &["bob", "ann"], true);
        check(ann, "name", &["*a*"], false);
        let unverified = json!({ "email": "ann@example.com" });
        check(unverified.clone(), "email", &["*@example.com"], false);
        check(unverified, "email", &["*"], true);
        let denied = json!({ "email": "ann@example.com", "email_verified": false });
        check(denied, "email", &["ann@*"], false);
    }

    #[tokio::test]
    async fn gateway_is_the_authorization_server_of_users_who_log_in() {
        let provider = LoginProvider {
            issuer: GITHUB.to_owned(),
            id: "gw".to_owned(),
            secret: Secret::new("s3cret"),
            scopes: Vec::new(),
            users: Vec::new(),
            user_claim: "login".to_owned(),
        };
        let config = AuthConfig::Login {
            audience: "https://tools.example.com/mcp".to_owned(),
            scopes: Vec::new(),
            provider,
        };
        let auth = FrontAuth::new(&config, 0, Arc::default()).unwrap();
        assert!(!format!("{config:?}{auth:?}").contains("s3cret"));
        for path in ["/authorize", "/token", "/callback"] {
            assert!(auth.public_route(path).is_some(), "{path}");
        }
        let metadata = auth.document("/.well-known/oauth-authorization-server");
        let metadata: Value = serde_json::from_slice(&metadata.unwrap()).unwrap();
        assert_eq!(metadata["issuer"], "https://tools.example.com");
        let (head, ()) = Request::new(()).into_parts();
        let error = auth.authorize(&head).await.unwrap_err();
        assert_eq!(error.status, StatusCode::UNAUTHORIZED);
    }

    #[tokio::test]
    async fn only_known_tokens_are_accepted() {
        let tokens = BearerTokens {
            callers: parse(&format!("ann {TOKEN} read")).unwrap_or_default(),
        };
        let authorize = async |value: Option<&str>| {
            let mut request = Request::new(());
            if let Some(value) = value {
                let value = HeaderValue::from_str(value).unwrap();
                request.headers_mut().append(AUTHORIZATION, value);
            }
            let (head, ()) = request.into_parts();
            tokens.authorize(&head).await
        };
        let info = authorize(Some(&format!("bearer {TOKEN}"))).await.unwrap();
        assert_eq!(info.subject.as_deref(), Some("ann"));
        assert!(info.has_scope("read"));
        for value in [
            None,
            Some("Bearer 0"),
            Some(TOKEN),
            Some("Basic 0123456789abcdef"),
        ] {
            let error = authorize(value).await.unwrap_err();
            assert_eq!(error.status, StatusCode::UNAUTHORIZED, "{value:?}");
        }
        assert!(!format!("{tokens:?}").contains(TOKEN));
    }
}
