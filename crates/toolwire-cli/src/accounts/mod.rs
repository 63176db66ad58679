//! Creates, shows and deletes logins. The other commands use them for servers that require one.

pub(crate) mod arguments;
mod browser;
mod show;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolwire_auth::client::{
    Account, AuthError, FileTokenStore, OAuthConfig, RegisteredClient, TokenStore, TokenStoreError,
};

use self::arguments::{LogIn, WhoAmI};
use crate::certificates;
use crate::connection_arguments::{Lookup, TlsOptions};
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::target::{self, Target};

/// The client name that authorization servers show to users.
const NAME: &str = "toolwire";

/// The environment variable that selects the token store: `file` or `keyring`.
const STORE: &str = "TOOLWIRE_TOKEN_STORE";

/// Logs in, even if there is a login already.
pub(crate) async fn log_in(arguments: &LogIn, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let url = address(&arguments.server, &arguments.lookup, screen).await?;
    let mut login = browser::login(screen, true);
    if let Some(port) = arguments.port {
        login = login.with_port(port);
    }
    if arguments.no_browser {
        login = login.without_browser();
    }
    let mut oauth = OAuthConfig::login(NAME, login).with_store(store()?);
    if let Some(client) = client(arguments)? {
        oauth = oauth.with_client(client);
    }
    if let Some(http) = certificates::http_client(&arguments.tls, screen)? {
        oauth = oauth.with_http_client(http);
    }
    if !arguments.scopes.is_empty() {
        let scopes = arguments.scopes.join(" ");
        oauth = oauth
            .with_scopes(&scopes)
            .map_err(|error| Failure::usage(format!("--scope: {error}")))?;
    }
    let account = oauth.log_in(&url).await.map_err(|error| failed(&error))?;
    if screen.json {
        screen.print_json(&show::json(&account))?;
    } else {
        screen.print(&show::details(&account, screen.style))?;
    }
    Ok(Exit::Success)
}

/// Deletes one login or all logins.
pub(crate) async fn log_out(
    arguments: &arguments::LogOut,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let oauth = OAuthConfig::from_store(store()?);
    let urls = match &arguments.server {
        Some(server) => vec![address(server, &arguments.lookup, screen).await?],
        None => {
            let accounts = oauth.accounts().await.map_err(|error| failed(&error))?;
            let resources = accounts.iter().map(Account::resource);
            resources.map(str::to_owned).collect()
        }
    };
    let mut logouts = Vec::new();
    for url in urls {
        let outcome = oauth.log_out(&url).await.map_err(|error| failed(&error))?;
        logouts.push((url, outcome));
    }
    if screen.json {
        screen.print_json(&show::logouts_json(&logouts))?;
    } else {
        screen.print(&show::logouts(&logouts))?;
    }
    Ok(Exit::Success)
}

/// Shows one login or all logins, without a request to any server.
pub(crate) async fn who_am_i(arguments: &WhoAmI, screen: &Screen) -> Result<Exit, Failure> {
    let oauth = OAuthConfig::from_store(store()?);
    let Some(server) = &arguments.server else {
        let accounts = oauth.accounts().await.map_err(|error| failed(&error))?;
        if screen.json {
            screen.print_json(&accounts.iter().map(show::json).collect::<Vec<_>>())?;
        } else {
            screen.print(&show::list(&accounts, screen.style))?;
        }
        return Ok(Exit::Success);
    };
    let url = address(server, &arguments.lookup, screen).await?;
    let account = oauth.account(&url).await.map_err(|error| failed(&error))?;
    let account = account.ok_or_else(|| {
        Failure::new(Exit::Unauthorized, format!("there is no login for {url}"))
            .with_advice(format!("log in with: toolwire login {url}"))
    })?;
    if screen.json {
        screen.print_json(&show::json(&account))?;
    } else {
        screen.print(&show::details(&account, screen.style))?;
    }
    Ok(Exit::Success)
}

/// Returns the login for a server as JSON, without its tokens, or `None` if there is no login.
pub(crate) async fn account(url: &str) -> Result<Option<Value>, Failure> {
    let Some(oauth) = stored()? else {
        return Ok(None);
    };
    let account = oauth.account(url).await.map_err(|error| failed(&error))?;
    Ok(account.as_ref().map(show::json))
}

