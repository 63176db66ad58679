//! Logins of users at upstreams: `credentials = { login = { … } }`.
//!
//! ```text
//!  MCP client              browser                          gateway                       authorization server
//!   tools/call ----------------------------------------------> no login: a sealed address
//!   <-- input request with the address
//!                     GET /connect/NAME?link=… --------------> consent page (sealed form, cookie)
//!                     POST /connect/NAME/log-in -------------> uses up the address, starts the login
//!                     <-- 303 ---------------------------------------------------------> login
//!                     GET /connect/callback/NAME?state=… ----> checks the browser, redeems the code
//!   <-- result of the call, which waited --------------------- token of this user for this upstream
//! ```
//!
//! An address belongs to one caller and one upstream, expires after 10 min and works once. A login ends in the browser in
//! which it began, at the redirect URI of its upstream, so that no authorization server can redirect the response of another
//! one to it. A browser in which one user has logged in accepts no addresses of other users.

mod credentials;
mod offer;
mod pages;
mod running;
mod seal;
mod stored;
#[cfg(test)]
mod tests;
mod used_addresses;
mod vault;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire::{Principal, ScopeSet};
use toolwire_auth::client::{Login, MemoryTokenStore, OAuthConfig, RegisteredClient};
use toolwire_proto::web_url::WebUrl;

use self::running::RunningLogins;
use self::seal::{Seals, now, random_id};
use self::stored::{LoginKey, LoginTokens, StoredLogins};
use self::used_addresses::UsedAddresses;
use self::vault::Vault;
use crate::config::{
    AuthConfig, GatewayConfig, LoginsConfig, UpstreamConfig, UpstreamCredentials, UpstreamTransport,
};
use crate::sync::lock;

pub(crate) use self::offer::UpstreamLogin;

/// How long an address works, and how long a login may take.
const ADDRESS_TTL: Duration = Duration::from_secs(10 * 60);

/// The first part of the paths of logins.
const PREFIX: &str = "/connect/";

/// The first part of the paths of redirect URIs, after [`PREFIX`]. No upstream with logins can have this name.
const CALLBACK: &str = "callback";

/// The name of the sealed part of an address in its query.
const ADDRESS: &str = "link";

/// The logins of users of a gateway.
pub(crate) struct UserLogins {
    seals: Seals,
    /// Where browsers reach the gateway, for example `https://tools.example.com`.
    origin: OnceLock<String>,
    upstreams: Mutex<BTreeMap<String, Arc<LoginUpstream>>>,
    /// The registrations of the gateway for upstreams, by what their addresses are bound to. Each upstream has a redirect URI
    /// of its own.
    registrations: Mutex<BTreeMap<String, Arc<MemoryTokenStore>>>,
    stored: StoredLogins,
    used_addresses: Mutex<UsedAddresses>,
    running: RunningLogins,
    listener: OnceLock<Box<LoginListener>>,
    /// The file with the logins.
    vault: OnceLock<Arc<Vault>>,
    /// The seals of cookies, if they stay valid after a restart.
    cookie_seals: OnceLock<Seals>,
    /// Held while the file is written.
    writing: Arc<tokio::sync::Mutex<()>>,
}

/// Gets the name of an upstream at which a user has logged in.
type LoginListener = dyn Fn(&str) + Send + Sync;

/// An upstream at which users log in.
#[derive(Debug)]
struct LoginUpstream {
    name: String,
    url: String,
    client: Option<RegisteredClient>,
    scopes: Option<String>,
    /// The registration of the gateway, which all users share.
    registrations: Arc<MemoryTokenStore>,
}

/// The content of an address.
#[derive(Debug, Serialize, Deserialize)]
struct LoginAddress {
    /// The text of the principal that the address is for.
    caller: String,
    id: String,
    /// The seconds since the Unix epoch at which the address expires.
    expires: u64,
    /// Whether its page offers to log out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    logs_out: bool,
}

impl LoginUpstream {
    /// Returns the upstream of a configuration, if its users log in.
    fn of(config: &UpstreamConfig) -> Option<Self> {
        let UpstreamTransport::Http(http) = &config.transport else {
            return None;
        };
        let Some(UpstreamCredentials::UserLogin { client, scopes }) = &http.credentials else {
            return None;
        };
        let client = client.as_ref().map(|client| {
            let registered = RegisteredClient::new(&client.id).with_issuer(&client.issuer);
            match &client.secret {
                Some(secret) => registered.with_secret(secret.clone()),
                None => registered,
            }
        });
        Some(Self {
            name: config.name.clone(),
            url: http.url.clone(),
            client,
            scopes: scopes.clone(),
            registrations: Arc::default(),
        })
    }

