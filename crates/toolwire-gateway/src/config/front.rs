//! `[auth]`, `[audit]` and `[limits]`: the front of the gateway.

use std::path::PathBuf;
use std::time::Duration;

use toolwire_auth::documents::Secret;
use toolwire_proto::relay::glob::Glob;
use toolwire_proto::request_state::StateKey;
use toolwire_proto::web_url::WebUrl;

use crate::config::section::Field;
use crate::config::{ConfigError, MAX_LIST};

/// The name of GitHub as an identity provider, which is not one of OpenID Connect.
pub(crate) const GITHUB: &str = "github";

/// The name of Google as an identity provider.
pub(crate) const GOOGLE: &str = "google";

/// The claim with the address of a user.
pub(crate) const EMAIL: &str = "email";

/// The minimum length of the key of digests in bytes.
const MIN_KEY_BYTES: usize = 16;

/// Who may use the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthConfig {
    /// Callers with a token of a file.
    BearerFile(PathBuf),
    /// Callers with an access token of an authorization server.
    ResourceServer {
        /// The authorization server.
        issuer: String,
        /// The public URL of the gateway, which tokens have to name.
        audience: String,
        /// The scopes that every request needs.
        scopes: Vec<String>,
    },
    /// Users who log in at an identity provider. The gateway is the authorization server of its clients.
    Login {
        /// The public URL of the gateway.
        audience: String,
        /// The scopes that every request needs.
        scopes: Vec<String>,
        /// The identity provider, and its users.
        provider: LoginProvider,
    },
}

impl AuthConfig {
    /// Returns the public URL of the gateway, if it is known.
    #[must_use]
    pub fn audience(&self) -> Option<&str> {
        match self {
            Self::BearerFile(_) => None,
            Self::ResourceServer { audience, .. } | Self::Login { audience, .. } => Some(audience),
        }
    }
}

/// The identity provider at which users of the gateway log in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginProvider {
    /// The issuer of an OpenID Connect provider, or `github` or `google`.
    pub issuer: String,
    /// The id of the gateway's client there.
    pub id: String,
    /// Its secret.
    pub secret: Secret,
    /// Further scopes to request from the provider.
    pub scopes: Vec<String>,
    /// Patterns of the users who may log in, compared with `user_claim`.
    pub users: Vec<Glob>,
    /// The claim that names a user. Default: `login` for `github`, and otherwise `email`, which has to be verified.
    pub user_claim: String,
}

/// The audit log.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AuditConfig {
    /// The file.
    pub file: PathBuf,
    /// The arguments of tools and prompts that are written. Default: none.
    pub arguments: Vec<String>,
    /// The key of the digests of all arguments. Default: there are no digests.
    pub digest_key: Option<Secret>,
    /// The size in bytes at which a new file is begun. Default: 100 MiB.
    pub max_bytes: u64,
    /// The number of older files. Default: 5.
    pub files: u32,
    /// What happens to calls while the queue of lines is full.
    pub on_full: OnFull,
}

/// What happens to calls while the queue of the audit log is full. A line of the log has the number of lost lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFull {
    /// They are rejected. The lines of requests that run already, and of lists, are lost.
    Reject,
    /// They run, and their lines are lost.
    Drop,
}

/// Where the logins of users at upstreams are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginsConfig {
    /// The file, which one gateway uses at a time.
    pub file: PathBuf,
    /// The key that seals the file: 64 hexadecimal digits.
    pub key: Secret,
}

/// Limits of all calls together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// The calls that run at once. Default: no limit but those of the HTTP server.
    pub calls_at_once: Option<usize>,
    /// The bytes of a result. Default: no limit but those of the upstreams.
    pub result_bytes: Option<usize>,
    /// How long a call may take. Default: no limit but the timeouts of the upstreams.
    pub call_timeout: Option<Duration>,
}

impl AuditConfig {
    /// Creates a log in a file, with the defaults.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            arguments: Vec::new(),
            digest_key: None,
            max_bytes: 100 * 1024 * 1024,
            files: 5,
            on_full: OnFull::Reject,
        }
    }
}

/// Reads the address at which browsers reach the gateway. Cookies and codes are safe over TLS, and on this machine.
pub(super) fn read_public_url(field: Field<'_>) -> Result<String, ConfigError> {
    let text = field.text()?;
    if !WebUrl::parse(&text).is_ok_and(|url| url.is_confidential()) {
        return Err(field
            .error("is not an https URL")
            .with_advice("write public_url = \"https://tools.example.com\""));
    }
    Ok(text)
}

