//! `[auth]`, `[audit]` and `[limits]`: the front of the gateway.

use std::path::PathBuf;
use std::time::Duration;

use toolwire_auth::documents::Secret;

use crate::config::section::Field;
use crate::config::{ConfigError, MAX_LIST};

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

pub(super) fn read_auth(field: Field<'_>) -> Result<AuthConfig, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (file, issuer) = (section.take("bearer_file"), section.take("issuer"));
    let (audience, scopes) = (section.take("audience"), section.take("scopes"));
    let auth = match (file, issuer, audience) {
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
                    "`auth` needs `bearer_file`, or `issuer` and `audience`",
                )
                .with_advice("remove [auth] to serve clients on this machine only"));
        }
    };
    section.finish()?;
    Ok(auth)
}

pub(super) fn read_audit(field: Field<'_>) -> Result<AuditConfig, ConfigError> {
    let missing = field
        .error("needs `file`")
        .with_advice("write file = \"audit.jsonl\"");
    let mut section = field.section()?;
    let Some(file) = section.take("file") else {
        return Err(missing);
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
