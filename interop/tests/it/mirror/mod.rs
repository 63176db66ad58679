//! One script of all methods, run directly with a server and through `toolwire proxy`: the client receives the same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolwire_interop::mirror::{HttpWire, Recording, Revision, StdioWire, differences, run_script};
use toolwire_interop::{ListeningServer, Subject, Wire};

/// The fewest messages of a run. A script that stops early would compare nothing.
const FEWEST_MESSAGES: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

/// One side of a proxy.
#[derive(Debug, Clone, Copy)]
struct Side {
    revision: Revision,
    transport: Transport,
}

/// A proxy between two sides.
#[derive(Debug, Clone, Copy)]
struct Pair {
    client: Side,
    server: Side,
    /// The differences that the revisions demand, one per paragraph. Between sides of one era there are none.
    differences: &'static str,
}

impl Pair {
    fn check(self) {
        let direct = self.client.run_directly();
        assert!(direct.len() > FEWEST_MESSAGES, "{}", direct.len());
        let forwarded = self.run();
        let found = differences(&direct, &forwarded).join("\n");
        assert!(found == self.differences, "{self:?}:\n{found}");
    }

    /// Runs the script through the proxy.
    fn run(self) -> Recording {
        let mut arguments: Vec<OsString> = vec!["proxy".into()];
        if self.client.transport == Transport::Http {
            arguments.extend(["--listen", "127.0.0.1:0"].map(Into::into));
        }
        let is_http = self.server.transport == Transport::Http;
        let upstream = is_http.then(|| self.server.listen());
        match &upstream {
            Some(upstream) => arguments.push(upstream.url().into()),
            None => {
                arguments.push("--".into());
                arguments.push(raw_server().into());
                arguments.push(self.server.revision.name().into());
            }
        }
        self.client.run(&toolwire(), arguments)
    }
}

impl Side {
    /// Starts the server over HTTP.
    fn listen(self) -> ListeningServer {
        let arguments = [self.revision.name(), "http"].map(Into::into);
        let server = ListeningServer::start_program(raw_server(), arguments.into());
        server.unwrap_or_else(|problem| panic!("{problem}"))
    }

    fn run_directly(self) -> Recording {
        let kind = match self.transport {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        };
        let arguments = [self.revision.name(), kind].map(Into::into);
        self.run(raw_server(), arguments.into())
    }

    /// Runs the script with a program, which is the server or a proxy.
    fn run(self, program: &Path, arguments: Vec<OsString>) -> Recording {
        let recording = match self.transport {
            Transport::Stdio => {
                let mut wire = StdioWire::start(Command::new(program).args(arguments))
                    .expect("the program starts");
                let recording = run_script(self.revision, &mut wire);
                wire.close().expect("the program exits");
                recording
            }
            Transport::Http => {
                let server = ListeningServer::start_program(program, arguments);
                let server = server.unwrap_or_else(|problem| panic!("{problem}"));
                let mut wire = HttpWire::new(self.revision, server.url());
                let recording = run_script(self.revision, &mut wire);
                wire.close().expect("the session ends");
                recording
            }
        };
        recording.unwrap_or_else(|problem| panic!("{self:?}: {problem}"))
    }
}

fn raw_server() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_interop-raw-server"))
}

fn toolwire() -> PathBuf {
    let command = Subject::Demo.command(Wire::Stdio);
    command.unwrap_or_else(|problem| panic!("{problem}")).0
}

/// Checks every revision with the same revision on both sides.
fn check_same_revision(client: Transport, server: Transport) {
    for revision in Revision::ALL {
        let side = |transport| Side {
            revision,
            transport,
        };
        let pair = Pair {
            client: side(client),
            server: side(server),
            differences: "",
        };
        pair.check();
    }
}

#[test]
fn stdio_to_stdio_changes_nothing() {
    check_same_revision(Transport::Stdio, Transport::Stdio);
}

#[test]
fn stdio_to_http_changes_nothing() {
    check_same_revision(Transport::Stdio, Transport::Http);
}

#[test]
fn http_to_stdio_changes_nothing() {
    check_same_revision(Transport::Http, Transport::Stdio);
}

#[test]
fn http_to_http_changes_nothing() {
    check_same_revision(Transport::Http, Transport::Http);
}
