//! The behaviors of children. A child writes its process id and the methods that it receives to standard error.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use toolwire::types::ErrorObject;
use toolwire::{Server, ServerCommand, tool};

use super::{StderrLines, connect};

/// The environment variable with the behavior of a child.
const BEHAVIOR: &str = "TOOLWIRE_TEST_BEHAVIOR";

/// The test that a child runs. It contains the code of the child.
const CHILD_TEST: &str = "child_process::child::server_of_this_crate_uses_the_newest_version";

/// The behavior of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behavior {
    /// A server of this crate.
    Toolwire,
    /// A modern server.
    Modern,
    /// A modern server that ignores the first `server/discover` and rejects `initialize`.
    LateModern,
    /// Rejects `server/discover` because it supports only 2025-06-18.
    NamesLegacyVersion,
    /// Rejects `server/discover` with this code.
    Rejects(i64),
    /// Responds to `server/discover` with the result of another method.
    RespondsWithOtherResult,
    /// Prints a line that is not a message.
    PrintsGarbage,
    /// Sends no response to `server/discover`.
    IgnoresDiscover,
    /// Responds to `server/discover` when it receives `initialize`, like a server that starts slowly.
    RespondsLate,
    /// Exits when it receives `server/discover`.
    ExitsOnDiscover,
    /// Sends no response to `server/discover`, and exits with a stack trace when it receives another message.
    ExitsAfterDiscover,
    /// Sends no response to `server/discover` or to any later message.
    HangsAfterDiscover,
    /// Exits when it receives `server/discover`, and in another way when it receives `initialize`.
    ExitsInTwoWays,
    /// Writes many lines to standard error and exits with code 3 on any request.
    AlwaysExits,
    /// Sends no response to any request.
    NeverResponds,
    /// Stops reading after `initialize`.
    StopsReading,
    /// Prints log lines, colour codes and incomplete messages between messages.
    Noisy,
    /// Responds with text of the requested length.
    LongResponses,
    /// Writes ten mebibytes to standard error before every response.
    WritesToStderr,
    /// Starts and closes a hundred children of its own.
    #[cfg(target_os = "linux")]
    Parent,
}

impl Behavior {
    pub(super) fn command(self) -> ServerCommand {
        let program = std::env::current_exe().expect("the path of this program");
        ServerCommand::new(program)
            .args(["--exact", CHILD_TEST, "--nocapture"])
            .env(BEHAVIOR, format!("{self:?}"))
    }

    /// Returns `true` if the client detects the era only after the probe timeout.
    pub(super) fn needs_probe_timeout(self) -> bool {
        matches!(
            self,
            Self::IgnoresDiscover
                | Self::RespondsLate
                | Self::PrintsGarbage
                | Self::LateModern
                | Self::NeverResponds
                | Self::ExitsAfterDiscover
                | Self::HangsAfterDiscover
        )
    }

