//! What can be typed after `toolwire`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use toolwire::{LoggingLevel, ProtocolVersion};

use crate::accounts::arguments::{LogIn, LogOut, WhoAmI};

/// The codes a script can rely on; `failure::Exit` has the same ones.
const EXIT_CODES: &str = "\
Exit codes:
    0  it worked
    1  the tool answered that it failed
    2  the command line is wrong, or an argument of the tool is
    3  no connection: DNS, TCP, TLS, a command that does not start or ends early
    4  the server answered with an error, or broke the protocol
    5  no answer in time
    6  the credentials were refused (HTTP 401 or 403), or somebody has to log in
  130  interrupted (143 when asked to terminate, 129 when the terminal is gone)";

const SERVERS: &str = "\
A server is one of
    https://example.com/mcp   an address
    -- npx some-server /tmp   a command that is started; it comes last, after everything else
    weather                   a name from --config, ./mcp.json, ./.mcp.json, ./.vscode/mcp.json
                              or ~/.config/toolwire/mcp.json";

const GIVEN: &str = "\
Arguments:
    count=3             converted to what the tool's schema wants
    place.city=Oslo     a member of an object
    tag=a tag=b         several elements of an array
    filter:='{\"a\":1}'   JSON as it is
    text=@notes.txt     the content of a file; @@ for a text that begins with @
    @arguments.json     all arguments from a file; - reads them from standard input";

/// Try, inspect and serve MCP servers.
#[derive(Debug, Parser)]
#[command(name = "toolwire", version, arg_required_else_help = true)]
#[command(after_help = format!("{SERVERS}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a server is and what it can do
    #[command(
        override_usage = "toolwire discover [OPTIONS] <SERVER>\n       toolwire discover [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Discover(Plain),
    /// List tools, or show one of them
    #[command(
        override_usage = "toolwire tools [OPTIONS] <SERVER> [TOOL]\n       toolwire tools [OPTIONS] [TOOL] -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Tools(Plain),
    /// Call a tool
    #[command(
        override_usage = "toolwire call [OPTIONS] <SERVER> <TOOL> [ARGUMENT]...\n       toolwire call [OPTIONS] <TOOL> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{GIVEN}\n\n{SERVERS}\n\n{EXIT_CODES}"))]
    Call(Call),
    /// List resources and resource templates
    #[command(
        override_usage = "toolwire resources [OPTIONS] <SERVER>\n       toolwire resources [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Resources(Resources),
    /// Read a resource; a template takes the values of its variables
    #[command(
        override_usage = "toolwire read [OPTIONS] <SERVER> <URI> [VARIABLE=VALUE]...\n       toolwire read [OPTIONS] <URI> [VARIABLE=VALUE]... -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Read(Read),
    /// List prompts, or show one of them
    #[command(
        override_usage = "toolwire prompts [OPTIONS] <SERVER> [PROMPT]\n       toolwire prompts [OPTIONS] [PROMPT] -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Prompts(Plain),
    /// Get a prompt, filled in
    #[command(
        override_usage = "toolwire prompt [OPTIONS] <SERVER> <PROMPT> [ARGUMENT]...\n       toolwire prompt [OPTIONS] <PROMPT> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{GIVEN}\n\n{SERVERS}"))]
    Prompt(Prompt),
    /// Ask for completions of an argument of a prompt or a resource template
    #[command(
        override_usage = "toolwire complete [OPTIONS] <SERVER> <PROMPT|TEMPLATE> [KNOWN=VALUE]... <NAME=TYPED>\n       toolwire complete [OPTIONS] <PROMPT|TEMPLATE> [KNOWN=VALUE]... <NAME=TYPED> -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Complete(Complete),
    /// Show changes as they happen; without a choice, those of all lists
    #[command(
        override_usage = "toolwire listen [OPTIONS] <SERVER> [URI]...\n       toolwire listen [OPTIONS] [URI]... -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Listen(Listen),
    /// Ask a server whether it is there
    #[command(
        override_usage = "toolwire ping [OPTIONS] <SERVER>\n       toolwire ping [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVERS)]
    Ping(Plain),
    /// Log in at a server; other commands then use the login, and renew it
    Login(LogIn),
    /// Forget a login, and have its tokens revoked where that is possible
    Logout(LogOut),
    /// Show the login at a server, or all of them
    Whoami(WhoAmI),
    /// A bundled server to try any client against; without `--stdio` or `--http`, a short tour of it
    Demo(Demo),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Command {
    /// How it tells of its results, if there is a choice.
    pub(crate) fn output(&self) -> Option<&Output> {
        Some(match self {
            Self::Discover(command)
            | Self::Tools(command)
            | Self::Prompts(command)
            | Self::Ping(command) => &command.server.output,
            Self::Call(command) => &command.server.output,
            Self::Resources(command) => &command.server.output,
            Self::Read(command) => &command.server.output,
            Self::Prompt(command) => &command.server.output,
            Self::Complete(command) => &command.server.output,
            Self::Listen(command) => &command.server.output,
            Self::Login(command) => &command.output,
            Self::Logout(command) => &command.output,
            Self::Whoami(command) => &command.output,
            Self::Demo(_) | Self::Completions { .. } => return None,
        })
    }
}

