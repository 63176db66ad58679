//! The pages at which users log in to an upstream and out of it.
//!
//! A page is shown for an address. Its form is bound to the browser that got it. A redirect goes only to the authorization
//! server of the upstream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use serde::{Deserialize, Serialize};
use toolwire::Principal;
use toolwire::transport::http::PublicRoute;
use toolwire_auth::client::{LogoutOutcome, OAuthConfig};
use toolwire_auth::proxy::user_page::{cookie, decode_form, escaped, page, redirect};

use crate::connect::running::{PAGE_WAIT, StartError};
use crate::connect::seal::{Seals, now, random_id};
use crate::connect::stored::StoredLogin;
use crate::connect::used_addresses::AddressRejection;
use crate::connect::{ADDRESS, CALLBACK, LoginAddress, LoginUpstream, PREFIX, UserLogins, user_of};
use crate::sync::lock;

/// The maximum size of a form in bytes.
const MAX_FORM_BYTES: usize = 8 * 1024;

/// How long a browser accepts only the addresses of the user who has logged in there.
const BROWSER_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The maximum time of the revocation of tokens.
const REVOCATION_WAIT: Duration = Duration::from_secs(60);

const LOG_IN: &str = "log-in";
const LOG_OUT: &str = "log-out";
const BROWSER: &str = "browser";
const FORM: &str = "form";

/// What a browser stores in its cookie.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Browser {
    id: String,
    /// The text of the principal that has logged in here. The addresses of others are rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
}

