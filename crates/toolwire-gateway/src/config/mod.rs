//! The configuration of a gateway: a TOML file.
//!
//! An unknown key is an error that names the line and a similar key. `${NAME}` in a text stands for an environment
//! variable. Relative paths start at the directory of the file.

mod call_limits;
mod credentials;
mod duration;
mod error;
mod front;
#[cfg(test)]
mod reference_page;
mod rules;
mod section;
#[cfg(test)]
mod tests;
mod upstream;
mod variables;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use toolwire_proto::relay::policy::Policy;

use self::section::Document;

pub use self::call_limits::{CallLimit, LimitKey, SamplingLimit};
pub use self::credentials::{AssertionProvider, LoginClient, UpstreamCredentials};
pub use self::error::ConfigError;
pub use self::front::{AuditConfig, AuthConfig, LimitsConfig, LoginProvider, LoginsConfig, OnFull};
pub(crate) use self::front::{EMAIL, GITHUB, GOOGLE};
pub use self::upstream::{
    CommandUpstream, HttpUpstream, MAX_NAME_LENGTH, UpstreamConfig, UpstreamTransport,
};

/// The maximum size of a configuration file in bytes.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The maximum number of upstreams.
pub const MAX_UPSTREAMS: usize = 256;

/// The maximum number of elements of other lists and tables.
const MAX_LIST: usize = 256;

/// The maximum number of reverse proxies in front of a gateway.
const MAX_PROXIES: u64 = 16;

/// The address that a gateway listens on by default.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

/// The name of the lock file, beside the configuration.
const LOCK_FILE: &str = "toolwire.lock";

/// The configuration of a gateway.
///
/// ```
/// use toolwire_gateway::GatewayConfig;
///
/// let text = r#"
///     [upstream.files]
///     command = ["files-server", "${DATA}"]
///     tools = { deny = ["delete_*"] }
/// "#;
/// let environment = |name: &str| (name == "DATA").then(|| "/data".to_owned());
/// let config = GatewayConfig::parse("gateway.toml", text, &environment)?;
/// assert_eq!(config.upstreams[0].name, "files");
/// # Ok::<(), toolwire_gateway::ConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The address to listen on: a host and a port. Default: `127.0.0.1:8080`.
    pub listen: String,
    /// The host names that clients on other machines use.
    pub public_hosts: Vec<String>,
    /// The URL at which browsers reach the gateway, for the logins of users at upstreams. Default: the `audience` of
    /// `[auth]`.
    pub public_url: Option<String>,
    /// The number of reverse proxies in front of the gateway that append to `X-Forwarded-For`. Default: 0.
    pub trusted_proxies: usize,
    /// Who may use the gateway. `None`: every client that reaches it.
    pub auth: Option<AuthConfig>,
    /// The servers behind the gateway, in the order of lists.
    pub upstreams: Vec<UpstreamConfig>,
    /// Who may use what.
    pub policy: Policy,
    /// The audit log.
    pub audit: Option<AuditConfig>,
    /// Limits of all calls together.
    pub limits: LimitsConfig,
    /// Where the logins of users at upstreams are stored. `None`: in memory.
    pub logins: Option<LoginsConfig>,
    /// The file with the approved tools, prompts and instructions. Default: `toolwire.lock` beside the configuration.
    pub lock_file: PathBuf,
}

impl GatewayConfig {
    /// Creates a configuration with the defaults, and with these upstreams. The lock file is in `directory`.
    ///
    /// # Errors
    /// Returns an error if two upstreams have one name, and if there are no upstreams or more than [`MAX_UPSTREAMS`].
    pub fn new(directory: &Path, upstreams: Vec<UpstreamConfig>) -> Result<Self, String> {
        if upstreams.is_empty() || upstreams.len() > MAX_UPSTREAMS {
            return Err(format!(
                "a gateway has 1 to {MAX_UPSTREAMS} upstreams, and not {}",
                upstreams.len()
            ));
        }
        for (index, upstream) in upstreams.iter().enumerate() {
            let mut earlier = upstreams[..index].iter();
            if earlier.any(|earlier| earlier.name == upstream.name) {
                return Err(format!("two upstreams have the name `{}`", upstream.name));
            }
        }
        Ok(Self {
            listen: DEFAULT_LISTEN.to_owned(),
            public_hosts: Vec::new(),
            public_url: None,
            trusted_proxies: 0,
            auth: None,
            upstreams,
            policy: Policy::default(),
            audit: None,
            limits: LimitsConfig::default(),
            logins: None,
            lock_file: directory.join(LOCK_FILE),
        })
    }

