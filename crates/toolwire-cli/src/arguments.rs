//! The arguments and options of the `toolwire` command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use toolwire::{LoggingLevel, ProtocolVersion};

use crate::accounts::arguments::{LogIn, LogOut, WhoAmI};
use crate::doctor_arguments::{DOCTOR_HELP, Doctor};
#[cfg(feature = "events")]
use crate::event_arguments::Events;
use crate::gateway_arguments::{GATEWAY_HELP, Gateway, PINS_HELP, Pins};
use crate::inspect_arguments::{INSPECT_HELP, Inspect};
use crate::proxy_arguments::{PROXY_HELP, PROXY_TIMEOUT_HELP, Proxy};
use crate::record_arguments::{RECORD_HELP, RecordOptions};
use crate::replay_arguments::{REPLAY_HELP, Replay};
use crate::skill_arguments::Skills;
use crate::task_arguments::Task;
use crate::view_arguments::View;

/// The exit codes, as shown by `--help`. They match `failure::Exit`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  the tool reported an error, `skills check` or `doctor` found a fault, or
       `pins` or `replay` found a change
    2  the command line, an argument of the tool or a configuration is invalid
    3  no connection: DNS, TCP, TLS, or a command that does not run
    4  the server returned an error or violated the protocol
    5  timeout
    6  the credentials were rejected (HTTP 401, 403), or a login is required
  130  interrupted (143: terminated, 129: the terminal was closed)";

pub(crate) const SERVER_HELP: &str = "\
A server is one of
    https://example.com/mcp   an address
    -- npx some-server /tmp   a command that starts the server; it comes last
    weather                   a name from --config, ./mcp.json, or a file of
                              Claude, Cursor, VS Code or another application;
                              `toolwire servers` lists these names";

const DOMAIN_HELP: &str = "\
A domain is a host such as example.com. Its servers are those of its catalog,
https://example.com/.well-known/ai-catalog.json (an experimental feature).";

pub(crate) const ARGUMENT_HELP: &str = "\
Arguments:
    count=3             converted to the type in the tool's schema
    place.city=Oslo     a member of an object
    tag=a tag=b         several elements of an array
    filter:='{\"a\":1}'   JSON, unchanged
    text=@notes.txt     the content of a file; @@ starts a text with @
    @arguments.json     all arguments from a file
    -                   all arguments from standard input";

/// The maximum width of the help, also in a wider terminal.
const MAX_HELP_WIDTH: usize = 110;

