//! A `toolwire demo --stdio` process and its pipes.
//!
//! Every wait is bounded by [`STEP_TIMEOUT`], so that a lost response fails a test instead of blocking it. No test
//! depends on durations.

use std::collections::HashMap;
use std::future::Future;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

/// Far longer than any step takes, even on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);

/// The protocol revision of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: every request is self-describing.
    Modern,
    /// 2025-11-25: the connection starts with a handshake.
    Legacy,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Modern, Self::Legacy];

    /// Returns a request of this era, without the line ending.
    pub(crate) fn request(self, id: i64, method: &str, mut params: Value) -> Value {
        if self == Self::Modern {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientCapabilities"] = client_capabilities();
            meta["io.modelcontextprotocol/logLevel"] = "debug".into();
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    /// Returns a tool call of this era.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers create the value in place"
    )]
    pub(crate) fn call(self, id: i64, tool: &str, arguments: Value) -> Value {
        self.request(
            id,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        )
    }
}

fn client_capabilities() -> Value {
    json!({"elicitation": {}, "sampling": {}})
}

/// Starts a command, and returns the JSON of the first line that it prints. It ends when it is dropped.
pub(crate) async fn start_and_read_line(mut command: Command) -> (Child, Value) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    let mut child = command.spawn().expect("the command starts");
    let stdout = child.stdout.take().expect("standard output is piped");
    let line = within(BufReader::new(stdout).lines().next_line()).await;
    let line = line.expect("standard output is UTF-8").expect("a line");
    (child, serde_json::from_str(&line).expect("JSON"))
}

/// Returns `toolwire` with these arguments, independent of the environment of the tests.
pub(crate) fn toolwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolwire"));
    command.args(arguments);
    remove_log_variables(&mut command);
    // The tests must not use stored logins, or eras that an earlier run recorded. This directory does not exist.
    let no_home = format!("toolwire-tests-without-home-{}", std::process::id());
    command
        .env("TOOLWIRE_HOME", std::env::temp_dir().join(no_home))
        .env_remove("TOOLWIRE_TOKEN_STORE");
    // Nor must they depend on the proxies of this machine.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command
            .env_remove(name)
            .env_remove(name.to_ascii_lowercase());
    }
    command
}

/// Removes variables that change the texts on standard error.
pub(crate) fn remove_log_variables(command: &mut Command) {
    command.env_remove("RUST_LOG").env_remove("RUST_BACKTRACE");
}

/// The running server and its messages so far.
pub(crate) struct Demo {
    era: Era,
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    /// Collects standard error until its end. Without it, a full pipe would block the server.
    stderr: Option<JoinHandle<String>>,
    last_id: i64,
    responses: HashMap<i64, Value>,
    /// Notifications and requests of the server that no test has read yet, in order.
    pub(crate) unsolicited: Vec<Value>,
}

/// The outcome of a server process.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The responses after the end of input, and earlier ones that no test has read.
    pub(crate) responses: HashMap<i64, Value>,
    /// The complete standard error.
    pub(crate) stderr: String,
}

impl Demo {
    /// Starts the server, and does the handshake if the era requires it.
    pub(crate) async fn start(era: Era) -> Self {
        let mut command = toolwire(&["demo", "--stdio"]);
        command.stderr(Stdio::piped());
        Self::start_command(era, command).await
    }

