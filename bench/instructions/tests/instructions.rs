//! How many instructions a call takes, counted by valgrind: the clock and whoever else uses the machine do not matter.
//!
//! The figures are those of the day they were written down, and a twentieth more is let pass. Other compilers and processors
//! count differently, so every figure is scaled by that of reading and writing the same message with serde_json. Whoever
//! brings one down writes down the new one.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The message, read and written once with serde_json.
const REFERENCE: f64 = 25_533.0;

/// One `tools/call` with a small text, from bytes to bytes in process.
const IN_PROCESS: f64 = 11_329.0;

/// The same over HTTP, with everything around it: 2026-07-28, and in a session of 2025-11-25.
const HTTP: f64 = 27_816.0;
const HTTP_IN_SESSION: f64 = 27_066.0;

/// The same over stdio, many at once.
const STDIO: f64 = 12_913.0;

const FEW: usize = 100;
const MANY: usize = 600;

/// How many calls are sent over stdio before an answer is read.
const BURST: usize = 50;

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"counting","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A call whose `params` have these members besides name and arguments.
fn call(more: &str) -> String {
    let text = "x".repeat(100);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}{more}}}}}"#
    )
}

#[test]
fn calls_take_as_many_instructions_as_written_down() {
    let program = built();
    let modern = call(META);
    let each = |work: &dyn Fn(usize) -> u64| (work(MANY) - work(FEW)) as f64 / (MANY - FEW) as f64;
    let told = |word: &'static str| {
        let (program, message) = (program.clone(), modern.clone());
        move |times: usize| {
            let mut counted = Counted::start(&program, &[word, &times.to_string()]);
            let mut stdin = counted.process.stdin.take().unwrap();
            stdin.write_all(message.as_bytes()).unwrap();
            drop(stdin);
            counted.end()
        }
    };
    let reference = each(&told("reference"));
    let scale = reference / REFERENCE;
    let figures = [
        ("a call in process", IN_PROCESS, each(&told("handle"))),
        (
            "a call over HTTP",
            HTTP,
            each(&|times| over_http(&program, times)),
        ),
        (
            "a call in a session over HTTP",
            HTTP_IN_SESSION,
            each(&|times| in_session(&program, times)),
        ),
        (
            "a call over stdio",
            STDIO,
            each(&|times| over_stdio(&program, times)),
        ),
    ];
    let mut exceeded = String::new();
    eprintln!("reference: {reference:.0}");
    for (what, written_down, measured) in figures {
        let allowed = written_down * scale * 1.05;
        eprintln!("{what}: {measured:.0}, at most {allowed:.0}");
        if measured > allowed {
            exceeded +=
                &format!("{what} takes {measured:.0} instructions; {allowed:.0} are allowed\n");
        }
    }
    assert!(exceeded.is_empty(), "{exceeded}");
}

/// Builds the program as a release, with no more features than it needs.
fn built() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--quiet",
            "--package",
            "toolwire-instructions",
        ])
        .current_dir(package)
        .status()
        .unwrap();
    assert!(status.success(), "the program to be counted does not build");
    // Beside this test: target/debug/deps.
    let here = std::env::current_exe().unwrap();
    let target = here.ancestors().nth(3).unwrap();
    target.join("release").join("counted")
}

/// The program under valgrind.
struct Counted {
    process: Child,
}

impl Counted {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let process = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("missing: valgrind, which counts instructions; install the package of that name ({error})")
            });
        Self { process }
    }

    /// Waits for the end, and says how many instructions there were.
    fn end(self) -> u64 {
        let output = self.process.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let collected = said
            .lines()
            .find_map(|line| line.split_once("Collected : "));
        let (_, count) =
            collected.unwrap_or_else(|| panic!("valgrind does not say how many: {said}"));
        count.trim().parse().unwrap()
    }
}

/// A server under valgrind, and a connection to it.
struct Connected {
    counted: Counted,
    connection: BufReader<TcpStream>,
}

impl Connected {
    fn start(program: &Path) -> Self {
        let mut counted = Counted::start(program, &["http"]);
        let mut address = String::new();
        BufReader::new(counted.process.stdout.as_mut().unwrap())
            .read_line(&mut address)
            .unwrap();
        let connection = TcpStream::connect(address.trim()).unwrap();
        connection.set_nodelay(true).unwrap();
        Self {
            counted,
            connection: BufReader::new(connection),
        }
    }

    /// Sends a message, and returns head and body of the answer.
    fn ask(&mut self, headers: &str, message: &str) -> (String, String) {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{message}",
            message.len()
        );
        let connection = &mut self.connection;
        connection.get_mut().write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(connection.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        connection.read_exact(&mut body).unwrap();
        (head, String::from_utf8(body).unwrap())
    }

    fn call(&mut self, headers: &str, message: &str, times: usize) {
        for _ in 0..times {
            let (head, body) = self.ask(headers, message);
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            assert!(body.contains("xxxx"), "{body}");
        }
    }

    fn end(self) -> u64 {
        drop(self.connection);
        let id = self.counted.process.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(told.success());
        self.counted.end()
    }
}

fn over_http(program: &Path, times: usize) -> u64 {
    let mut server = Connected::start(program);
    let headers =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n";
    server.call(headers, &call(META), times);
    server.end()
}

fn in_session(program: &Path, times: usize) -> u64 {
    let mut server = Connected::start(program);
    let (head, _) = server.ask("", INITIALIZE);
    let session = head
        .lines()
        .find(|line| line.starts_with("mcp-session-id: "));
    let headers = format!(
        "{}\r\nMCP-Protocol-Version: 2025-11-25\r\n",
        session.unwrap()
    );
    server.ask(&headers, INITIALIZED);
    server.call(&headers, &call(""), times);
    server.end()
}

fn over_stdio(program: &Path, times: usize) -> u64 {
    let mut counted = Counted::start(program, &["stdio"]);
    let mut stdin = counted.process.stdin.take().unwrap();
    let mut answers = BufReader::new(counted.process.stdout.take().unwrap()).lines();
    let burst = (call(META) + "\n").repeat(BURST);
    for _ in 0..times / BURST {
        stdin.write_all(burst.as_bytes()).unwrap();
        for answer in answers.by_ref().take(BURST) {
            let answer = answer.unwrap();
            assert!(answer.contains("xxxx"), "{answer}");
        }
    }
    drop(stdin);
    counted.end()
}
