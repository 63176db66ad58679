//! The parts children play. A child says on its error output which process it is and what it receives.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use toolwire::types::ErrorObject;
use toolwire::{Server, ServerCommand, tool};

use super::{Heard, connect};

/// Names the part in the environment of a child.
const PART: &str = "TOOLWIRE_TEST_PART";

/// The test in which a child finds its part.
const STAGE: &str =
    "client_child::child::a_server_of_this_library_is_spoken_to_in_the_newest_revision";

/// What a child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A server made with this library.
    Toolwire,
    /// Answers everything in the modern way.
    Modern,
    /// Modern, but it is not ready for `server/discover` at first and knows no `initialize`.
    LateModern,
    /// Refuses `server/discover` because it speaks 2025-06-18 only.
    NamesLegacyVersion,
    /// Refuses `server/discover` with this code.
    Refuses(i64),
    /// Answers `server/discover` with a result of something else.
    AnswersSomethingElse,
    /// Prints something that is no message.
    PrintsGarbage,
    /// Leaves what it does not know unanswered.
    KeepsSilent,
    /// Ends when it gets what it does not know.
    DiesOfDiscover,
    /// Says much and ends with code 3, whatever it gets.
    DiesAlways,
    /// Does not answer anything.
    AnswersNothing,
    /// Does not read after it was initialized.
    Deaf,
    /// Prints log lines, colours and half a message between messages.
    Noisy,
    /// Answers with text of the length that is asked for.
    Long,
    /// Writes ten mebibytes to its error output before every answer.
    Talkative,
    /// Starts and ends children of its own a hundred times.
    #[cfg(target_os = "linux")]
    Parent,
}

impl Part {
    pub(super) fn command(self) -> ServerCommand {
        let program = std::env::current_exe().expect("this program is a file");
        ServerCommand::new(program)
            .args(["--exact", STAGE, "--nocapture"])
            .env(PART, format!("{self:?}"))
    }

    /// Whether the client has to draw its conclusion from silence.
    pub(super) fn leaves_discover_unanswered(self) -> bool {
        matches!(
            self,
            Self::KeepsSilent | Self::PrintsGarbage | Self::LateModern | Self::AnswersNothing
        )
    }