/// Try, inspect and serve MCP servers.
#[derive(Debug, Parser)]
#[command(name = "toolwire", version, arg_required_else_help = true)]
#[command(max_term_width = MAX_HELP_WIDTH)]
#[command(after_help = format!("{SERVER_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the server's name, version and capabilities, or list the servers of a domain
    #[command(
        override_usage = "toolwire discover [OPTIONS] <SERVER>\n       toolwire discover [OPTIONS] <DOMAIN>\n       toolwire discover [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = format!("{DOMAIN_HELP}\n\n{SERVER_HELP}"))]
    Discover(Plain),
    /// List tools, or show one tool
    #[command(
        override_usage = "toolwire tools [OPTIONS] <SERVER> [TOOL]\n       toolwire tools [OPTIONS] [TOOL] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Tools(Plain),
    /// Call a tool
    #[command(
        override_usage = "toolwire call [OPTIONS] <SERVER> <TOOL> [ARGUMENT]...\n       toolwire call [OPTIONS] <TOOL> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    Call(Call),
    /// Get, wait for or cancel a task that `call --task` started
    #[command(subcommand)]
    Task(Task),
    /// Show the view of a tool, or bundle the files of a view
    #[command(subcommand)]
    View(View),
    /// List resources and resource templates
    #[command(
        override_usage = "toolwire resources [OPTIONS] <SERVER>\n       toolwire resources [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Resources(Resources),
    /// Read a resource; for a template, pass the values of its variables
    #[command(
        override_usage = "toolwire read [OPTIONS] <SERVER> <URI> [VARIABLE=VALUE]...\n       toolwire read [OPTIONS] <URI> [VARIABLE=VALUE]... -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Read(Read),
    /// List, show, load and check skills
    #[command(subcommand)]
    Skills(Skills),
    /// List the types of events, and show events as they happen (experimental)
    #[cfg(feature = "events")]
    #[command(subcommand)]
    Events(Events),
    /// List prompts, or show one prompt
    #[command(
        override_usage = "toolwire prompts [OPTIONS] <SERVER> [PROMPT]\n       toolwire prompts [OPTIONS] [PROMPT] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Prompts(Plain),
    /// Get a prompt with its arguments filled in
    #[command(
        override_usage = "toolwire prompt [OPTIONS] <SERVER> <PROMPT> [ARGUMENT]...\n       toolwire prompt [OPTIONS] <PROMPT> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}"))]
    Prompt(Prompt),
    /// List completions for an argument of a prompt or a resource template
    #[command(
        override_usage = "toolwire complete [OPTIONS] <SERVER> <PROMPT|TEMPLATE>\n           [KNOWN=VALUE]... <NAME=TYPED>\n       toolwire complete [OPTIONS] <PROMPT|TEMPLATE>\n           [KNOWN=VALUE]... <NAME=TYPED> -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Complete(Complete),
    /// Show changes as they happen; by default, changes of all lists
    #[command(
        override_usage = "toolwire listen [OPTIONS] <SERVER> [URI]...\n       toolwire listen [OPTIONS] [URI]... -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Listen(Listen),
    /// Check that a server responds
    #[command(
        override_usage = "toolwire ping [OPTIONS] <SERVER>\n       toolwire ping [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Ping(Plain),
    /// Show a server in the browser: call tools, respond to input requests, read the log
    #[command(
        override_usage = "toolwire inspect [OPTIONS] <SERVER>\n       toolwire inspect [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = format!("{INSPECT_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("timeout", |timeout| timeout.help(PROXY_TIMEOUT_HELP)))]
    Inspect(Inspect),
    /// Forward everything to a server, for clients that use another transport
    #[command(
        override_usage = "toolwire proxy [OPTIONS] <SERVER>\n       toolwire proxy [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = format!("{PROXY_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("timeout", |timeout| timeout.help(PROXY_TIMEOUT_HELP)))]
    Proxy(Proxy),
    /// Forward everything to a server like `proxy`, and record all messages
    #[command(
        override_usage = "toolwire record [OPTIONS] <FILE> <SERVER>\n       toolwire record [OPTIONS] <FILE> -- <COMMAND>..."
    )]
    #[command(after_help = format!("{RECORD_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("timeout", |timeout| timeout.help(PROXY_TIMEOUT_HELP)))]
    #[command(mut_arg("file", |file| file.hide(true)))]
    Record(Proxy),
    /// Serve a record as a server, or compare a server with it
    #[command(
        override_usage = "toolwire replay [OPTIONS] <FILE>\n       toolwire replay [OPTIONS] <FILE> --against <SERVER>\n       toolwire replay [OPTIONS] <FILE> --against -- <COMMAND>..."
    )]
    #[command(after_help = format!("{REPLAY_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    Replay(Replay),
    /// Serve many servers at one address, with rules, limits and an audit log
    #[command(
        override_usage = "toolwire gateway [OPTIONS] --config <FILE>\n       toolwire gateway [OPTIONS] --from <FILE>"
    )]
    #[command(after_help = format!("{GATEWAY_HELP}\n\n{EXIT_CODES}"))]
    Gateway(Gateway),
    /// Show and approve the changes of the servers of a gateway
    #[command(
        override_usage = "toolwire pins [OPTIONS] --config <FILE>\n       toolwire pins [OPTIONS] --config <FILE> accept <NAME|--all>"
    )]
    #[command(after_help = format!("{PINS_HELP}\n\n{EXIT_CODES}"))]
    Pins(Pins),
    /// List the servers of all configuration files
    Servers(Servers),
    /// Log in to a server; other commands then use and renew the login
    Login(LogIn),
    /// Delete a login, and revoke its tokens if the server supports it
    Logout(LogOut),
    /// Show the login for one server, or all logins
    Whoami(WhoAmI),
    /// Check a server step by step, or what a service depends on
    #[command(
        override_usage = "toolwire doctor [OPTIONS] <SERVER>\n       toolwire doctor [OPTIONS] -- <COMMAND>...\n       toolwire doctor redis [OPTIONS] <URL>"
    )]
    #[command(after_help = format!("{DOCTOR_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    Doctor(Doctor),
    /// Run a bundled server for testing clients; without `--stdio` or `--http`, show a short tour of it
    Demo(Demo),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Command {
    /// Returns the address of the page with metrics, if there is one.
    pub(crate) fn metrics_address(&self) -> Option<&str> {
        match self {
            #[cfg(feature = "otel")]
            Self::Proxy(command) => command.metrics.as_deref(),
            #[cfg(feature = "otel")]
            Self::Gateway(command) => command.metrics.as_deref(),
            _ => None,
        }
    }

    /// Returns the output options of the command, or `None` if it has none.
    pub(crate) fn output(&self) -> Option<&Output> {
        Some(match self {
            Self::Discover(command)
            | Self::Tools(command)
            | Self::Prompts(command)
            | Self::Ping(command) => &command.server.output,
            Self::Call(command) => &command.server.output,
            Self::Inspect(command) => &command.server.output,
            Self::Task(command) => &command.server().output,
            Self::Skills(command) => command.output(),
            Self::View(command) => return command.output(),
            Self::Doctor(command) => command.output(),
            #[cfg(feature = "events")]
            Self::Events(command) => command.output(),
            Self::Resources(command) => &command.server.output,
            Self::Read(command) => &command.server.output,
            Self::Prompt(command) => &command.server.output,
            Self::Complete(command) => &command.server.output,
            Self::Listen(command) => &command.server.output,
            Self::Proxy(command) | Self::Record(command) => &command.server.output,
            Self::Replay(command) => &command.server.output,
            Self::Gateway(command) => &command.output,
            Self::Pins(command) => &command.output,
            Self::Servers(command) => &command.output,
            Self::Login(command) => &command.output,
            Self::Logout(command) => &command.output,
            Self::Whoami(command) => &command.output,
            Self::Demo(_) | Self::Completions { .. } => return None,
        })
    }
}

