//! `toolwire demo`: starts the bundled server as a client would, and shows what both sides say.

use std::io::{self, IsTerminal, Write};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// One thing to show.
struct Step {
    title: &'static str,
    messages: Vec<Value>,
    /// The id whose answer ends the step.
    until: i64,
}

/// Runs every step against a freshly started server.
pub(crate) async fn run() -> io::Result<()> {
    let mut server = Conversation::start()?;
    for step in steps() {
        server.show(&step).await?;
    }
    server.end().await?;
    say(
        "\nNow point your own client at it:\n\n    toolwire demo --stdio\n    toolwire demo --http\n",
    )
}

fn steps() -> Vec<Step> {
    let modern = |id: i64, method: &str, mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = newest().into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    };
    let countdown = json!({
        "name": "countdown",
        "arguments": {"from": 3, "delay_ms": 50},
        "_meta": {"progressToken": "launch"},
    });
    let initialize = json!({
        "protocolVersion": toolwire::ProtocolVersion::ALL[3].as_str(),
        "capabilities": {},
        "clientInfo": {"name": "tour", "version": "1.0.0"},
    });
    vec![
        Step {
            title: "What can you do? (stateless, the newest revision)",
            messages: vec![modern(1, "server/discover", json!({}))],
            until: 1,
        },
        Step {
            title: "A tool call with a structured result",
            messages: vec![modern(
                2,
                "tools/call",
                json!({"name": "add", "arguments": {"a": 19, "b": 23}}),
            )],
            until: 2,
        },
        Step {
            title: "Progress while it runs",
            messages: vec![modern(3, "tools/call", countdown)],
            until: 3,
        },
        Step {
            title: "An older client on the same process",
            messages: vec![
                json!({"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": initialize}),
                json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
                json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
                       "params": {"name": "echo", "arguments": {"text": "hello from the past"}}}),
            ],
            until: 5,
        },
    ]
}

fn newest() -> &'static str {
    toolwire::ProtocolVersion::LATEST.as_str()
}

/// A server process and the two pipes to it.
struct Conversation {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Conversation {
    fn start() -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["demo", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the demo server has no pipes"));
        };
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
        })
    }

    async fn show(&mut self, step: &Step) -> io::Result<()> {
        say(&format!("\n{}\n", step.title))?;
        for message in &step.messages {
            say(&format!("  → {message}"))?;
            self.input
                .write_all(format!("{message}\n").as_bytes())
                .await?;
        }
        while let Some(line) = self.output.next_line().await? {
            say(&format!("  ← {}", shortened(&line)))?;
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == step.until {
                return match answer.get("error") {
                    Some(error) => Err(io::Error::other(format!(
                        "the demo server answered {error}"
                    ))),
                    None => Ok(()),
                };
            }
        }
        Err(io::Error::other("the demo server hung up"))
    }

    async fn end(mut self) -> io::Result<()> {
        drop(self.input);
        let status = self.child.wait().await?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "the demo server ended with {status}"
            )))
        }
    }
}

/// A line that fits a screen; nothing is cut when the output goes to a file or a program.
fn shortened(line: &str) -> String {
    const LONGEST: usize = 400;
    if !io::stdout().is_terminal() || line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LONGEST).collect();
    format!("{kept}…")
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
