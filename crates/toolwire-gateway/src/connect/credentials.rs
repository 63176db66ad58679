//! The tokens of users in requests to an upstream.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use toolwire::relay::{Credential, Credentials, LoginRequired};
use toolwire::transport::http_client::{
    ClientBody, HttpClient, HttpError, HttpLayer, HttpPhase, UserInteraction,
};
use toolwire::{BoxFuture, Principal};
use toolwire_auth::client::{AuthError, OAuthConfig, OAuthHttpClient};
use toolwire_proto::header_value::SESSION_ID;

use crate::connect::stored::{LoginKey, StoredLogin};
use crate::connect::{LoginUpstream, UserLogins, user_of};
use crate::sync::lock;

/// Lets the callers of an upstream log in. The tokens are added by a [`UserLayer`].
#[derive(Debug)]
pub(crate) struct UserCredentials {
    logins: Arc<UserLogins>,
    upstream: Arc<LoginUpstream>,
}

impl UserCredentials {
    pub(crate) fn new(logins: Arc<UserLogins>, upstream: Arc<LoginUpstream>) -> Self {
        Self { logins, upstream }
    }
}

impl Credentials for UserCredentials {
    fn present<'a>(
        &'a self,
        caller: &'a Principal,
        _upstream: &'a str,
    ) -> BoxFuture<'a, Result<Credential, LoginRequired>> {
        // The anonymous caller is the gateway, which reads the lists.
        let is_gateway = *caller == Principal::anonymous();
        let presented = if is_gateway || self.logins.has_login(caller, &self.upstream) {
            Ok(Credential::none())
        } else {
            let message = if user_of(caller).is_some() {
                "Log in to use this server. Open only an address of a request that you have made yourself."
            } else {
                "Your access token names no user, so you cannot log in to this server."
            };
            let address = self.logins.address(caller, &self.upstream);
            Err(LoginRequired::new(address).with_message(message))
        };
        Box::pin(std::future::ready(presented))
    }

    fn after_failure<'a>(
        &'a self,
        caller: &'a Principal,
        upstream: &'a str,
    ) -> BoxFuture<'a, Result<(), LoginRequired>> {
        Box::pin(async move {
            self.present(caller, upstream).await?;
            if !self.logins.stored.lacks_scopes(&self.upstream.key(caller)) {
                return Ok(());
            }
            let message = "Your login at this server lacks rights that the request needs. Log in again to add them. \
                           Open only an address of a request that you have made yourself.";
            let address = self.logins.address(caller, &self.upstream);
            Err(LoginRequired::new(address).with_message(message))
        })
    }

    fn logged_in<'a>(&'a self, caller: &'a Principal, _upstream: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // A caller without a name cannot log in.
            if user_of(caller).is_some() {
                let key = self.upstream.key(caller);
                self.logins.stored.wait_for(&key).await;
            }
        })
    }
}

/// Adds the token of a caller to the requests of its connections. A token that the upstream rejects is refreshed. Otherwise,
/// the login is removed, or its user is asked for further rights.
#[derive(Debug, Clone)]
pub(crate) struct UserLayer {
    logins: Arc<UserLogins>,
    upstream: Arc<LoginUpstream>,
    caller: Principal,
}

impl UserLayer {
    pub(crate) fn new(
        logins: Arc<UserLogins>,
        upstream: Arc<LoginUpstream>,
        caller: &Principal,
    ) -> Self {
        Self {
            logins,
            upstream,
            caller: caller.clone(),
        }
    }
}

impl HttpLayer for UserLayer {
    fn layer(
        &self,
        inner: Arc<dyn HttpClient>,
        endpoint: &Uri,
        _user: &UserInteraction,
    ) -> Arc<dyn HttpClient> {
        Arc::new(UserHttpClient {
            inner,
            endpoint: endpoint.clone(),
            layer: self.clone(),
            used: Mutex::default(),
            active: Mutex::default(),
        })
    }
}

/// The HTTP client of one connection.
struct UserHttpClient {
    inner: Arc<dyn HttpClient>,
    endpoint: Uri,
    layer: UserLayer,
    /// The login of the last request and its number. Another login, also of the same user, has another session.
    used: Mutex<Option<(LoginKey, u64)>>,
    /// The client that has the tokens of a login.
    active: Mutex<Option<ActiveLogin>>,
}

struct ActiveLogin {
    number: u64,
    client: Arc<OAuthHttpClient<Arc<dyn HttpClient>>>,
}

impl UserHttpClient {
    /// Returns `true` if the connection is that of the gateway, which reads the lists.
    fn is_gateway(&self) -> bool {
        self.layer.caller == Principal::anonymous()
    }