pub(super) fn read_auth(field: Field<'_>) -> Result<AuthConfig, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (file, issuer) = (section.take("bearer_file"), section.take("issuer"));
    let (audience, scopes) = (section.take("audience"), section.take("scopes"));
    let provider = section.take("provider");
    let auth = match (file, issuer, audience) {
        (None, None, Some(audience)) if provider.is_some() => AuthConfig::Login {
            audience: audience.text()?,
            scopes: scopes.map_or(Ok(Vec::new()), |scopes| scopes.texts(MAX_LIST))?,
            provider: match provider {
                Some(provider) => read_provider(provider)?,
                None => return Err(section.error(start, "`auth` needs `provider`")),
            },
        },
        _ if provider.is_some() => {
            let message =
                "`auth.provider` needs `audience`, and neither `issuer` nor `bearer_file`";
            return Err(section
                .error(start, message)
                .with_advice("write the public URL of the gateway as `audience`"));
        }
        (Some(file), None, None) => {
            if let Some(scopes) = scopes {
                return Err(scopes.error("is for `issuer`; a file has the scopes of each token"));
            }
            AuthConfig::BearerFile(file.path()?)
        }
        (None, Some(issuer), Some(audience)) => AuthConfig::ResourceServer {
            issuer: issuer.text()?,
            audience: audience.text()?,
            scopes: scopes.map_or(Ok(Vec::new()), |scopes| scopes.texts(MAX_LIST))?,
        },
        _ => {
            return Err(section
                .error(
                    start,
                    "`auth` needs `bearer_file`, or `issuer` and `audience`, or `provider` and `audience`",
                )
                .with_advice("remove [auth] to serve clients on this machine only"));
        }
    };
    section.finish()?;
    Ok(auth)
}

fn read_provider(field: Field<'_>) -> Result<LoginProvider, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (issuer, id) = (section.take("issuer"), section.take("id"));
    let (secret, users) = (section.take("secret"), section.take("users"));
    let (Some(issuer), Some(id), Some(secret), Some(users)) = (issuer, id, secret, users) else {
        return Err(section
            .error(
                start,
                "`auth.provider` needs `issuer`, `id`, `secret` and `users`",
            )
            .with_advice(
                "write users = [\"*@example.com\"]; [\"*\"] permits every user of the provider",
            ));
    };
    let issuer = issuer.text()?;
    let default_claim = if issuer == GITHUB { "login" } else { EMAIL };
    let users = users.list(MAX_LIST)?;
    let users: Result<Vec<Glob>, ConfigError> = users.iter().map(Field::pattern).collect();
    let provider = LoginProvider {
        id: id.text()?,
        secret: secret.text()?.into(),
        scopes: match section.take("scopes") {
            Some(scopes) => scopes.texts(MAX_LIST)?,
            None => Vec::new(),
        },
        users: users?,
        user_claim: match section.take("user_claim") {
            Some(claim) => claim.text()?,
            None => default_claim.to_owned(),
        },
        issuer,
    };
    section.finish()?;
    Ok(provider)
}

pub(super) fn read_audit(field: Field<'_>) -> Result<AuditConfig, ConfigError> {
    let missing = field
        .error("needs `file`")
        .with_advice("write file = \"audit.jsonl\"");
    let mut section = field.section()?;
    let Some(file) = section.take("file") else {
        return Err(section.missing(&["file"], missing));
    };
    let mut audit = AuditConfig::new(file.path()?);
    if let Some(arguments) = section.take("arguments") {
        audit.arguments = arguments.texts(MAX_LIST)?;
    }
    if let Some(field) = section.take("digest_key") {
        let key = field.text()?;
        if key.len() < MIN_KEY_BYTES {
            return Err(field
                .error(format_args!("has less than {MIN_KEY_BYTES} bytes"))
                .with_advice("write digest_key = \"${AUDIT_KEY}\", with a random value"));
        }
        audit.digest_key = Some(key.into());
    }
    if let Some(bytes) = section.take("max_bytes") {
        audit.max_bytes = bytes.number(4096..1 << 40)?;
    }
    if let Some(files) = section.take("files") {
        audit.files = u32::try_from(files.number(0..1001)?).unwrap_or(u32::MAX);
    }
    if let Some(on_full) = section.take("on_full") {
        audit.on_full = on_full.one_of(&[("reject", OnFull::Reject), ("drop", OnFull::Drop)])?;
    }
    section.finish()?;
    Ok(audit)
}

pub(super) fn read_logins(field: Field<'_>) -> Result<LoginsConfig, ConfigError> {
    let missing = field
        .error("needs `file` and `key`")
        .with_advice("write file = \"logins\" and key = \"${LOGINS_KEY}\"");
    let mut section = field.section()?;
    let (Some(file), Some(key)) = (section.take("file"), section.take("key")) else {
        return Err(section.missing(&["file", "key"], missing));
    };
    let logins = LoginsConfig {
        file: file.path()?,
        key: key.text()?.into(),
    };
    if StateKey::from_hex(logins.key.expose()).is_none() {
        return Err(key
            .error("does not have 64 hexadecimal digits")
            .with_advice("create a key with `openssl rand -hex 32`"));
    }
    section.finish()?;
    Ok(logins)
}

pub(super) fn read_limits(field: Field<'_>) -> Result<LimitsConfig, ConfigError> {
    let mut section = field.section()?;
    let number = |field: Option<Field<'_>>, most: u64| match field {
        Some(field) => {
            let number = field.number(1..most + 1)?;
            Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)))
        }
        None => Ok(None),
    };
    let limits = LimitsConfig {
        calls_at_once: number(section.take("calls_at_once"), 1_000_000)?,
        result_bytes: number(section.take("result_bytes"), 1 << 30)?,
        call_timeout: match section.take("call_timeout") {
            Some(timeout) => Some(timeout.duration()?),
            None => None,
        },
    };
    section.finish()?;
    Ok(limits)
}