    fn from_environment() -> Option<Self> {
        let name = std::env::var(BEHAVIOR).ok()?;
        let rejects = name
            .strip_prefix("Rejects(")
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|code| code.parse().ok())
            .map(Self::Rejects);
        let behaviors = [
            Self::Toolwire,
            Self::Modern,
            Self::LateModern,
            Self::NamesLegacyVersion,
            Self::RespondsWithOtherResult,
            Self::PrintsGarbage,
            Self::IgnoresDiscover,
            Self::RespondsLate,
            Self::ExitsOnDiscover,
            Self::ExitsAfterDiscover,
            Self::HangsAfterDiscover,
            Self::ExitsInTwoWays,
            Self::AlwaysExits,
            Self::NeverResponds,
            Self::StopsReading,
            Self::Noisy,
            Self::LongResponses,
            Self::WritesToStderr,
            #[cfg(target_os = "linux")]
            Self::Parent,
        ];
        let behavior = behaviors
            .into_iter()
            .find(|behavior| format!("{behavior:?}") == name);
        Some(rejects.or(behavior).expect("a behavior in the list"))
    }

    /// Runs the child until it exits.
    fn run(self) {
        eprintln!("process {}", std::process::id());
        // The test harness may have printed an incomplete line. The first message must start on a new line.
        print("\n");
        match self {
            Self::Toolwire => toolwire_server(),
            #[cfg(target_os = "linux")]
            Self::Parent => super::ending::run_hundred_children(),
            _ => self.read_messages(),
        }
        // Exits before the test harness prints to standard output.
        std::process::exit(0);
    }

    fn read_messages(self) {
        for line in std::io::stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line.unwrap()).expect("JSON");
            let method = message["method"]
                .as_str()
                .unwrap_or("a response")
                .to_owned();
            match message["params"]["requestId"].as_i64() {
                Some(id) => eprintln!("got {method} {id}"),
                None => eprintln!("got {method}"),
            }
            let response = match message.get("id") {
                Some(_) => self.respond(&method, &message["params"]),
                None => None,
            };
            let response = match response {
                None => continue,
                Some(Ok(result)) => {
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
                }
                Some(Err(error)) => json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
            };
            print(&format!("{response}\n"));
            if self == Self::StopsReading && method == "initialize" {
                eprintln!("stopped reading");
                std::thread::park();
            }
        }
    }

    fn respond(self, method: &str, params: &Value) -> Option<Result<Value, ErrorObject>> {
        let is_modern = matches!(self, Self::Modern | Self::LateModern);
        match (self, method) {
            (Self::NeverResponds, _) => None,
            (Self::AlwaysExits, _) => {
                for number in 0..1000 {
                    eprintln!("line {number}");
                }
                eprintln!("the database is gone");
                std::process::exit(3)
            }
            (Self::LateModern, "server/discover") if is_first_call() => None,
            (_, "server/discover") if is_modern => Some(Ok(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
            }))),
            (_, "initialize") if is_modern => Some(Err(unsupported("2026-07-28"))),
            (Self::NamesLegacyVersion, "server/discover") => Some(Err(unsupported("2025-06-18"))),
            (Self::Rejects(code), "server/discover") => {
                Some(Err(ErrorObject::new(code, "what is that?")))
            }
            (Self::RespondsWithOtherResult, "server/discover") => Some(Ok(json!({"tools": []}))),
            (Self::PrintsGarbage, "server/discover") => {
                print("server/discover: command not found\n");
                None
            }
            (Self::ExitsOnDiscover | Self::ExitsInTwoWays, "server/discover") => {
                std::process::exit(1)
            }
            (Self::ExitsInTwoWays, "initialize") => {
                eprintln!("the port is in use");
                std::process::exit(2)
            }
            (Self::ExitsAfterDiscover | Self::HangsAfterDiscover, "server/discover") => {
                HAS_DISCOVERED.store(true, Ordering::Relaxed);
                None
            }
            (Self::ExitsAfterDiscover, _) if HAS_DISCOVERED.load(Ordering::Relaxed) => {
                eprintln!("ValidationError: 24 validation errors for ClientRequest");
                std::process::exit(1)
            }
            (Self::HangsAfterDiscover, _) if HAS_DISCOVERED.load(Ordering::Relaxed) => None,
            (Self::IgnoresDiscover | Self::RespondsLate, "server/discover") => None,
            (_, "initialize") => {
                if self == Self::RespondsLate {
                    print("{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}\n");
                }
                Some(Ok(json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "child", "version": "1.0.0"},
                })))
            }
            (_, "tools/call") if params["name"] == "wait" => None,
            (Self::Noisy, "tools/call") => {
                print("\x1b[32mINFO\x1b[0m calling\n{\"level\":\"info\"}\n\n[1, 2\n");
                if params["name"] == "end" {
                    print("{\"jsonrpc\":\"2.0\",\"id\":");
                    std::process::exit(0);
                }
                Some(Ok(json!({"content": [{"type": "text", "text": "quiet"}]})))
            }
            (Self::LongResponses, "tools/call") if params["name"] == "endless" => {
                for _ in 0..100 {
                    print(&"x".repeat(1 << 20));
                }
                print("\n");
                Some(Ok(json!({"content": [{"type": "text", "text": "over"}]})))
            }
            (Self::LongResponses, "tools/call") => {
                let length = params["arguments"]["length"].as_u64().unwrap();
                Some(Ok(
                    json!({"content": [{"type": "text", "text": "x".repeat(usize::try_from(length).unwrap())}]}),
                ))
            }
            (Self::WritesToStderr, "tools/call") => {
                let line = format!("{}\n", "y".repeat(1023));
                for _ in 0..10 * 1024 {
                    std::io::stderr().write_all(line.as_bytes()).unwrap();
                }
                Some(Ok(
                    json!({"content": [{"type": "text", "text": "written"}]}),
                ))
            }
            (_, "tools/call") => Some(Ok(json!({
                "resultType": "complete",
                "content": [{"type": "text", "text": "done"}],
            }))),
            _ => Some(Err(ErrorObject::method_not_found(method.to_owned()))),
        }
    }
}

fn unsupported(version: &str) -> ErrorObject {
    let data = json!({"supported": [version], "requested": "?"});
    ErrorObject::new(-32022, "unsupported protocol version").with_data(data)
}

/// Whether this process received `server/discover`.
static HAS_DISCOVERED: AtomicBool = AtomicBool::new(false);

/// Returns `true` on the first call.
fn is_first_call() -> bool {
    static CALLED: AtomicBool = AtomicBool::new(false);
    !CALLED.swap(true, Ordering::Relaxed)
}

/// Writes to standard output without the capture of the test harness.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn toolwire_server() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let server = Server::new("child", "1.0.0").tool(add);
    runtime.block_on(server.serve_stdio()).unwrap();
}

/// In a child process this test runs the behavior of the child instead.
#[test]
fn server_of_this_crate_uses_the_newest_version() {
    if let Some(behavior) = Behavior::from_environment() {
        return behavior.run();
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, stderr): (_, StderrLines) = connect(Behavior::Toolwire).await;
        assert_eq!(client.version().as_str(), "2026-07-28");
        let sum = client
            .call_tool("add", json!({"a": 1, "b": 2}))
            .await
            .unwrap();
        assert_eq!(sum.content[0].as_text(), Some("3"));
        client.close().await;
        drop(stderr);
    });
}