    fn from_environment() -> Option<Self> {
        let name = std::env::var(PART).ok()?;
        let refuses = name
            .strip_prefix("Refuses(")
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|code| code.parse().ok())
            .map(Self::Refuses);
        let parts = [
            Self::Toolwire,
            Self::Modern,
            Self::LateModern,
            Self::NamesLegacyVersion,
            Self::AnswersSomethingElse,
            Self::PrintsGarbage,
            Self::KeepsSilent,
            Self::DiesOfDiscover,
            Self::DiesAlways,
            Self::AnswersNothing,
            Self::Deaf,
            Self::Noisy,
            Self::Long,
            Self::Talkative,
            #[cfg(target_os = "linux")]
            Self::Parent,
        ];
        let part = parts.into_iter().find(|part| format!("{part:?}") == name);
        Some(refuses.or(part).expect("a part that is in the list"))
    }

    fn play(self) {
        eprintln!("process {}", std::process::id());
        // The harness may have begun a line, which must not swallow the first message.
        print("\n");
        match self {
            Self::Toolwire => toolwire_server(),
            #[cfg(target_os = "linux")]
            Self::Parent => super::ending::a_hundred_children(),
            _ => self.read_messages(),
        }
        // Nothing that the test harness would print belongs on the output of a server.
        std::process::exit(0);
    }

    fn read_messages(self) {
        for line in std::io::stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line.unwrap()).expect("a client sends JSON");
            let method = message["method"].as_str().unwrap_or("an answer").to_owned();
            match message["params"]["requestId"].as_i64() {
                Some(id) => eprintln!("got {method} {id}"),
                None => eprintln!("got {method}"),
            }
            let answer = match message.get("id") {
                Some(_) => self.answer(&method, &message["params"]),
                None => None,
            };
            let answer = match answer {
                None => continue,
                Some(Ok(result)) => {
                    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
                }
                Some(Err(error)) => json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
            };
            print(&format!("{answer}\n"));
            if self == Self::Deaf && method == "initialize" {
                eprintln!("deaf");
                std::thread::park();
            }
        }
    }

    fn answer(self, method: &str, params: &Value) -> Option<Result<Value, ErrorObject>> {
        let is_modern = matches!(self, Self::Modern | Self::LateModern);
        match (self, method) {
            (Self::AnswersNothing, _) => None,
            (Self::DiesAlways, _) => {
                for number in 0..1000 {
                    eprintln!("line {number}");
                }
                eprintln!("the database is gone");
                std::process::exit(3)
            }
            (Self::LateModern, "server/discover") if !asked_before() => None,
            (_, "server/discover") if is_modern => Some(Ok(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
            }))),
            (_, "initialize") if is_modern => Some(Err(unsupported("2026-07-28"))),
            (Self::NamesLegacyVersion, "server/discover") => Some(Err(unsupported("2025-06-18"))),
            (Self::Refuses(code), "server/discover") => {
                Some(Err(ErrorObject::new(code, "what is that?")))
            }
            (Self::AnswersSomethingElse, "server/discover") => Some(Ok(json!({"tools": []}))),
            (Self::PrintsGarbage, "server/discover") => {
                print("server/discover: command not found\n");
                None
            }
            (Self::DiesOfDiscover, "server/discover") => std::process::exit(1),
            (Self::KeepsSilent, "server/discover") => None,
            (_, "initialize") => Some(Ok(json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "part", "version": "1.0.0"},
            }))),
            (_, "tools/call") if params["name"] == "wait" => None,
            (Self::Noisy, "tools/call") => {
                print("\x1b[32mINFO\x1b[0m calling\n{\"level\":\"info\"}\n\n[1, 2\n");
                if params["name"] == "end" {
                    print("{\"jsonrpc\":\"2.0\",\"id\":");
                    std::process::exit(0);
                }
                Some(Ok(json!({"content": [{"type": "text", "text": "quiet"}]})))
            }
            (Self::Long, "tools/call") if params["name"] == "endless" => {
                for _ in 0..100 {
                    print(&"x".repeat(1 << 20));
                }
                print("\n");
                Some(Ok(json!({"content": [{"type": "text", "text": "over"}]})))
            }
            (Self::Long, "tools/call") => {
                let length = params["arguments"]["length"].as_u64().unwrap();
                Some(Ok(
                    json!({"content": [{"type": "text", "text": "x".repeat(usize::try_from(length).unwrap())}]}),
                ))
            }
            (Self::Talkative, "tools/call") => {
                let line = format!("{}\n", "y".repeat(1023));
                for _ in 0..10 * 1024 {
                    std::io::stderr().write_all(line.as_bytes()).unwrap();
                }
                Some(Ok(json!({"content": [{"type": "text", "text": "said"}]})))
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

/// Whether this is not the first time.
fn asked_before() -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    static ASKED: AtomicBool = AtomicBool::new(false);
    ASKED.swap(true, Ordering::Relaxed)
}

/// Writes to the output past what the test harness captures.
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
    let server = Server::new("part", "1.0.0").tool(add);
    runtime.block_on(server.serve_stdio()).unwrap();
}

/// Also the stage: in a child this test does not test, it plays.
#[test]
fn a_server_of_this_library_is_spoken_to_in_the_newest_revision() {
    if let Some(part) = Part::from_environment() {
        return part.play();
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, heard): (_, Heard) = connect(Part::Toolwire).await;
        assert_eq!(client.version().as_str(), "2026-07-28");
        let sum = client
            .call_tool("add", json!({"a": 1, "b": 2}))
            .await
            .unwrap();
        assert_eq!(sum.content[0].as_text(), Some("3"));
        client.close().await;
        drop(heard);
    });
}
