//! The contestants, and how each one is started.
//!
//! Every server accepts `http PORT N` and `stdio 0 N`, prints its URL as its first line if it serves HTTP, and has the
//! same N tools. Servers with HTTP/2 and TLS accept `http2 PORT N` and `https PORT N CERTIFICATE KEY`. Every client
//! accepts `URL CONCURRENCY SECONDS`.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::certificate::Certificate;

/// A contestant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Contestant {
    /// Toolwire.
    Toolwire,
    /// Toolwire before a change.
    Before,
    /// The limit: only hyper or tokio, and serde_json.
    Limit,
    /// The official Rust SDK, in its fastest configuration.
    Rmcp,
    /// The official TypeScript SDK.
    Typescript,
    /// The official Python SDK.
    Python,
}

impl Contestant {
    /// All contestants, in the order of the tables.
    pub const ALL: [Self; 6] = [
        Self::Toolwire,
        Self::Before,
        Self::Limit,
        Self::Rmcp,
        Self::Typescript,
        Self::Python,
    ];

    /// Returns the name in the tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Toolwire => "toolwire",
            Self::Before => "before",
            Self::Limit => "limit",
            Self::Rmcp => "rmcp",
            Self::Typescript => "typescript",
            Self::Python => "python",
        }
    }

    /// Returns `true` if an error of this contestant is an error of toolwire.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Toolwire | Self::Limit)
    }

    /// Returns `true` if this contestant is so slow that it gets less work.
    pub(crate) fn is_slow(self) -> bool {
        matches!(self, Self::Typescript | Self::Python)
    }
}

/// The programs of one contestant, each with its first arguments.
#[derive(Debug, Clone)]
struct Programs {
    contestant: Contestant,
    server: Vec<OsString>,
    /// The same server with HTTP/2 and TLS. Only some contestants have one.
    http2_tls: Option<Vec<OsString>>,
    /// A server whose tool `change` changes the list of tools. Only some contestants have one.
    streams: Option<Vec<OsString>>,
    client: Option<Vec<OsString>>,
}

impl Programs {
    fn toolwire(contestant: Contestant, directory: &Path) -> Self {
        let program = |name| vec![in_directory(directory, name)];
        Self {
            contestant,
            server: program("bench-server"),
            http2_tls: Some(program("bench-server-http2-tls")),
            streams: Some(program("stream-server")),
            client: Some(program("bench-client")),
        }
    }
}

/// The contestants, and the reasons why others are missing.
#[derive(Debug, Clone, Default)]
pub struct Lineup {
    present: Vec<Programs>,
    absent: Vec<(Contestant, String)>,
}

impl Lineup {
    /// Creates a list with toolwire and the limits, whose programs are in one directory.
    #[must_use]
    pub fn ours(directory: &Path) -> Self {
        let mut lineup = Self::default();
        lineup
            .present
            .push(Programs::toolwire(Contestant::Toolwire, directory));
        let server = in_directory(directory, "limit-server");
        let streams = [vec![server.clone()], server_arguments("http", 3)].concat();
        lineup.present.push(Programs {
            contestant: Contestant::Limit,
            server: vec![server],
            http2_tls: Some(vec![in_directory(directory, "limit-server-http2-tls")]),
            streams: Some(streams),
            client: Some(vec![in_directory(directory, "limit-client")]),
        });
        lineup
    }

    /// Adds toolwire before a change, whose programs are in this directory.
    #[must_use]
    pub fn with_before(mut self, directory: &Path) -> Self {
        self.present
            .push(Programs::toolwire(Contestant::Before, directory));
        self
    }

    /// Adds rmcp, whose programs are in this directory.
    #[must_use]
    pub fn with_rmcp(mut self, directory: &Path) -> Self {
        let server = in_directory(directory, "rmcp-server");
        let streams = [vec![server.clone()], server_arguments("streams", 3)].concat();
        self.present.push(Programs {
            contestant: Contestant::Rmcp,
            http2_tls: Some(vec![server.clone()]),
            server: vec![server],
            streams: Some(streams),
            client: Some(vec![in_directory(directory, "rmcp-client")]),
        });
        self
    }