/// The path of a page.
#[derive(Debug, PartialEq, Eq)]
enum Page<'a> {
    Callback(&'a str),
    Connect(&'a str),
    LogIn(&'a str),
    LogOut(&'a str),
}

impl<'a> Page<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix(PREFIX)?;
        match rest.split_once('/') {
            None => Some(Self::Connect(rest)),
            Some((CALLBACK, name)) => Some(Self::Callback(name)),
            Some((name, LOG_IN)) => Some(Self::LogIn(name)),
            Some((name, LOG_OUT)) => Some(Self::LogOut(name)),
            Some(_) => None,
        }
    }
}

impl UserLogins {
    /// Returns the route of a page.
    pub(crate) fn public_route(&self, path: &str) -> Option<PublicRoute> {
        let (name, route) = match Page::of(path)? {
            Page::Callback(name) | Page::Connect(name) => (name, PublicRoute::get()),
            Page::LogIn(name) | Page::LogOut(name) => (name, PublicRoute::post(MAX_FORM_BYTES)),
        };
        self.upstream(name).map(|_| route)
    }

    /// Serves a page.
    pub(crate) async fn serve(self: &Arc<Self>, request: &Request<Bytes>) -> Response<Bytes> {
        let headers = request.headers();
        let query = request.uri().query().unwrap_or_default();
        let served = match Page::of(request.uri().path()) {
            Some(Page::Callback(name)) => self.callback(name, query, headers).await,
            Some(Page::Connect(name)) => self.connect(name, query, headers),
            Some(Page::LogIn(name)) => self.log_in(name, request.body(), headers).await,
            Some(Page::LogOut(name)) => self.log_out(name, request.body(), headers).await,
            None => None,
        };
        served.unwrap_or_else(|| {
            failure(
                StatusCode::BAD_REQUEST,
                "This address has expired, was used already, or is not valid in this browser.",
            )
        })
    }

    /// Shows the page of an address. Returns `None` if the address is not valid.
    fn connect(&self, name: &str, query: &str, headers: &HeaderMap) -> Option<Response<Bytes>> {
        let upstream = self.upstream(name)?;
        let sealed = value_of(query, ADDRESS)?;
        let address: LoginAddress = self.seals.open(ADDRESS, &upstream.binding(), &sealed)?;
        let caller = Principal::from_stored(Some(&address.caller));
        if lock(&self.used_addresses).contains(&caller, &address.id) {
            return None;
        }
        let known = self.browser(headers);
        if is_browser_of_another(known.as_ref(), &address) {
            tracing::warn!(
                upstream = name,
                "a browser opened the address of another user"
            );
            return Some(failure(
                StatusCode::FORBIDDEN,
                "This address belongs to another user than the one who has logged in with this browser. If both are \
                 you, remove the cookies of this site first.",
            ));
        }
        let browser = match known {
            Some(browser) => browser,
            None => Browser {
                id: random_id().ok()?,
                caller: None,
            },
        };
        let ttl = Duration::from_secs(address.expires).saturating_sub(now());
        let form_name = form_name(&browser, &upstream);
        let form = self
            .seals
            .seal(FORM, &form_name, &address, (now(), ttl))
            .ok()?;
        let user = user_of(&caller)?;
        let logs_out = address.logs_out && self.has_login(&caller, &upstream);
        let mut response = connect_page(&upstream, &user, &form, logs_out);
        self.set_browser(&browser, &mut response)?;
        Some(response)
    }

    /// Starts a login, after the user has agreed.
    async fn log_in(
        self: &Arc<Self>,
        name: &str,
        form: &Bytes,
        headers: &HeaderMap,
    ) -> Option<Response<Bytes>> {
        let upstream = self.upstream(name)?;
        let (browser, address) = self.form(&upstream, form, headers)?;
        if let Err(rejected) = self.use_up(&address)? {
            return Some(rejected);
        }
        let key = upstream.key(&Principal::from_stored(Some(&address.caller)));
        Some(match self.start(key, &upstream, &browser.id).await {
            Ok(url) => redirect(&url),
            Err(StartError::TooMany) => failure(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many users are logging in. Try again in a few minutes.",
            ),
            Err(StartError::Failed(reason)) => login_failure(&upstream.name, &reason),
        })
    }

    /// Removes a login.
    async fn log_out(
        &self,
        name: &str,
        form: &Bytes,
        headers: &HeaderMap,
    ) -> Option<Response<Bytes>> {
        let upstream = self.upstream(name)?;
        let (_, address) = self.form(&upstream, form, headers)?;
        if let Err(rejected) = self.use_up(&address)? {
            return Some(rejected);
        }
        let key = upstream.key(&Principal::from_stored(Some(&address.caller)));
        if let Some(login) = self.stored.get(&key)
            && self.stored.remove(&key, login.number)
        {
            // The tokens are removed in any case. A page that is closed does not end the revocation.
            let revoked = tokio::spawn(revoke(Arc::clone(&upstream), login));
            let _ = tokio::time::timeout(PAGE_WAIT, revoked).await;
        }
        let body = format!(
            "<h1>Logged out</h1><p>The gateway has removed your login at <b>{}</b>.</p>",
            escaped(name)
        );
        Some(page(StatusCode::OK, "Logged out", &body))
    }

    /// Ends a login with the redirect of the authorization server.
    async fn callback(
        &self,
        name: &str,
        query: &str,
        headers: &HeaderMap,
    ) -> Option<Response<Bytes>> {
        let mut browser = self.browser(headers)?;
        let returned = self.finish(name, query, &browser.id).await?;
        if let Err(reason) = &returned.outcome {
            return Some(login_failure(&returned.key.upstream, reason));
        }
        let body = format!(
            "<h1>Logged in</h1><p>You are logged in to <b>{}</b>. Close this page, and go back to the program you came \
             from.</p>",
            escaped(&returned.key.upstream)
        );
        let mut response = page(StatusCode::OK, "Logged in", &body);
        browser.caller = returned.key.caller.as_str().map(str::to_owned);
        self.set_browser(&browser, &mut response)?;
        Some(response)
    }

    /// Opens the form of a page. Returns `None` if it is not valid, or from another browser.
    fn form(
        &self,
        upstream: &LoginUpstream,
        form: &Bytes,
        headers: &HeaderMap,
    ) -> Option<(Browser, LoginAddress)> {
        let browser = self.browser(headers)?;
        let sealed = value_of(std::str::from_utf8(form).ok()?, FORM)?;
        let name = form_name(&browser, upstream);
        let address: LoginAddress = self.seals.open(FORM, &name, &sealed)?;
        let is_own = !is_browser_of_another(Some(&browser), &address);
        is_own.then_some((browser, address))
    }

    /// Uses an address up. Returns `None` if it was used before, and a page if the user has used too many.
    fn use_up(&self, address: &LoginAddress) -> Option<Result<(), Response<Bytes>>> {
        let caller = Principal::from_stored(Some(&address.caller));
        let expires = Duration::from_secs(address.expires);
        let used = lock(&self.used_addresses).add(&caller, &address.id, expires, now());
        match used {
            Ok(()) => Some(Ok(())),
            Err(AddressRejection::Used) => None,
            Err(AddressRejection::TooMany) => Some(Err(failure(
                StatusCode::TOO_MANY_REQUESTS,
                "There were too many logins. Try again in a few minutes.",
            ))),
        }
    }

    /// Returns the name of the cookie, and its attributes. Without TLS, which is possible on this machine only, browsers
    /// do not accept `__Host-`.
    fn cookie_name(&self) -> (&'static str, &'static str) {
        let origin = self.origin.get().map_or("", String::as_str);
        if origin.starts_with("https:") {
            ("__Host-toolwire-connect", "Secure; ")
        } else {
            ("toolwire-connect", "")
        }
    }

    fn cookie_seals(&self) -> &Seals {
        self.cookie_seals.get().unwrap_or(&self.seals)
    }

    fn browser(&self, headers: &HeaderMap) -> Option<Browser> {
        let sealed = cookie(headers, self.cookie_name().0)?;
        self.cookie_seals().open(BROWSER, "", sealed)
    }

    fn set_browser(&self, browser: &Browser, response: &mut Response<Bytes>) -> Option<()> {
        let (name, secure) = self.cookie_name();
        let times = (now(), BROWSER_TTL);
        let seal = self.cookie_seals().seal(BROWSER, "", browser, times);
        let seconds = BROWSER_TTL.as_secs();
        let text = format!(
            "{name}={}; Path=/; {secure}HttpOnly; SameSite=Lax; Max-Age={seconds}",
            seal.ok()?
        );
        let value = HeaderValue::try_from(text).ok()?;
        response.headers_mut().append(SET_COOKIE, value);
        Some(())
    }
}

/// Revokes the tokens of a login that was removed.
async fn revoke(upstream: Arc<LoginUpstream>, login: StoredLogin) {
    let oauth = upstream.with_client(OAuthConfig::from_store(login.tokens));
    let revoking = tokio::time::timeout(REVOCATION_WAIT, oauth.log_out(&upstream.url));
    match revoking.await {
        Ok(Ok(LogoutOutcome::Revoked)) => {}
        outcome => tracing::info!(
            upstream = upstream.name,
            ?outcome,
            "tokens were not revoked"
        ),
    }
}

/// Returns `true` if another user than that of the address has logged in with a browser.
fn is_browser_of_another(browser: Option<&Browser>, address: &LoginAddress) -> bool {
    let caller = browser.and_then(|browser| browser.caller.as_ref());
    caller.is_some_and(|caller| *caller != address.caller)
}

/// Returns what a form is bound to.
fn form_name(browser: &Browser, upstream: &LoginUpstream) -> String {
    format!("{} {}", browser.id, upstream.binding())
}

/// Returns the only value with a name.
fn value_of(form: &str, name: &str) -> Option<String> {
    let mut values = decode_form(form)?
        .into_iter()
        .filter(|(own, _)| own == name);
    let (_, value) = values.next()?;
    values.next().is_none().then_some(value)
}

fn connect_page(
    upstream: &LoginUpstream,
    user: &str,
    form: &str,
    logs_out: bool,
) -> Response<Bytes> {
    let (name, url, user) = (
        escaped(&upstream.name),
        escaped(&upstream.url),
        escaped(user),
    );
    let (title, text, action, button) = if logs_out {
        (
            "Log out?",
            "The gateway uses this server with your login. It removes the login if you log out.",
            LOG_OUT,
            "Log out",
        )
    } else {
        (
            "Log in?",
            "You are sent to the login of this server. Afterwards, the gateway uses the server with your rights, for the \
             requests of this user of the gateway.",
            LOG_IN,
            "Continue",
        )
    };
    let scopes = match &upstream.scopes {
        Some(scopes) => format!(
            "<dt>Requested rights, besides those that the server names</dt><dd>{}</dd>",
            escaped(scopes)
        ),
        None => String::new(),
    };
    let form = escaped(form);
    let body = format!(
        "<h1>{title}</h1><p>{text}</p><dl><dt>Server</dt><dd><b>{name}</b></dd><dt>Its address</dt><dd>{url}</dd>\
         <dt>User of the gateway</dt><dd><b>{user}</b></dd>{scopes}</dl>\
         <p class=\"warning\">Continue only if this user is you, and if you have just asked for this yourself. If another \
         person sent you this address, close the page: that person could use the server with your rights.</p>\
         <form method=\"post\" action=\"{PREFIX}{name}/{action}\">\
         <input type=\"hidden\" name=\"{FORM}\" value=\"{form}\"><button>{button}</button></form>"
    );
    page(StatusCode::OK, title, &body)
}

fn login_failure(upstream: &str, reason: &str) -> Response<Bytes> {
    let reason = format!("You are not logged in to {upstream}: {reason}.");
    failure(StatusCode::BAD_GATEWAY, &reason)
}

fn failure(status: StatusCode, reason: &str) -> Response<Bytes> {
    let body = format!(
        "<h1>This does not work</h1><p>{}</p><p>To get a new address, make the request again in the program you came \
         from.</p>",
        escaped(reason)
    );
    page(status, "This does not work", &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_an_upstream_and_an_action() {
        assert_eq!(Page::of("/connect/callback/a"), Some(Page::Callback("a")));
        assert_eq!(Page::of("/connect/a"), Some(Page::Connect("a")));
        assert_eq!(Page::of("/connect/a/log-in"), Some(Page::LogIn("a")));
        assert_eq!(Page::of("/connect/a/log-out"), Some(Page::LogOut("a")));
        for path in ["/connect", "/mcp/a", "/connect/a/b", "/connect/a/log-in/b"] {
            assert_eq!(Page::of(path), None, "{path}");
        }
    }

    #[test]
    fn texts_of_the_page_are_escaped() {
        let attack = "</b><script>\"'&";
        let upstream = LoginUpstream {
            name: attack.to_owned(),
            url: attack.to_owned(),
            client: None,
            scopes: Some(attack.to_owned()),
            registrations: Arc::default(),
        };
        let pages = [
            connect_page(&upstream, attack, attack, false),
            connect_page(&upstream, attack, attack, true),
            login_failure(attack, attack),
        ];
        for page in pages {
            let text = String::from_utf8_lossy(page.body()).into_owned();
            assert!(!text.contains("<script>"), "{text}");
            assert!(text.contains("&lt;script&gt;&quot;&#39;&amp;"), "{text}");
            let policy = page.headers()["content-security-policy"].to_str().unwrap();
            assert!(policy.contains("default-src 'none'"), "{policy}");
            assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
            assert!(!policy.contains("script"), "{policy}");
        }
    }
}