    /// Starts a server with another command.
    pub(crate) async fn start_command(era: Era, mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program under test starts");
        let stderr = child.stderr.take().map(|mut stderr| {
            tokio::spawn(async move {
                let mut text = Vec::new();
                // A killed server may cause an error here. The text before it is still used.
                let _ = stderr.read_to_end(&mut text).await;
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        let mut demo = Self {
            era,
            input: child.stdin.take(),
            output: child.stdout.take().map(BufReader::new),
            child,
            stderr,
            last_id: 0,
            responses: HashMap::new(),
            unsolicited: Vec::new(),
        };
        if era == Era::Legacy {
            demo.initialize().await;
        }
        demo
    }

    async fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": client_capabilities(),
            "clientInfo": {"name": "tests", "version": "1.0.0"},
        });
        let response = self.ask("initialize", params).await;
        assert_eq!(response["result"]["protocolVersion"], "2025-11-25");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
    }

    pub(crate) fn era(&self) -> Era {
        self.era
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id().expect("the process still runs")
    }

    /// Writes bytes unchanged.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is still open");
        within(input.write_all(bytes))
            .await
            .expect("the server reads");
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes()).await;
    }

    /// Sends a request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let request = self.era.request(self.last_id, method, params);
        self.send(&request).await;
        self.last_id
    }

    /// Sends a tool call and returns its id.
    pub(crate) async fn start_call(&mut self, tool: &str, arguments: Value) -> i64 {
        let params = json!({"name": tool, "arguments": arguments});
        self.request("tools/call", params).await
    }

    /// Starts a countdown and waits for its first progress, which shows that it runs.
    pub(crate) async fn start_countdown(&mut self, from: u32, delay_ms: u64) -> i64 {
        let token = format!("countdown {}", self.last_id + 1);
        let id = self
            .request(
                "tools/call",
                json!({
                    "name": "countdown",
                    "arguments": {"from": from, "delay_ms": delay_ms},
                    "_meta": {"progressToken": token},
                }),
            )
            .await;
        self.next_unsolicited(|message| message["params"]["progressToken"] == token)
            .await;
        id
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.response(id).await
    }

    /// Calls a tool and returns its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.start_call(tool, arguments).await;
        let mut response = self.response(id).await;
        assert!(response.get("error").is_none(), "{tool}: {response}");
        response["result"].take()
    }

    /// Calls a tool and returns the text of its result.
    pub(crate) async fn call_text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        let text = result["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{tool}: {result}"))
            .to_owned()
    }

    /// Calls a tool with one input request, and responds to it. Returns the response to the call.
    pub(crate) async fn call_with_input(
        &mut self,
        tool: &str,
        arguments: Value,
        reply: Value,
    ) -> Value {
        let id = self.start_call(tool, arguments.clone()).await;
        if self.era == Era::Legacy {
            let request = self
                .next_unsolicited(|message| message.get("id").is_some())
                .await;
            self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": reply}))
                .await;
            return self.response(id).await;
        }
        let asked = self.response(id).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let requests = asked["result"]["inputRequests"].as_object();
        let (key, _) = requests
            .and_then(|requests| requests.iter().next())
            .expect("there is an input request");
        let mut params = json!({
            "name": tool,
            "arguments": arguments,
            "inputResponses": {key: reply},
        });
        if let Some(state) = asked["result"].get("requestState") {
            params["requestState"] = state.clone();
        }
        self.ask("tools/call", params).await
    }

    /// Waits for the response to a request. Messages that arrive before it are stored.
    pub(crate) async fn response(&mut self, id: i64) -> Value {
        loop {
            if let Some(response) = self.responses.remove(&id) {
                return response;
            }
            self.store_next().await;
        }
    }

    /// Returns the first stored message that matches, or waits for one.
    pub(crate) async fn next_unsolicited(&mut self, matches: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(index) = self.unsolicited.iter().position(&matches) {
                return self.unsolicited.remove(index);
            }
            self.store_next().await;
        }
    }

    async fn store_next(&mut self) {
        let message = self.read().await.expect("the server is still running");
        self.store(message);
    }

    fn store(&mut self, message: Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        if message.get("method").is_some() {
            return self.unsolicited.push(message);
        }
        let id = message["id"]
            .as_i64()
            .unwrap_or_else(|| panic!("a response without an id: {message}"));
        let previous = self.responses.insert(id, message);
        assert!(previous.is_none(), "two responses: {previous:?}");
    }

    /// Reads the next message. Returns `None` at the end of the output. A line that is not JSON fails the test.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        let output = self.output.as_mut().expect("the output is still open");
        let mut line = Vec::new();
        within(output.read_until(b'\n', &mut line))
            .await
            .expect("the output can be read");
        if line.is_empty() {
            return None;
        }
        assert_eq!(line.last(), Some(&b'\n'), "the output ends within a line");
        let message = serde_json::from_slice(&line);
        Some(message.unwrap_or_else(|error| {
            panic!("not JSON: {error}: {:?}", String::from_utf8_lossy(&line))
        }))
    }

    /// Takes both pipes, for tests that write and read concurrently.
    pub(crate) fn take_pipes(&mut self) -> (ChildStdin, BufReader<ChildStdout>) {
        let input = self.input.take().expect("the input is still open");
        let output = self.output.take().expect("the output is still open");
        (input, output)
    }

    /// Returns the pipes.
    pub(crate) fn return_pipes(&mut self, input: ChildStdin, output: BufReader<ChildStdout>) {
        (self.input, self.output) = (Some(input), Some(output));
    }

    /// Closes the output of the server.
    pub(crate) fn close_output(&mut self) {
        self.output = None;
    }

    /// Closes the input of the server.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes the input, reads the remaining output, and waits for the process to exit.
    pub(crate) async fn end(mut self) -> Ended {
        self.close_input();
        self.ended().await
    }

    /// Reads the remaining output and waits for the process to exit.
    pub(crate) async fn ended(mut self) -> Ended {
        if self.output.is_some() {
            while let Some(message) = self.read().await {
                self.store(message);
            }
        }
        let status = within(self.child.wait()).await.expect("the process exits");
        let stderr = match self.stderr {
            Some(stderr) => within(stderr).await.expect("the collector does not panic"),
            None => String::new(),
        };
        Ended {
            status,
            responses: self.responses,
            stderr,
        }
    }

    /// Ends the server and checks that it exits cleanly.
    pub(crate) async fn end_successfully(self) {
        let ended = self.end().await;
        assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
        assert!(ended.responses.is_empty(), "{:?}", ended.responses);
    }
}

/// Waits for a future. Panics after [`STEP_TIMEOUT`].
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(STEP_TIMEOUT, future)
        .await
        .expect("the future completes in time")
}