    /// Returns the login that a request uses.
    ///
    /// # Errors
    /// Returns an error if no login can be used, or if the session of the request is that of another login.
    fn login(&self, request: &Request<Bytes>) -> Result<(LoginKey, StoredLogin), NoLogin> {
        let UserLayer {
            logins,
            upstream,
            caller,
        } = &self.layer;
        let mut used = lock(&self.used);
        let current = used.as_ref().and_then(|(key, number)| {
            let login = logins.stored.get(key);
            let login = login.filter(|login| login.number == *number);
            login.map(|login| (key.clone(), login))
        });
        if is_in_session(request) {
            return current.ok_or(NoLogin::OtherSession);
        }
        let key = match current {
            Some(current) if self.is_gateway() => return Ok(current),
            _ if self.is_gateway() => {
                let reader = logins.stored.reader(&upstream.name, &upstream.url);
                reader.ok_or(NoLogin::NotLoggedIn)?
            }
            _ => upstream.key(caller),
        };
        let login = logins.stored.get(&key).ok_or(NoLogin::NotLoggedIn)?;
        *used = Some((key.clone(), login.number));
        Ok((key, login))
    }

    /// Takes the rejection of a login by the upstream. `scopes` are those that it lacks.
    fn take_rejection(&self, key: &LoginKey, login: &StoredLogin, scopes: Option<&str>) {
        let stored = &self.layer.logins.stored;
        // The lists may need other rights than the requests of this user. Another user reads them next.
        if self.is_gateway() {
            stored.reject_read(key, login.number);
            let mut used = lock(&self.used);
            if (used.as_ref()).is_some_and(|(_, number)| *number == login.number) {
                *used = None;
            }
            return;
        }
        match scopes {
            Some(scopes) => {
                if !stored.require_scopes(key, login.number, scopes) {
                    tracing::warn!(upstream = key.upstream, "required scopes are not stored");
                }
            }
            None => {
                if stored.remove(key, login.number) {
                    tracing::info!(upstream = key.upstream, "a login is not valid any more");
                }
            }
        }
    }

    /// Returns the client with the tokens of a login. A later login has another one.
    fn client_of(&self, login: &StoredLogin) -> Arc<OAuthHttpClient<Arc<dyn HttpClient>>> {
        let mut active = lock(&self.active);
        if let Some(active) = &*active
            && active.number == login.number
        {
            return Arc::clone(&active.client);
        }
        let oauth = OAuthConfig::from_store(Arc::clone(&login.tokens));
        let oauth = self.layer.upstream.with_client(oauth);
        let client = OAuthHttpClient::new(Arc::clone(&self.inner), oauth, &self.endpoint);
        let client = Arc::new(client);
        *active = Some(ActiveLogin {
            number: login.number,
            client: Arc::clone(&client),
        });
        client
    }
}

impl HttpClient for UserHttpClient {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            let (key, login) = match self.login(&request) {
                Ok(found) => found,
                // The next session is opened with another login.
                Err(NoLogin::OtherSession) => {
                    let mut lost = Response::new(ClientBody::full(Bytes::new()));
                    *lost.status_mut() = StatusCode::NOT_FOUND;
                    return Ok(lost);
                }
                Err(NoLogin::NotLoggedIn) => {
                    let message = "no user has logged in to the upstream";
                    return Err(HttpError::new(HttpPhase::Authorize, message));
                }
            };
            let outcome = self.client_of(&login).send(request).await;
            let rejection = match &outcome {
                Ok(response) => {
                    (response.status() == StatusCode::UNAUTHORIZED).then_some(None::<String>)
                }
                Err(error) => {
                    let error = auth_error(error).filter(|error| error.needs_login());
                    error.map(|error| error.required_scopes().map(str::to_owned))
                }
            };
            if let Some(scopes) = rejection {
                self.take_rejection(&key, &login, scopes.as_deref());
            }
            outcome
        })
    }
}

/// Why a request has no login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoLogin {
    /// The session is that of a login that has ended.
    OtherSession,
    /// The user has not logged in. Of the gateway: no user has.
    NotLoggedIn,
}

/// Returns `true` if a request belongs to a session of a legacy server.
fn is_in_session(request: &Request<Bytes>) -> bool {
    request.headers().contains_key(SESSION_ID)
}

/// Returns the reason why there is no token.
fn auth_error(error: &HttpError) -> Option<&AuthError> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