/// Logs in to a server with the browser, even if there is a login already.
pub(crate) async fn log_in_to(
    url: &str,
    tls: &TlsOptions,
    screen: &Arc<Screen>,
) -> Result<(), Failure> {
    let mut oauth = with_login(screen, false)?;
    if let Some(http) = certificates::http_client(tls, screen)? {
        oauth = oauth.with_http_client(http);
    }
    oauth.log_in(url).await.map_err(|error| failed(&error))?;
    Ok(())
}

/// Deletes the login for a server.
pub(crate) async fn log_out_of(url: &str) -> Result<(), Failure> {
    let oauth = OAuthConfig::from_store(store()?);
    oauth.log_out(url).await.map_err(|error| failed(&error))?;
    Ok(())
}

/// Returns a configuration that logs in if the server requires it. With `may_paste`, the user may paste an address.
pub(crate) fn with_login(screen: &Arc<Screen>, may_paste: bool) -> Result<OAuthConfig, Failure> {
    let login = browser::login(screen, may_paste);
    Ok(OAuthConfig::login(NAME, login).with_store(store()?))
}

/// Returns the stored logins. With them, a command never opens a browser.
pub(crate) fn stored() -> Result<Option<OAuthConfig>, Failure> {
    // Without a directory for logins there are no logins. That is not an error, because the server may not require one.
    let store = match std::env::var_os(STORE) {
        None => FileTokenStore::in_home()
            .ok()
            .map(|store| Arc::new(store) as Arc<dyn TokenStore>),
        Some(_) => Some(store()?),
    };
    Ok(store.map(OAuthConfig::from_store))
}

fn store() -> Result<Arc<dyn TokenStore>, Failure> {
    let store_failure = |error: TokenStoreError| Failure::usage(error.to_string());
    let kind = std::env::var(STORE).unwrap_or_default();
    match kind.as_str() {
        "" | "file" => Ok(Arc::new(FileTokenStore::in_home().map_err(store_failure)?)),
        #[cfg(feature = "keyring")]
        "keyring" => {
            let keyring = toolwire_auth::client::KeyringTokenStore::new(NAME);
            Ok(Arc::new(keyring.map_err(store_failure)?))
        }
        #[cfg(not(feature = "keyring"))]
        "keyring" => Err(
            Failure::usage(format!("{STORE}=keyring: toolwire was built without it"))
                .with_advice("cargo install toolwire-cli --features keyring"),
        ),
        _ => Err(
            Failure::usage(format!("{STORE}={kind}: this store does not exist"))
                .with_advice("use file or keyring"),
        ),
    }
}

async fn address(server: &str, lookup: &Lookup, screen: &Screen) -> Result<String, Failure> {
    match target::named(server, &[], lookup, screen).await? {
        Target::Http(endpoint) => Ok(endpoint.url),
        Target::Child(_) => Err(Failure::usage(format!(
            "`{server}` is a command; only a server with an address has logins"
        ))
        .with_advice("pass secrets to a command with --env VARIABLE")),
    }
}

/// Returns the manually registered client, if one is given.
fn client(arguments: &LogIn) -> Result<Option<RegisteredClient>, Failure> {
    let Some(id) = &arguments.client_id else {
        return Ok(None);
    };
    let mut client = RegisteredClient::new(id);
    if let Some(secret) = secret(arguments)? {
        client = client.with_secret(secret);
    }
    if let Some(issuer) = &arguments.issuer {
        client = client.with_issuer(issuer);
    }
    Ok(Some(client))
}

/// Returns the client secret. It is never on the command line, which every user of the machine can read.
fn secret(arguments: &LogIn) -> Result<Option<String>, Failure> {
    let (secret, source) = match (&arguments.client_secret_file, &arguments.client_secret_env) {
        (Some(path), _) => (read(path)?, path.display().to_string()),
        (None, Some(variable)) => (
            std::env::var(variable).unwrap_or_default(),
            variable.clone(),
        ),
        (None, None) => return Ok(None),
    };
    match secret.trim() {
        "" => Err(Failure::usage(format!("{source} has no secret in it"))),
        secret => Ok(Some(secret.to_owned())),
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        Failure::usage(format!("{path} cannot be read: {error}"))
            .with_advice("check --client-secret-file")
    })
}

fn failed(error: &AuthError) -> Failure {
    Failure::of_login(error)
}
