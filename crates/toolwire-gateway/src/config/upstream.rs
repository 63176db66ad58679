//! `[upstream.NAME]`: a server behind the gateway.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use toolwire::relay::Sharing;
use toolwire_auth::documents::Secret;
use toolwire_proto::relay::glob::Glob;
use toolwire_proto::relay::pins::PinMode;

use crate::config::call_limits::{self, CallLimit, MAX_LIMITS, SamplingLimit};
use crate::config::section::{Field, Section};
use crate::config::{ConfigError, MAX_LIST, UpstreamCredentials, credentials};

/// The longest name of an upstream.
pub const MAX_NAME_LENGTH: usize = 32;

/// A server behind the gateway, and how it is offered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// The name: in names of tools, in addresses, in messages and in the audit log.
    pub name: String,
    /// How the server is reached.
    pub transport: UpstreamTransport,
    /// Patterns of the tools that are offered. Empty: all.
    pub allowed_tools: Vec<Glob>,
    /// Patterns of the tools that are not offered.
    pub denied_tools: Vec<Glob>,
    /// The prefix of the names of tools and prompts. `None`: the names of the server. Default: the name.
    pub prefix: Option<String>,
    /// The limits of calls. Each of them has to permit a call.
    pub limits: Vec<CallLimit>,
    /// What happens to tools, prompts and instructions that are new or have changed. `None`: nothing.
    pub pin: Option<PinMode>,
    /// Whether invisible characters are removed from titles, descriptions and other texts of its lists. Default: `false`.
    pub strips_invisible: bool,
    /// Whether the gateway needs the server in order to start. Default: `false`.
    pub is_required: bool,
    /// Whether the server may send sampling requests to clients. Default: `false`.
    pub may_sample: bool,
    /// How many sampling requests each caller gets of the server in a period. Default: without a limit.
    pub sampling_limit: Option<SamplingLimit>,
    /// Whether the server may see the roots of clients. Default: `false`.
    pub sees_roots: bool,
    /// Whether the server may ask for passwords, tokens and keys with a form. Default: `false`.
    pub may_use_secret_forms: bool,
    /// The processes at a time, if the server is a command. Default: 8.
    pub children: Option<usize>,
    /// The connections at a time. Default: 64.
    pub sessions: Option<usize>,
    /// The sessions of a legacy server that stay open without a request. Default: 8.
    pub idle_sessions: Option<usize>,
    /// How long such a session, and the connection of a principal, stays open without a request. Default: 5 min.
    pub idle_timeout: Option<Duration>,
    /// Which callers share connections. Default: each principal has connections of its own.
    pub sharing: Sharing,
    /// How long a request may take without a message of the server that belongs to it. Default: 10 min.
    pub timeout: Option<Duration>,
}

/// How an upstream server is reached.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum UpstreamTransport {
    /// An address of a server over HTTP.
    Http(HttpUpstream),
    /// A command that starts a server on standard input and output.
    Command(CommandUpstream),
}

/// An upstream over HTTP.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct HttpUpstream {
    /// The URL.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, Secret)>,
    /// The credentials of the gateway.
    pub credentials: Option<UpstreamCredentials>,
}

/// An upstream that is a process.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct CommandUpstream {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Environment variables that it gets besides `PATH`, `HOME` and other harmless ones.
    pub environment: BTreeMap<String, Secret>,
    /// Its working directory. `None`: that of the gateway.
    pub directory: Option<PathBuf>,
}

impl UpstreamConfig {
    /// Creates an upstream with the defaults.
    ///
    /// # Errors
    /// Returns an error if the name is not 1 to 32 letters, digits, `-` or `_`.
    pub fn new(name: impl Into<String>, transport: UpstreamTransport) -> Result<Self, String> {
        let name = name.into();
        let is_valid =
            |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
        if name.is_empty() || name.len() > MAX_NAME_LENGTH || !name.chars().all(is_valid) {
            return Err(format!(
                "the name {name:?} of an upstream must be 1 to {MAX_NAME_LENGTH} letters, digits, `-` or `_`"
            ));
        }
        Ok(Self {
            prefix: Some(name.clone()),
            name,
            transport,
            allowed_tools: Vec::new(),
            denied_tools: Vec::new(),
            limits: Vec::new(),
            pin: None,
            strips_invisible: false,
            is_required: false,
            may_sample: false,
            sampling_limit: None,
            may_use_secret_forms: false,
            sees_roots: false,
            children: None,
            sessions: None,
            idle_sessions: None,
            idle_timeout: None,
            sharing: Sharing::default(),
            timeout: None,
        })
    }
}

impl HttpUpstream {
    /// Creates an upstream without credentials.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            credentials: None,
        }
    }
}

// A URL, and the words of a command, may have secrets from `${NAME}`.
impl fmt::Debug for HttpUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpUpstream")
            .field("headers", &self.headers)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for CommandUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandUpstream")
            .field("arguments", &self.arguments.len())
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}

impl CommandUpstream {
    /// Creates an upstream from a program and its arguments.
    #[must_use]
    pub fn new<S: Into<String>>(
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: BTreeMap::new(),
            directory: None,
        }
    }
}