/// The server and the options of the connection.
#[derive(Debug, Clone, Args)]
pub(crate) struct Server {
    /// The server, unless a command is given, and the arguments of the subcommand
    #[arg(value_name = "WORD", hide = true)]
    pub(crate) words: Vec<String>,
    /// The command that starts the server
    #[arg(value_name = "COMMAND", last = true, hide = true)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) lookup: Lookup,
    #[command(flatten)]
    pub(crate) tls: TlsOptions,
    /// The protocol era to use; `auto` detects it
    #[arg(long, value_enum, default_value_t = Era::Auto, help_heading = "Connection")]
    pub(crate) era: Era,
    /// Use only this protocol revision
    #[arg(long, value_name = "VERSION", value_parser = revision, conflicts_with = "era", help_heading = "Connection")]
    pub(crate) protocol_version: Option<ProtocolVersion>,
    /// Send an HTTP header with every request, `Name: value`; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header, help_heading = "Connection")]
    pub(crate) headers: Vec<(String, String)>,
    /// Send the bearer token from this environment variable
    #[arg(long, value_name = "VARIABLE", help_heading = "Connection")]
    pub(crate) bearer_env: Option<String>,
    /// Pass an environment variable to the command: `NAME=value`, or `NAME` for its current value; may be repeated
    #[arg(long = "env", short = 'e', value_name = "VARIABLE", value_parser = variable, help_heading = "Connection")]
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    /// Pass the whole environment, including credentials, to the command; by default it gets PATH, HOME and similar
    /// variables
    #[arg(long, help_heading = "Connection")]
    pub(crate) inherit_env: bool,
    /// Log in with the browser if the server requires it, and store the login
    #[arg(long, conflicts_with = "bearer_env", help_heading = "Connection")]
    pub(crate) login: bool,
    /// Time out after this long without a message from the server, and if connecting takes longer in total: `30s`,
    /// `500ms`, `2m` [default: 60s, and 30s for connecting]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Connection")]
    pub(crate) timeout: Option<Duration>,
    /// Announce this root to the server, a `file://` URI; may be repeated
    #[arg(long = "root", value_name = "URI", help_heading = "Connection")]
    pub(crate) roots: Vec<String>,
    /// Show the server's log messages of this level and above: debug, info, warning, error, …
    #[arg(long, value_name = "LEVEL", value_parser = level, help_heading = "Output")]
    pub(crate) log_level: Option<LoggingLevel>,
    #[command(flatten)]
    pub(crate) recording: RecordOptions,
    #[command(flatten)]
    pub(crate) output: Output,
    /// `true` if the command shows views
    #[arg(skip)]
    pub(crate) shows_views: bool,
}