    /// Returns the key of the login of a caller.
    fn key(&self, caller: &Principal) -> LoginKey {
        LoginKey {
            caller: caller.clone(),
            upstream: self.name.clone(),
            url: self.url.clone(),
        }
    }

    /// Returns what addresses are bound to.
    fn binding(&self) -> String {
        format!("{} {}", self.name, self.url)
    }

    /// Returns how the gateway gets tokens in a login. `required` are the scopes that the upstream has required.
    fn login(&self, login: impl Login + 'static, required: Option<&str>) -> OAuthConfig {
        let oauth = OAuthConfig::login("toolwire gateway", login);
        let parse = |scopes: &str| ScopeSet::parse(scopes).ok();
        // Those of the configuration were checked when it was read, and the others when they were stored.
        let configured = self.scopes.as_deref().and_then(parse);
        let scopes = match (configured, required.and_then(parse)) {
            (Some(configured), Some(required)) => Some(configured.union(&required)),
            (configured, required) => configured.or(required),
        };
        let with_scopes = scopes.and_then(|scopes| {
            let added = oauth.clone().with_scopes(&scopes.to_string());
            // Together they may be more than a set has.
            let configured = || oauth.clone().with_scopes(self.scopes.as_deref()?).ok();
            added.ok().or_else(configured)
        });
        self.with_client(with_scopes.unwrap_or(oauth))
    }

    /// Adds the registration of the gateway.
    fn with_client(&self, oauth: OAuthConfig) -> OAuthConfig {
        let oauth = oauth.with_registration_store(Arc::clone(&self.registrations));
        match &self.client {
            Some(client) => oauth.with_client(client.clone()),
            None => oauth,
        }
    }
}

impl UserLogins {
    /// Creates the logins of a gateway that has none yet.
    ///
    /// # Errors
    /// Returns an error if the system has no random bytes.
    pub(crate) fn new() -> Result<Self, String> {
        Ok(Self {
            seals: Seals::new()?,
            origin: OnceLock::new(),
            upstreams: Mutex::default(),
            registrations: Mutex::default(),
            stored: StoredLogins::default(),
            used_addresses: Mutex::default(),
            running: RunningLogins::default(),
            listener: OnceLock::new(),
            vault: OnceLock::new(),
            cookie_seals: OnceLock::new(),
            writing: Arc::default(),
        })
    }

    /// Sets the function that is called after a user has logged in.
    pub(crate) fn on_login(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// Reads the logins of a file, and writes them after each change. Requires a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub(crate) fn open_vault(self: &Arc<Self>, config: &LoginsConfig) -> Result<(), String> {
        let vault = Arc::new(Vault::open(config, &self.stored)?);
        // Otherwise, a browser would accept the addresses of all users after each restart.
        let _ = self.cookie_seals.set(Seals::from_hex(config.key.expose())?);
        if self.vault.set(Arc::clone(&vault)).is_ok() {
            tokio::spawn(Self::write_changes(Arc::downgrade(self), vault));
        }
        Ok(())
    }

    /// Takes the upstreams of a configuration. The logins at others are removed. The address of the gateway is that of the
    /// first configuration.
    pub(crate) fn configure(&self, config: &GatewayConfig) {
        if let Some(origin) = origin_of(config) {
            let _ = self.origin.set(origin);
        }
        let configured = config.upstreams.iter();
        let configured = configured.filter_map(|config| self.upstream_of(config));
        let next: BTreeMap<_, _> = configured
            .map(|upstream| (upstream.name.clone(), upstream))
            .collect();
        let is_used = |binding: &String| next.values().any(|own| own.binding() == *binding);
        lock(&self.registrations).retain(|binding, _| is_used(binding));
        // Before the logins are removed, so that none is added meanwhile.
        *lock(&self.upstreams) = next.clone();
        self.stored.retain(|key| {
            let configured = next.get(&key.upstream);
            configured.is_some_and(|configured| configured.url == key.url)
        });
    }

    /// Returns the upstream of a configuration, if its users log in. The gateway stays registered at the authorization
    /// server of the same URL.
    fn upstream_of(&self, config: &UpstreamConfig) -> Option<Arc<LoginUpstream>> {
        let mut upstream = LoginUpstream::of(config)?;
        let mut registrations = lock(&self.registrations);
        let registered = registrations.entry(upstream.binding()).or_default();
        upstream.registrations = Arc::clone(registered);
        Some(Arc::new(upstream))
    }

    /// Returns the upstream of this name, if users log in there.
    fn upstream(&self, name: &str) -> Option<Arc<LoginUpstream>> {
        lock(&self.upstreams).get(name).cloned()
    }

