//! One script of all methods, run directly with a server and through `toolwire proxy`: the client receives the same.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use toolwire_interop::mirror::{
    HttpWire, Recording, Revision, StdioWire, differences, member_differences, run_script_with,
};
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
}

impl Pair {
    /// Checks that the client receives the same as from a server without a proxy, to the byte.
    fn check(self) {
        let direct = self.client.run_directly();
        assert!(direct.len() > FEWEST_MESSAGES, "{}", direct.len());
        let found = differences(&direct, &self.run()).join("\n");
        assert!(found.is_empty(), "{self:?}:\n{found}");
    }

    /// Checks that the client receives the same as from a server of its own revision, except for these members.
    ///
    /// A line that starts with `#` has the reason of the lines that follow.
    fn check_differences(self, expected: &str) {
        let direct = self.client.run_directly();
        assert!(direct.len() > FEWEST_MESSAGES, "{}", direct.len());
        let found = member_differences(&direct, &self.run());
        let expected: BTreeSet<&str> = without_reasons(expected).collect();
        let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        let unexpected: Vec<_> = found.difference(&expected).copied().collect();
        let missing: Vec<_> = expected.difference(&found).copied().collect();
        assert!(
            unexpected.is_empty() && missing.is_empty(),
            "{self:?}: not in the file:\n{}\nnot found:\n{}",
            unexpected.join("\n"),
            missing.join("\n")
        );
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
        self.client
            .run(&toolwire(), arguments, self.server.revision)
    }
}

/// Returns the differences of a file, each of which must have a reason.
fn without_reasons(text: &str) -> impl Iterator<Item = &str> {
    for paragraph in text.split("\n\n") {
        assert!(paragraph.starts_with('#'), "no reason: {paragraph}");
    }
    let lines = text.lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
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
        self.run(raw_server(), arguments.into(), self.revision)
    }

    /// Runs the script with a program: a server of this revision, or a proxy in front of one.
    fn run(self, program: &Path, arguments: Vec<OsString>, server: Revision) -> Recording {
        let recording = match self.transport {
            Transport::Stdio => {
                let mut wire = StdioWire::start(Command::new(program).args(arguments))
                    .expect("the program starts");
                let recording = run_script_with(self.revision, server, &mut wire);
                wire.close().expect("the program exits");
                recording
            }
            Transport::Http => {
                let running = ListeningServer::start_program(program, arguments);
                let running = running.unwrap_or_else(|problem| panic!("{problem}"));
                let mut wire = HttpWire::new(self.revision, running.url());
                let recording = run_script_with(self.revision, server, &mut wire);
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

/// Checks a client and a server of different eras, over the four pairs of transports. The file beside this one has the
/// differences.
fn check_eras(client: &str, server: &str, file: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mirror");
    let expected = std::fs::read_to_string(directory.join(file)).expect("the file is readable");
    let side = |name: &str, transport: Transport| Side {
        revision: Revision::from_name(name).expect("a revision"),
        transport,
    };
    for server_transport in [Transport::Stdio, Transport::Http] {
        for client_transport in [Transport::Stdio, Transport::Http] {
            let pair = Pair {
                client: side(client, client_transport),
                server: side(server, server_transport),
            };
            pair.check_differences(&expected);
        }
    }
}

#[test]
fn legacy_client_loses_only_what_its_revision_lacks() {
    check_eras("2025-11-25", "2026-07-28", "legacy_client.txt");
}

#[test]
fn modern_client_loses_only_what_its_revision_lacks() {
    check_eras("2026-07-28", "2025-11-25", "modern_client.txt");
}

#[test]
fn client_of_2025_06_18_loses_only_what_its_revision_lacks() {
    check_eras("2025-06-18", "2026-07-28", "client_of_2025_06_18.txt");
}

#[test]
fn modern_client_loses_only_what_a_server_of_2025_06_18_lacks() {
    check_eras("2026-07-28", "2025-06-18", "server_of_2025_06_18.txt");
}

#[test]
fn client_of_2025_03_26_loses_only_what_its_revision_lacks() {
    check_eras("2025-03-26", "2026-07-28", "client_of_2025_03_26.txt");
}

#[test]
fn modern_client_loses_only_what_a_server_of_2025_03_26_lacks() {
    check_eras("2026-07-28", "2025-03-26", "server_of_2025_03_26.txt");
}

#[test]
fn client_of_2024_11_05_loses_only_what_its_revision_lacks() {
    check_eras("2024-11-05", "2026-07-28", "client_of_2024_11_05.txt");
}

#[test]
fn modern_client_loses_only_what_a_server_of_2024_11_05_lacks() {
    check_eras("2026-07-28", "2024-11-05", "server_of_2024_11_05.txt");
}