/// Where server names are looked up.
#[derive(Debug, Clone, Args)]
pub(crate) struct Lookup {
    /// Look up server names in this file only
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub(crate) config: Option<PathBuf>,
    /// The value of an `${input:ID}` in a configuration file; may be repeated. The environment variable
    /// TOOLWIRE_INPUT_ID sets it too
    #[arg(long = "input", value_name = "ID=VALUE", value_parser = input, help_heading = "Connection")]
    pub(crate) inputs: Vec<(String, String)>,
}

/// How the certificate of a server is verified.
#[derive(Debug, Clone, Args)]
pub(crate) struct TlsOptions {
    /// Also trust the certificate authorities in this PEM file
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub(crate) cacert: Option<PathBuf>,
    /// Accept any certificate; others on the network can then read and change the messages
    #[arg(long, conflicts_with = "cacert", help_heading = "Connection")]
    pub(crate) insecure: bool,
}

/// The output options.
#[derive(Debug, Clone, Args)]
pub(crate) struct Output {
    /// Log every message to standard error
    #[arg(long, short, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Print the result as protocol JSON
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Output")]
    pub(crate) color: Colour,
}

/// Responses to input requests of the server, given on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct InputOptions {
    /// Fill in this field when the server requests input; may be repeated
    #[arg(
        long = "answer", // tidy: allow(answer) established name of the option
        value_name = "FIELD=VALUE",
        help_heading = "Input requests of the server"
    )]
    pub(crate) fields: Vec<String>,
    /// Decline every input request of the server
    #[arg(
        long,
        conflicts_with = "fields",
        help_heading = "Input requests of the server"
    )]
    pub(crate) decline: bool,
}

/// The arguments of a command without options of its own.
#[derive(Debug, Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    pub(crate) server: Server,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Save images, audio and other binary content to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Start a task and print its id, without waiting for the result. Without it, a call that becomes a task is waited
    /// for
    #[arg(long)]
    pub(crate) task: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Resources {
    #[command(flatten)]
    pub(crate) server: Server,
    /// List only the templates
    #[arg(long)]
    pub(crate) templates: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// Save the contents to this file; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) input: InputOptions,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The kind of the name; by default, a name with a colon is a template
    #[arg(long, value_enum)]
    pub(crate) kind: Option<ReferenceKind>,
}

#[derive(Debug, Args)]
pub(crate) struct Listen {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Show changes of the list of tools
    #[arg(long)]
    pub(crate) tools: bool,
    /// Show changes of the list of prompts
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Show changes of the list of resources
    #[arg(long)]
    pub(crate) resources: bool,
    /// Exit after this many changes
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

/// The arguments of `servers`.
#[derive(Debug, Args)]
pub(crate) struct Servers {
    /// List only the servers of this file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Serve on standard input and output, for a client that starts this command
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Serve over HTTP until interrupted; port 0 selects a free port
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:3000",
        conflicts_with = "stdio"
    )]
    pub(crate) http: Option<String>,
    /// With `--http`, a host name that remote clients use for the server; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) public_host: Vec<String>,
    /// With `--http`, also serve clients of revision 2024-11-05 at `/sse`
    #[arg(long, requires = "http")]
    pub(crate) sse: bool,
    /// With `--http`, share sessions, streams and tasks with other nodes through this Redis or Valkey
    #[arg(long, value_name = "URL", requires = "http")]
    pub(crate) redis: Option<String>,
    /// With `--http`, seal request state with the 32 bytes of this file, so that other nodes with the same file accept it
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "redis")]
    pub(crate) state_key: Option<PathBuf>,
}

