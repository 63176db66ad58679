//! Logins that wait for their users.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::sync::{oneshot, watch};
use toolwire::BoxFuture;
use toolwire_auth::client::{AuthError, CallbackOutcome, CheckCallback, Login, PendingLogin};
use toolwire_auth::proxy::user_page::decode_form;

use crate::connect::stored::{LoginKey, LoginTokens};
use crate::connect::{ADDRESS_TTL, CALLBACK, LoginUpstream, PREFIX, UserLogins};
use crate::sync::lock;

/// The maximum number of logins that wait for their users. A user beyond it has to try again later.
pub(super) const MAX_RUNNING: usize = 1_000;

/// How long a page waits for an authorization server.
pub(super) const PAGE_WAIT: Duration = Duration::from_secs(10);

/// The maximum time of a login: what its user needs, and the requests to the upstream and the authorization server.
const MAX_LOGIN_TIME: Duration = Duration::from_secs(12 * 60);

/// The reason of a login that ended because the same user began another one.
const REPLACED: &str = "the login was replaced by another one";

/// The logins that were started and have not ended.
#[derive(Debug, Default)]
pub(super) struct RunningLogins {
    table: Mutex<RunningTable>,
}

#[derive(Debug, Default)]
struct RunningTable {
    next: u64,
    /// The number of the newest login of each user and upstream. It ends the ones before.
    numbers: HashMap<LoginKey, u64>,
    /// The logins whose users were redirected, by the digests of `state`.
    waiting: HashMap<[u8; 32], WaitingLogin>,
}

/// A login whose user is at the authorization server.
#[derive(Debug)]
struct WaitingLogin {
    key: LoginKey,
    /// The id of the browser in which the login was started.
    browser: String,
    query: oneshot::Sender<String>,
    outcome: watch::Receiver<Option<LoginOutcome>>,
}

/// The outcome of a login: the reason of a failure.
pub(super) type LoginOutcome = Result<(), String>;

/// Why a login did not start.
#[derive(Debug)]
pub(super) enum StartError {
    /// Too many logins wait for their users.
    TooMany,
    /// The authorization server could not be found or used.
    Failed(String),
}

/// A login that a redirect belongs to.
pub(super) struct ReturnedLogin {
    pub(super) key: LoginKey,
    pub(super) outcome: LoginOutcome,
}

impl RunningLogins {
    /// Reserves the login of a user, and ends the one before. Returns its number, or `None` if there are too many.
    pub(super) fn reserve(&self, key: &LoginKey) -> Option<u64> {
        let mut table = lock(&self.table);
        if table.numbers.len() >= MAX_RUNNING && !table.numbers.contains_key(key) {
            return None;
        }
        table.next += 1;
        let number = table.next;
        table.numbers.insert(key.clone(), number);
        table.waiting.retain(|_, waiting| waiting.key != *key);
        Some(number)
    }

    /// Ends a login. Returns `false` if a later one has replaced it.
    fn end(&self, key: &LoginKey, number: u64) -> bool {
        let mut table = lock(&self.table);
        let is_current = table.numbers.get(key) == Some(&number);
        if is_current {
            table.numbers.remove(key);
            table.waiting.retain(|_, waiting| waiting.key != *key);
        }
        is_current
    }

    /// Adds a login whose user is redirected, unless a later one has replaced it.
    fn wait(&self, state: &str, number: u64, waiting: WaitingLogin) -> bool {
        let mut table = lock(&self.table);
        let is_current = table.numbers.get(&waiting.key) == Some(&number);
        if is_current {
            table.waiting.insert(digest(state), waiting);
        }
        is_current
    }

    /// Takes the login of a redirect, if it returns to the redirect URI of its upstream, in the browser in which the login was
    /// started. A `state` works once.
    fn take(&self, upstream: &str, state: &str, browser: &str) -> Option<WaitingLogin> {
        let mut table = lock(&self.table);
        let digest = digest(state);
        let waiting = table.waiting.get(&digest)?;
        // The code may be that of another authorization server (RFC 9700, section 4.4).
        if waiting.key.upstream != upstream {
            tracing::warn!(upstream, "a login returned to another upstream");
            return None;
        }
        if waiting.browser != browser {
            tracing::warn!("a login returned in a browser that did not start it");
            return None;
        }
        table.waiting.remove(&digest)
    }
}

/// Returns the key of a `state`, whose comparison does not reveal it.
fn digest(state: &str) -> [u8; 32] {
    Sha256::digest(state).into()
}