    /// Reads a file. `${NAME}` stands for variables of this process.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is larger than [`MAX_FILE_BYTES`], or is invalid.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = Self::read_text(path)?;
        Self::parse_file(path, &text)
    }

    /// Parses the text of a file that was read. `${NAME}` stands for variables of this process.
    pub(crate) fn parse_file(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let shown = path.display().to_string();
        if text.len() as u64 > MAX_FILE_BYTES {
            let message = format!("has more than {MAX_FILE_BYTES} bytes");
            return Err(ConfigError::new(shown, message));
        }
        Self::parse(&shown, text, &|name| std::env::var(name).ok())
    }

    /// Reads a file, and not much more than [`MAX_FILE_BYTES`].
    pub(crate) fn read_text(path: &Path) -> Result<String, ConfigError> {
        let shown = path.display().to_string();
        let unreadable = |error| ConfigError::new(&shown, format!("cannot be read: {error}"));
        let file = File::open(path).map_err(unreadable)?;
        let mut text = String::new();
        let mut limited = file.take(MAX_FILE_BYTES + 1);
        limited.read_to_string(&mut text).map_err(unreadable)?;
        Ok(text)
    }

    /// Parses the text of a file, with values for `${NAME}`.
    ///
    /// # Errors
    /// Returns an error with the line if the text is invalid.
    pub fn parse(
        file: &str,
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let document = Document {
            file,
            text,
            environment,
        };
        let mut top = document.parse()?;
        let (listen, hosts) = (top.take("listen"), top.take("public_hosts"));
        let (public_url, proxies) = (top.take("public_url"), top.take("trusted_proxies"));
        let (auth, audit, limits) = (top.take("auth"), top.take("audit"), top.take("limits"));
        let (rules, lock_file) = (top.take("rule"), top.take("lock_file"));
        let logins = top.take("logins");
        let named = match top.take("upstream") {
            Some(upstreams) => upstreams.section()?.take_all(),
            None => Vec::new(),
        };
        top.finish()?;
        let upstreams: Result<Vec<UpstreamConfig>, ConfigError> = named
            .into_iter()
            .map(|(name, field)| upstream::read(&name, field))
            .collect();
        let directory = Path::new(file).parent().unwrap_or(Path::new(""));
        let mut config = Self::new(directory, upstreams?).map_err(|problem| {
            ConfigError::new(file, problem).with_advice("write [upstream.NAME] with url or command")
        })?;
        if let Some(listen) = listen {
            config.listen = listen.text()?;
        }
        if let Some(hosts) = hosts {
            config.public_hosts = hosts.texts(MAX_LIST)?;
        }
        config.public_url = public_url.map(front::read_public_url).transpose()?;
        if let Some(proxies) = proxies {
            let number = proxies.number(0..MAX_PROXIES + 1)?;
            config.trusted_proxies = usize::try_from(number).unwrap_or(0);
        }
        config.auth = auth.map(front::read_auth).transpose()?;
        config.audit = audit.map(front::read_audit).transpose()?;
        config.logins = logins.map(front::read_logins).transpose()?;
        config.limits = limits.map_or(Ok(LimitsConfig::default()), front::read_limits)?;
        config.policy = rules.map_or(Ok(Policy::default()), rules::read)?;
        if let Some(lock_file) = lock_file {
            config.lock_file = lock_file.path()?;
        }
        Ok(config)
    }
}