    /// Stores a login, if users still log in to its upstream. A configuration may be taken during a login.
    ///
    /// # Errors
    /// Returns an error if they do not, or if there are too many logins.
    fn store(&self, key: &LoginKey, tokens: Arc<LoginTokens>) -> Result<(), String> {
        // A configuration that is taken now removes the login afterwards.
        let upstreams = lock(&self.upstreams);
        let upstream = upstreams.get(&key.upstream);
        if upstream.is_none_or(|upstream| upstream.url != key.url) {
            return Err("users do not log in to this server any more".to_owned());
        }
        self.stored.insert(key.clone(), tokens)
    }

    /// Returns `true` if a caller has a login at an upstream.
    fn has_login(&self, caller: &Principal, upstream: &LoginUpstream) -> bool {
        self.stored.contains(&upstream.key(caller))
    }

    /// Returns the address at which a caller logs in to an upstream.
    fn address(&self, caller: &Principal, upstream: &LoginUpstream) -> String {
        self.address_at(caller, upstream, now(), false)
    }

    /// Returns the address at which a caller logs out of an upstream.
    fn log_out_address(&self, caller: &Principal, upstream: &LoginUpstream) -> String {
        self.address_at(caller, upstream, now(), true)
    }

    /// Returns an address that was created at a time since the Unix epoch. A caller without a name gets an address that is
    /// not valid, because all such callers would share a login.
    fn address_at(
        &self,
        caller: &Principal,
        upstream: &LoginUpstream,
        now: Duration,
        logs_out: bool,
    ) -> String {
        let origin = self.origin.get().map_or("", String::as_str);
        let page = format!("{origin}{PREFIX}{}", upstream.name);
        let sealed = user_of(caller).and_then(|_| {
            let address = LoginAddress {
                caller: caller.as_str()?.to_owned(),
                id: random_id().ok()?,
                expires: (now + ADDRESS_TTL).as_secs(),
                logs_out,
            };
            let binding = upstream.binding();
            let sealed = self
                .seals
                .seal(ADDRESS, &binding, &address, (now, ADDRESS_TTL));
            sealed.ok()
        });
        match sealed {
            Some(sealed) => format!("{page}?{ADDRESS}={sealed}"),
            None => page,
        }
    }

    /// Tells the gateway that a user has logged in to an upstream.
    fn notify(&self, upstream: &str) {
        if let Some(listener) = self.listener.get() {
            listener(upstream);
        }
    }
}

impl fmt::Debug for UserLogins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserLogins").finish_non_exhaustive()
    }
}

/// Returns the name of the user or client that a principal stands for. `None` if its token has neither.
fn user_of(caller: &Principal) -> Option<String> {
    let parts: (Option<String>, String, String) = serde_json::from_str(caller.as_str()?).ok()?;
    Some(parts.2).filter(|name| !name.is_empty())
}

/// Returns the scheme and the host of the public URL of a gateway: `public_url`, or the one that tokens name. `None` if
/// others could read what browsers send there.
fn origin_of(config: &GatewayConfig) -> Option<String> {
    let audience = config.auth.as_ref().and_then(AuthConfig::audience);
    let url = WebUrl::parse(config.public_url.as_deref().or(audience)?).ok()?;
    url.is_confidential().then(|| url.written_origin())
}

/// Returns `true` if users log in to an upstream.
pub(crate) fn has_user_login(config: &UpstreamConfig) -> bool {
    LoginUpstream::of(config).is_some()
}

/// Checks that users can log in to the upstreams that need it. `start` is the configuration of the front.
///
/// # Errors
/// Returns an error that names the upstream.
pub(crate) fn check_user_logins(
    config: &GatewayConfig,
    start: &GatewayConfig,
) -> Result<(), String> {
    for upstream in config.upstreams.iter().filter(|own| has_user_login(own)) {
        let problem = if start.auth.is_none() {
            "`login` needs [auth], because each user of the gateway has a login; start the gateway with [auth], or use other \
             `credentials`"
        } else if origin_of(start).is_none() {
            "`login` needs the address at which browsers reach the gateway; start the gateway with public_url = \"https://…\""
        } else if upstream.is_required {
            "`login` cannot be `required`, because no user has logged in at the start; remove `required`"
        } else if upstream.pin.is_some() {
            "`login` cannot have `pin`, because `toolwire pins` has no login to read the entries; remove `pin`"
        } else if upstream.name == CALLBACK {
            "`login` cannot have the name `callback`, which is that of a page; use another name"
        } else {
            continue;
        };
        return Err(format!("upstream `{}`: {problem}", upstream.name));
    }
    Ok(())
}