impl UserLogins {
    /// Starts the login of a user in a browser. Returns the URL at the authorization server that the browser is sent to.
    pub(super) async fn start(
        self: &Arc<Self>,
        key: LoginKey,
        upstream: &LoginUpstream,
        browser: &str,
    ) -> Result<String, StartError> {
        let Some(number) = self.running.reserve(&key) else {
            return Err(StartError::TooMany);
        };
        let (url_sender, url) = oneshot::channel();
        let (outcome_sender, outcome) = watch::channel(None);
        let tokens = LoginTokens::new(BTreeMap::new(), self.stored.changed());
        let tokens = Arc::new(tokens);
        let required = self.stored.required_scopes(&key);
        let origin = self.origin.get().map_or("", String::as_str);
        let login = BrowserLogin {
            logins: Arc::clone(self),
            key: key.clone(),
            number,
            browser: browser.to_owned(),
            redirect_uri: format!("{origin}{PREFIX}{CALLBACK}/{}", key.upstream),
            url: Arc::new(Mutex::new(Some(url_sender))),
            outcome: outcome.clone(),
        };
        let oauth = upstream.login(login, required.as_deref());
        let oauth = oauth.with_store(Arc::clone(&tokens));
        let (logins, server) = (Arc::clone(self), upstream.url.clone());
        tokio::spawn(async move {
            // The first request to the upstream has no timeout of its own.
            let logged_in = tokio::time::timeout(MAX_LOGIN_TIME, oauth.log_in(&server)).await;
            let is_current = logins.running.end(&key, number);
            let stored = match logged_in {
                Ok(Ok(_)) if !is_current => Err(REPLACED.to_owned()),
                Ok(Ok(_)) => logins.store(&key, tokens),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("the login took too long".to_owned()),
            };
            match &stored {
                Ok(()) => {
                    tracing::info!(upstream = key.upstream, "a user has logged in");
                    logins.notify(&key.upstream);
                }
                Err(error) => {
                    tracing::warn!(upstream = key.upstream, %error, "a login failed");
                }
            }
            outcome_sender.send_replace(Some(stored));
        });
        match tokio::time::timeout(PAGE_WAIT, url).await {
            Ok(Ok(url)) => Ok(url),
            Ok(Err(_)) => Err(StartError::Failed(reason(outcome).await)),
            Err(_) => Err(StartError::Failed(
                "the authorization server did not respond in time".to_owned(),
            )),
        }
    }

    /// Passes the query of a redirect to the login that it belongs to, and waits for the token. Returns `None` if there is no
    /// such login of this browser.
    pub(super) async fn finish(
        &self,
        upstream: &str,
        query: &str,
        browser: &str,
    ) -> Option<ReturnedLogin> {
        let pairs = decode_form(query)?;
        let mut states = pairs.iter().filter(|(name, _)| name == "state");
        let (_, state) = states.next().filter(|_| states.next().is_none())?;
        let waiting = self.running.take(upstream, state, browser)?;
        let delivered = waiting.query.send(query.to_owned());
        let outcome = match delivered {
            Ok(()) => {
                let mut outcome = waiting.outcome;
                let ended = outcome.wait_for(Option::is_some);
                let ended = tokio::time::timeout(PAGE_WAIT, ended).await;
                let ended = ended.ok().and_then(Result::ok);
                let ended = ended.and_then(|outcome| outcome.clone());
                ended.unwrap_or_else(|| {
                    Err(
                        "the authorization server has not responded yet, so the login may succeed later"
                            .to_owned(),
                    )
                })
            }
            Err(_) => Err("the login has ended".to_owned()),
        };
        Some(ReturnedLogin {
            key: waiting.key,
            outcome,
        })
    }
}

/// Returns the reason of a login that failed before its user was redirected.
async fn reason(mut outcome: watch::Receiver<Option<LoginOutcome>>) -> String {
    let ended = outcome.wait_for(Option::is_some);
    let ended = tokio::time::timeout(PAGE_WAIT, ended).await;
    let ended = ended.ok().and_then(Result::ok);
    let ended = ended.and_then(|outcome| outcome.clone());
    let reason = ended.and_then(Result::err);
    reason.unwrap_or_else(|| REPLACED.to_owned())
}

/// A login in a browser that is at the gateway.
#[derive(Debug, Clone)]
struct BrowserLogin {
    logins: Arc<UserLogins>,
    key: LoginKey,
    number: u64,
    browser: String,
    redirect_uri: String,
    /// Gets the URL that the browser is sent to.
    url: Arc<Mutex<Option<oneshot::Sender<String>>>>,
    outcome: watch::Receiver<Option<LoginOutcome>>,
}

impl Login for BrowserLogin {
    fn begin<'a>(
        &'a self,
        _registered: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async move { Ok(Box::new(self.clone()) as Box<dyn PendingLogin>) })
    }
}