/// Reads one table of `[upstream]`.
pub(super) fn read(name: &str, field: Field<'_>) -> Result<UpstreamConfig, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let transport = transport(&mut section, start)?;
    let mut upstream =
        UpstreamConfig::new(name, transport).map_err(|problem| section.error(start, problem))?;
    if let Some(field) = section.take("tools") {
        let mut tools = field.section()?;
        upstream.allowed_tools = patterns(tools.take("allow"))?;
        upstream.denied_tools = patterns(tools.take("deny"))?;
        tools.finish()?;
    }
    if let Some(prefix) = section.take("prefix") {
        upstream.prefix = Some(prefix.text()?);
    }
    if let Some(flat) = section.take("flat")
        && flat.flag()?
    {
        upstream.prefix = None;
    }
    if let Some(limit) = section.take("limit") {
        upstream.limits = limit.tables(MAX_LIMITS, call_limits::read)?;
    }
    if let Some(pin) = section.take("pin") {
        let modes = [
            ("ask", PinMode::Ask),
            ("block", PinMode::Block),
            ("warn", PinMode::Warn),
        ];
        upstream.pin = Some(pin.one_of(&modes)?);
    }
    let flag = |field: Option<Field<'_>>| field.map_or(Ok(false), |field| field.flag());
    upstream.strips_invisible = flag(section.take("strip_invisible"))?;
    upstream.is_required = flag(section.take("required"))?;
    match section.take("sampling") {
        Some(sampling) if sampling.is_table() => {
            upstream.sampling_limit = Some(call_limits::read_sampling(sampling)?);
            upstream.may_sample = true;
        }
        sampling => upstream.may_sample = flag(sampling)?,
    }
    upstream.sees_roots = flag(section.take("roots"))?;
    upstream.may_use_secret_forms = flag(section.take("secret_forms"))?;
    if let Some(children) = section.take("children") {
        if matches!(upstream.transport, UpstreamTransport::Http(_)) {
            return Err(children.error("is for an upstream with `command`"));
        }
        upstream.children = usize::try_from(children.number(1..1025)?).ok();
    }
    if let Some(sessions) = section.take("sessions") {
        upstream.sessions = usize::try_from(sessions.number(1..65_537)?).ok();
    }
    if let Some(sessions) = section.take("idle_sessions") {
        upstream.idle_sessions = usize::try_from(sessions.number(0..65_537)?).ok();
    }
    if let Some(timeout) = section.take("idle_timeout") {
        upstream.idle_timeout = Some(timeout.duration()?);
    }
    if let Some(sharing) = section.take("sharing") {
        upstream.sharing = sharing.one_of(&[
            ("principal", Sharing::PerPrincipal),
            ("shared", Sharing::Shared),
        ])?;
    }
    if let Some(timeout) = section.take("timeout") {
        upstream.timeout = Some(timeout.duration()?);
    }
    section.finish()?;
    Ok(upstream)
}

fn transport(section: &mut Section<'_>, start: usize) -> Result<UpstreamTransport, ConfigError> {
    let (url, command) = (section.take("url"), section.take("command"));
    let (headers, credentials) = (section.take("headers"), section.take("credentials"));
    let (environment, directory) = (section.take("env"), section.take("directory"));
    match (url, command) {
        (Some(url), None) => {
            if let Some(field) = environment.or(directory) {
                return Err(field.error("is for an upstream with `command`"));
            }
            read_http(&url, headers, credentials).map(UpstreamTransport::Http)
        }
        (None, Some(command)) => {
            if let Some(field) = headers.or(credentials) {
                return Err(field
                    .error("is for an upstream with `url`")
                    .with_advice("pass secrets to a command with `env`"));
            }
            read_command(command, environment, directory).map(UpstreamTransport::Command)
        }
        (Some(_), Some(command)) => Err(command
            .error("stands beside `url`")
            .with_advice("remove one of them")),
        (None, None) => {
            let missing = section
                .error(start, "an upstream needs `url` or `command`")
                .with_advice("write url = \"https://…\", or command = [\"program\", \"argument\"]");
            Err(section.missing(&["url", "command"], missing))
        }
    }
}

fn read_http(
    url: &Field<'_>,
    headers: Option<Field<'_>>,
    credentials: Option<Field<'_>>,
) -> Result<HttpUpstream, ConfigError> {
    let mut upstream = HttpUpstream::new(url.text()?);
    let parsed = upstream.url.parse::<http::Uri>();
    let is_http = parsed.is_ok_and(|url| {
        url.host().is_some() && matches!(url.scheme_str(), Some("http" | "https"))
    });
    if !is_http {
        return Err(url
            .error("is not a valid URL")
            .with_advice("write https:// and a host"));
    }
    if let Some(headers) = headers {
        for (name, field) in headers.section()?.take_all() {
            let value = field.text()?;
            if http::HeaderName::try_from(name.as_str()).is_err()
                || http::HeaderValue::try_from(value.as_str()).is_err()
            {
                return Err(field.error("is not a valid HTTP header"));
            }
            upstream.headers.push((name, value.into()));
        }
    }
    upstream.credentials = credentials.map(credentials::read).transpose()?;
    Ok(upstream)
}

fn read_command(
    command: Field<'_>,
    environment: Option<Field<'_>>,
    directory: Option<Field<'_>>,
) -> Result<CommandUpstream, ConfigError> {
    let empty = command
        .error("is empty")
        .with_advice("write command = [\"program\", \"argument\"]");
    let mut words = command.texts(MAX_LIST)?.into_iter();
    let Some(program) = words.next().filter(|program| !program.is_empty()) else {
        return Err(empty);
    };
    let mut upstream = CommandUpstream::new(program, words);
    if let Some(environment) = environment {
        let variables = environment.named_texts(MAX_LIST)?.into_iter();
        upstream.environment = variables
            .map(|(name, value)| (name, value.into()))
            .collect();
    }
    if let Some(directory) = directory {
        upstream.directory = Some(directory.path()?);
    }
    Ok(upstream)
}

pub(super) fn patterns(field: Option<Field<'_>>) -> Result<Vec<Glob>, ConfigError> {
    match field {
        Some(field) => field.list(MAX_LIST)?.iter().map(Field::pattern).collect(),
        None => Ok(Vec::new()),
    }
}