    /// Adds a server that is a script.
    #[must_use]
    pub fn with_script(mut self, contestant: Contestant, program: &Path, script: &Path) -> Self {
        self.present.push(Programs {
            contestant,
            server: vec![program.into(), script.into()],
            http2_tls: None,
            streams: None,
            client: None,
        });
        self
    }

    /// Marks a contestant as missing, for this reason.
    #[must_use]
    pub fn without(mut self, contestant: Contestant, reason: impl Into<String>) -> Self {
        self.present
            .retain(|programs| programs.contestant != contestant);
        self.absent.push((contestant, reason.into()));
        self
    }

    /// Selects only these contestants.
    #[must_use]
    pub fn only(mut self, contestants: &[Contestant]) -> Self {
        self.present
            .retain(|programs| contestants.contains(&programs.contestant));
        self.absent
            .retain(|(contestant, _)| contestants.contains(contestant));
        self
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = Contestant> {
        self.present.iter().map(|programs| programs.contestant)
    }

    pub(crate) fn absent(&self) -> &[(Contestant, String)] {
        &self.absent
    }

    pub(crate) fn server(
        &self,
        contestant: Contestant,
        transport: &str,
        tools: usize,
    ) -> Option<Command> {
        let programs = self.programs(contestant)?;
        let line = [programs.server.clone(), server_arguments(transport, tools)].concat();
        command(&line)
    }

    /// Returns a server of HTTP/2 with prior knowledge.
    pub(crate) fn http2_server(&self, contestant: Contestant, tools: usize) -> Option<Command> {
        let program = self.programs(contestant)?.http2_tls.clone()?;
        command(&[program, server_arguments("http2", tools)].concat())
    }

    /// Returns a server of HTTP/1.1 over TLS with this certificate.
    pub(crate) fn tls_server(
        &self,
        contestant: Contestant,
        tools: usize,
        certificate: &Certificate,
    ) -> Option<Command> {
        let program = self.programs(contestant)?.http2_tls.clone()?;
        let files = [certificate.certificate(), certificate.key()].map(OsString::from);
        let arguments = server_arguments("https", tools);
        command(&[program, arguments, files.to_vec()].concat())
    }

    /// Returns a program that processes the message of its standard input this many times. Only toolwire and the limit
    /// have one.
    pub(crate) fn in_process(
        &self,
        contestant: Contestant,
        tools: usize,
    ) -> Option<impl Fn(usize) -> Command> {
        let program = self.programs(contestant)?.server.first()?.clone();
        let is_supported = matches!(
            contestant,
            Contestant::Toolwire | Contestant::Before | Contestant::Limit
        );
        is_supported.then_some(move |calls: usize| {
            let mut command = Command::new(&program);
            command.args(["in-process", &calls.to_string(), &tools.to_string()]);
            command
        })
    }

    pub(crate) fn streams_server(&self, contestant: Contestant) -> Option<Command> {
        command(self.programs(contestant)?.streams.as_ref()?)
    }

    pub(crate) fn client(
        &self,
        contestant: Contestant,
        url: &str,
        at_once: usize,
        seconds: u32,
    ) -> Option<Command> {
        let mut command = command(self.programs(contestant)?.client.as_ref()?)?;
        command.args([url, &at_once.to_string(), &seconds.to_string()]);
        Some(command)
    }

    fn programs(&self, contestant: Contestant) -> Option<&Programs> {
        self.present
            .iter()
            .find(|programs| programs.contestant == contestant)
    }
}

/// Returns the arguments for a free port.
fn server_arguments(transport: &str, tools: usize) -> Vec<OsString> {
    vec![transport.into(), "0".into(), tools.to_string().into()]
}

fn in_directory(directory: &Path, name: &str) -> OsString {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    directory.join(file).into()
}

fn command(line: &[OsString]) -> Option<Command> {
    let (program, arguments) = line.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}