impl PendingLogin for BrowserLogin {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn finish<'a>(
        self: Box<Self>,
        url: &'a str,
        check: CheckCallback<'a>,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            let (sender, query) = oneshot::channel();
            let waiting = WaitingLogin {
                key: self.key.clone(),
                browser: self.browser.clone(),
                query: sender,
                outcome: self.outcome.clone(),
            };
            let replaced = || AuthError::new(REPLACED);
            let state = state_of(url).ok_or_else(replaced)?;
            let running = &self.logins.running;
            if !running.wait(&state, self.number, waiting) {
                return Err(replaced());
            }
            // The browser is sent to one URL. If the client has to register again, the user begins again.
            let browser = lock(&self.url).take();
            let browser = browser.ok_or_else(|| {
                AuthError::new("the authorization server did not know the gateway any more")
            })?;
            browser.send(url.to_owned()).map_err(|_| replaced())?;
            let query = tokio::time::timeout(ADDRESS_TTL, query).await;
            let query = query.map_err(|_| AuthError::new("the login has expired"))?;
            let query = query.map_err(|_| replaced())?;
            match check(&query) {
                CallbackOutcome::Unrelated => Err(AuthError::new("the redirect is not valid")),
                CallbackOutcome::Success | CallbackOutcome::Failure => Ok(query),
            }
        })
    }
}

/// Returns the `state` of an authorization request.
fn state_of(url: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = decode_form(query)?.into_iter();
    let state = pairs.find(|(name, _)| name == "state");
    state.map(|(_, state)| state)
}

#[cfg(test)]
mod tests {
    use toolwire::{Principal, TokenInfo};

    use super::*;
    use crate::config::GatewayConfig;

    fn key(name: usize) -> LoginKey {
        let token = TokenInfo::verified().with_subject(name.to_string());
        LoginKey {
            caller: Principal::of(&token),
            upstream: "a".to_owned(),
            url: "https://a.example/mcp".to_owned(),
        }
    }

    fn waiting(name: usize) -> WaitingLogin {
        WaitingLogin {
            key: key(name),
            browser: "browser".to_owned(),
            query: oneshot::channel().0,
            outcome: watch::channel(None).1,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn login_at_an_upstream_that_does_not_respond_ends() {
        // Connections are accepted by the system, and get no response.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", silent.local_addr().unwrap());
        let text = format!(
            "public_url = \"https://tools.example.com\"\n[auth]\nbearer_file = \"tokens\"\n\
             [upstream.a]\nurl = {url:?}\ncredentials = {{ login = {{}} }}\n"
        );
        let config = GatewayConfig::parse("gateway.toml", &text, &|_| None);
        let logins = UserLogins::new().unwrap();
        logins.configure(&config.unwrap_or_else(|error| panic!("{error}")));
        let logins = Arc::new(logins);
        let upstream = logins.upstream("a").unwrap();
        let key = LoginKey { url, ..key(1) };
        let started = logins.start(key, &upstream, "browser").await;
        assert!(matches!(started, Err(StartError::Failed(_))), "{started:?}");
        tokio::time::sleep(MAX_LOGIN_TIME).await;
        assert!(lock(&logins.running.table).numbers.is_empty());
        drop(silent);
    }

    #[test]
    fn number_of_waiting_logins_has_a_limit() {
        let running = RunningLogins::default();
        let numbers: Vec<u64> = (0..MAX_RUNNING)
            .map(|name| running.reserve(&key(name)).expect("there is room"))
            .collect();
        assert_eq!(running.reserve(&key(MAX_RUNNING)), None);
        // A user replaces the login that waits.
        let second = running.reserve(&key(0)).expect("it replaces the first");
        assert!(!running.end(&key(0), numbers[0]));
        assert_eq!(running.reserve(&key(MAX_RUNNING)), None);
        assert!(running.end(&key(0), second));
        assert!(running.reserve(&key(MAX_RUNNING)).is_some());
    }

    #[test]
    fn state_works_once_in_its_browser_and_for_the_newest_login_only() {
        let running = RunningLogins::default();
        let first = running.reserve(&key(1)).unwrap();
        assert!(running.wait("first", first, waiting(1)));
        let second = running.reserve(&key(1)).unwrap();
        assert!(running.take("a", "first", "browser").is_none());
        assert!(!running.wait("late", first, waiting(1)));
        assert!(running.wait("second", second, waiting(1)));
        assert!(running.take("a", "second", "another browser").is_none());
        assert!(running.take("a", "other", "browser").is_none());
        assert!(running.take("b", "second", "browser").is_none());
        assert!(running.take("a", "second", "browser").is_some());
        assert!(running.take("a", "second", "browser").is_none());
    }
}