/// Where to go and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct Server {
    /// The server, unless a command is given, and what the command is about
    #[arg(value_name = "WORD", hide = true)]
    pub(crate) words: Vec<String>,
    /// The command that starts the server
    #[arg(value_name = "COMMAND", last = true, hide = true)]
    pub(crate) command: Vec<OsString>,
    /// Look up names in this file only
    #[arg(long, value_name = "FILE", help_heading = "Connection")]
    pub(crate) config: Option<PathBuf>,
    /// What to speak; `auto` asks the server
    #[arg(long, value_enum, default_value_t = Era::Auto, help_heading = "Connection")]
    pub(crate) era: Era,
    /// Speak this revision only
    #[arg(long, value_name = "VERSION", value_parser = revision, conflicts_with = "era", help_heading = "Connection")]
    pub(crate) protocol_version: Option<ProtocolVersion>,
    /// Send an HTTP header with every request, `Name: value`; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header, help_heading = "Connection")]
    pub(crate) headers: Vec<(String, String)>,
    /// Send the bearer token that is in this environment variable
    #[arg(long, value_name = "VARIABLE", help_heading = "Connection")]
    pub(crate) bearer_env: Option<String>,
    /// Pass an environment variable to the command: `NAME=value`, or `NAME` with its value here; may be repeated
    #[arg(long = "env", short = 'e', value_name = "VARIABLE", value_parser = variable, help_heading = "Connection")]
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    /// Pass the whole environment to the command, credentials included; otherwise it gets PATH, HOME and the like
    #[arg(long, help_heading = "Connection")]
    pub(crate) inherit_env: bool,
    /// Log in with the browser if the server wants it, and keep the login
    #[arg(long, conflicts_with = "bearer_env", help_heading = "Connection")]
    pub(crate) login: bool,
    /// Wait this long without a sign of life: `30s`, `500ms`, `2m` [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Connection")]
    pub(crate) timeout: Option<Duration>,
    /// Tell the server of this root, a `file://` address; may be repeated
    #[arg(long = "root", value_name = "URI", help_heading = "Connection")]
    pub(crate) roots: Vec<String>,
    /// Show the server's log messages from this level on: debug, info, notice, warning, error, …
    #[arg(long, value_name = "LEVEL", value_parser = level, help_heading = "Output")]
    pub(crate) log_level: Option<LoggingLevel>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How results are told.
#[derive(Debug, Clone, Args)]
pub(crate) struct Output {
    /// Show every message on standard error
    #[arg(long, short, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Print JSON as the protocol has it
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Output")]
    pub(crate) color: Colour,
}

/// How questions of the server are answered without a terminal.
#[derive(Debug, Clone, Args)]
pub(crate) struct Answers {
    /// Fill in this field when the server asks; may be repeated
    #[arg(
        long = "answer",
        value_name = "FIELD=VALUE",
        help_heading = "Questions of the server"
    )]
    pub(crate) answers: Vec<String>,
    /// Decline whatever the server asks
    #[arg(
        long,
        conflicts_with = "answers",
        help_heading = "Questions of the server"
    )]
    pub(crate) decline: bool,
}

/// A command without options of its own.
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
    pub(crate) answers: Answers,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Save pictures, sound and other bytes here; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
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
    pub(crate) answers: Answers,
    /// Save the contents here; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) answers: Answers,
    /// All arguments as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    #[command(flatten)]
    pub(crate) server: Server,
    /// What the name belongs to; otherwise whatever has a colon in it is a template
    #[arg(long, value_enum)]
    pub(crate) kind: Option<ReferenceKind>,
}

#[derive(Debug, Args)]
pub(crate) struct Listen {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Changes of the list of tools
    #[arg(long)]
    pub(crate) tools: bool,
    /// Changes of the list of prompts
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Changes of the list of resources
    #[arg(long)]
    pub(crate) resources: bool,
    /// End after this many changes
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Serve on standard input and output, for a client that starts this command
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Serve on HTTP until interrupted; port 0 is any free port
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:3000",
        conflicts_with = "stdio"
    )]
    pub(crate) http: Option<String>,
    /// With `--http`, a name under which clients elsewhere reach the server; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) public_host: Vec<String>,
    /// With `--http`, serve clients of 2024-11-05 too, at `/sse`
    #[arg(long, requires = "http")]
    pub(crate) sse: bool,
}

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    /// Whatever the server speaks, the newer first
    Auto,
    /// Stateless requests
    Modern,
    /// A handshake first
    Legacy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// In a terminal, unless NO_COLOR is set
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

fn level(text: &str) -> Result<LoggingLevel, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        let known = LoggingLevel::ALL.map(|level| crate::show::level_name(level).to_owned());
        format!("the levels are {}", known.join(", "))
    })
}

/// A time with its unit; without one, seconds.
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
        _ => Err("it must be more than nothing and less than forever".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
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
    fn variables_have_a_name_and_perhaps_a_value() {
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