impl fmt::Debug for UserHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserHttpClient").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use toolwire::TokenInfo;

    use super::*;
    use crate::config::GatewayConfig;

    /// An HTTP client that reaches no server.
    #[derive(Debug)]
    struct NoServer;

    impl HttpClient for NoServer {
        fn send(
            &self,
            _request: Request<Bytes>,
        ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
            let error = HttpError::new(HttpPhase::Prepare, "there is no server");
            Box::pin(std::future::ready(Err(error)))
        }
    }

    const URL: &str = "https://files.example.com/mcp";

    fn logins() -> (Arc<UserLogins>, Arc<LoginUpstream>) {
        let text = format!(
            "public_url = \"https://tools.example.com\"\n[auth]\nbearer_file = \"tokens\"\n\
             [upstream.files]\nurl = {URL:?}\ncredentials = {{ login = {{}} }}\n"
        );
        let config = GatewayConfig::parse("gateway.toml", &text, &|_| None);
        let logins = Arc::new(UserLogins::new().unwrap());
        logins.configure(&config.unwrap_or_else(|error| panic!("{error}")));
        let upstream = logins.upstream("files").unwrap();
        (logins, upstream)
    }

    fn user(name: &str) -> Principal {
        Principal::of(&TokenInfo::verified().with_subject(name))
    }

    fn client(
        logins: &Arc<UserLogins>,
        upstream: &Arc<LoginUpstream>,
        caller: &Principal,
        inner: impl HttpClient,
    ) -> UserHttpClient {
        UserHttpClient {
            inner: Arc::new(inner),
            endpoint: Uri::from_static(URL),
            layer: UserLayer::new(Arc::clone(logins), Arc::clone(upstream), caller),
            used: Mutex::default(),
            active: Mutex::default(),
        }
    }

    fn request() -> Request<Bytes> {
        Request::post(URL).body(Bytes::new()).unwrap()
    }

    fn in_session() -> Request<Bytes> {
        let request = Request::post(URL).header(SESSION_ID, "a");
        request.body(Bytes::new()).unwrap()
    }

    #[tokio::test]
    async fn another_user_reads_the_lists_after_the_first_one_has_logged_out() {
        let (logins, upstream) = logins();
        let key = |name: &str| upstream.key(&user(name));
        for name in ["zoe", "ann"] {
            logins.stored.insert(key(name), Arc::default()).unwrap();
        }
        let client = client(&logins, &upstream, &Principal::anonymous(), NoServer);
        let reader = |request| client.login(&request).map(|(key, _)| key);
        assert_eq!(reader(request()), Ok(key("zoe")));
        assert_eq!(reader(in_session()), Ok(key("zoe")));
        let number = logins.stored.get(&key("zoe")).unwrap().number;
        assert!(logins.stored.remove(&key("zoe"), number));
        // A session of one user is not used with the login of another one.
        assert_eq!(reader(in_session()), Err(NoLogin::OtherSession));
        let lost = client.send(in_session()).await.unwrap();
        assert_eq!(lost.status(), StatusCode::NOT_FOUND);
        assert_eq!(reader(request()), Ok(key("ann")));
        assert_eq!(reader(in_session()), Ok(key("ann")));
    }

    #[test]
    fn session_of_one_login_is_not_used_with_the_next_one_of_the_same_user() {
        let (logins, upstream) = logins();
        let (ann, key) = (user("ann"), upstream.key(&user("ann")));
        let client = client(&logins, &upstream, &ann, NoServer);
        let login = |request| client.login(&request).map(|(_, login)| login.number);
        assert_eq!(login(request()), Err(NoLogin::NotLoggedIn));
        for number in 1..=2 {
            logins.stored.insert(key.clone(), Arc::default()).unwrap();
            assert_eq!(login(in_session()), Err(NoLogin::OtherSession));
            assert_eq!(login(request()), Ok(number));
            assert_eq!(login(in_session()), Ok(number));
        }
    }

    #[test]
    fn rejected_lists_log_no_user_out() {
        let (logins, upstream) = logins();
        let key = |name: &str| upstream.key(&user(name));
        for name in ["zoe", "ann"] {
            logins.stored.insert(key(name), Arc::default()).unwrap();
        }
        let reading = client(&logins, &upstream, &Principal::anonymous(), NoServer);
        for reader in ["zoe", "ann", "zoe"] {
            let found = reading.login(&request()).map(|(key, _)| key);
            assert_eq!(found, Ok(key(reader)));
            let login = logins.stored.get(&key(reader)).unwrap();
            reading.take_rejection(&key(reader), &login, None);
        }
        assert!(
            ["zoe", "ann"]
                .iter()
                .all(|name| logins.stored.contains(&key(name)))
        );
        // The rejection of a request of the user itself ends its login.
        let own = client(&logins, &upstream, &user("ann"), NoServer);
        let login = logins.stored.get(&key("ann")).unwrap();
        own.take_rejection(&key("ann"), &login, None);
        assert!(!logins.stored.contains(&key("ann")) && logins.stored.contains(&key("zoe")));
    }
}