/// The protocol eras that can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    /// Detect the era of the server; prefer the newer one
    Auto,
    /// Requests without a handshake
    Modern,
    /// A handshake before the first request
    Legacy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// In a terminal, unless NO_COLOR or TERM=dumb is set
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceKind {
    /// A prompt
    Prompt,
    /// A resource template
    Template,
}

fn revision(text: &str) -> Result<ProtocolVersion, String> {
    text.parse().map_err(|_| {
        let known = ProtocolVersion::ALL.map(ProtocolVersion::as_str);
        format!("the revisions are {}", known.join(", "))
    })
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write it as `Name: value`".to_owned()),
    }
}

fn variable(text: &str) -> Result<(OsString, Option<OsString>), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.into())),
        None => (text, None),
    };
    if name.is_empty() || text.contains('\0') {
        Err("write it as `NAME=value` or `NAME`".to_owned())
    } else {
        Ok((name.into(), value))
    }
}

fn input(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((id, value)) if !id.is_empty() => Ok((id.to_owned(), value.to_owned())),
        _ => Err("write it as `ID=VALUE`".to_owned()),
    }
}

fn level(text: &str) -> Result<LoggingLevel, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        let known = LoggingLevel::ALL.map(|level| crate::show::level_name(level).to_owned());
        format!("the levels are {}", known.join(", "))
    })
}

/// Parses a duration with its unit. Without a unit it is in seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write it as `500ms`, `30s`, `2m` or `1h`".to_owned()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "write it as `500ms`, `30s`, `2m` or `1h`".to_owned())?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("it must be greater than zero and not too large".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_states_the_default_timeouts() {
        let check = |name: &str, expected: &str| {
            let mut command = Arguments::command();
            let command = command.find_subcommand_mut(name).expect("the command");
            let help = command.render_help().to_string();
            let help: Vec<&str> = help.split_whitespace().collect();
            assert!(help.join(" ").contains(expected), "{help:?}");
        };
        let limits = toolwire::ClientLimits::default();
        let (timeout, connecting) = (limits.timeout.as_secs(), limits.connect_timeout.as_secs());
        let expected = format!("[default: {timeout}s, and {connecting}s for connecting]");
        check("tools", &expected);
        let expected = format!("[default: 10m, and {connecting}s for connecting]");
        check("proxy", &expected);
    }

    #[test]
    fn durations_have_units() {
        fn check(text: &str, expected: Option<u64>) {
            let milliseconds = duration(text).ok().map(|duration| duration.as_millis());
            assert_eq!(milliseconds, expected.map(u128::from), "{text}");
        }
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check("1.5", Some(1500));
        check("2m", Some(120_000));
        check("1h", Some(3_600_000));
        check("0", None);
        check("", None);
        check("ten", None);
        check("5d", None);
        check("99999999999999999999h", None);
    }

    #[test]
    fn variables_have_a_name_and_an_optional_value() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), Some("b=c".into()))));
        assert_eq!(variable("A="), Ok(("A".into(), Some("".into()))));
        assert_eq!(variable("A"), Ok(("A".into(), None)));
        assert!(variable("=b").is_err());
        assert!(variable("").is_err());
    }

    #[test]
    fn headers_have_a_name() {
        assert_eq!(header("A: b: c"), Ok(("A".into(), "b: c".into())));
        assert_eq!(header("A:"), Ok(("A".into(), String::new())));
        assert!(header(": b").is_err());
        assert!(header("A").is_err());
    }
}
