//! A scripted client: starts an example, uses one revision, and stores the notifications it receives.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// The timeout of each step, so that a blocked test fails instead of hanging.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// The revision of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revision {
    /// 2026-07-28: every request is self-describing.
    Newest,
    /// 2025-11-25: a handshake, then a connection that both sides use.
    Legacy,
}

pub(crate) const BOTH: [Revision; 2] = [Revision::Newest, Revision::Legacy];

impl Revision {
    fn version(self) -> &'static str {
        match self {
            Self::Newest => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

/// A running example and its pipes.
pub(crate) struct Client {
    revision: Revision,
    capabilities: Value,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    next_id: i64,
    /// Notifications that arrived while the client waited for another message.
    notifications: Vec<Value>,
    /// The last message, unparsed.
    pub(crate) last_line: String,
}

impl Client {
    /// Starts an example for a client without capabilities.
    pub(crate) async fn start(example: &str, revision: Revision) -> Self {
        Self::start_with(example, revision, json!({})).await
    }

    /// Starts an example for a client with these capabilities.
    pub(crate) async fn start_with(example: &str, revision: Revision, capabilities: Value) -> Self {
        let program = program(example);
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| {
                let program = program.display();
                panic!("{program}: {error}; `cargo test -p toolwire-examples` builds it")
            });
        let mut client = Self {
            revision,
            capabilities,
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
            next_id: 1,
            notifications: Vec::new(),
            last_line: String::new(),
        };
        if revision == Revision::Legacy {
            let params = json!({
                "protocolVersion": revision.version(),
                "capabilities": client.capabilities,
                "clientInfo": {"name": "script", "version": "1"},
            });
            let result = client.ask("initialize", params).await;
            assert_eq!(result["protocolVersion"], revision.version());
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            client.send(&initialized).await;
        }
        client
    }

    /// Sends a request and returns its id.
    pub(crate) async fn begin(&mut self, method: &str, mut params: Value) -> i64 {
        if self.revision == Revision::Newest {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = self.revision.version().into();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Sends a request and returns the whole response.
    pub(crate) async fn response(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.response_to(id).await
    }

    /// Returns the response to an earlier request.
    pub(crate) async fn response_to(&mut self, id: i64) -> Value {
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    /// Sends a request and returns its result.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let response = self.response(method, params).await;
        response
            .get("result")
            .unwrap_or_else(|| panic!("{method}: {response}"))
            .clone()
    }

    /// Sends a request that must fail, and returns the error.
    pub(crate) async fn expect_error(&mut self, method: &str, params: Value) -> Value {
        let response = self.response(method, params).await;
        response
            .get("error")
            .unwrap_or_else(|| panic!("{method}: {response}"))
            .clone()
    }

    /// Calls a tool and returns its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask("tools/call", params).await
    }

    /// Calls a tool and returns the text of its result.
    pub(crate) async fn call_text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        text(&result).to_owned()
    }

    /// Calls a tool, responds to every input request, and returns the result.
    pub(crate) async fn call_and_reply(
        &mut self,
        tool: &str,
        arguments: Value,
        reply: impl Fn(&str, &Value) -> Value,
    ) -> Value {
        let message = self.call_with_responses(tool, arguments, reply).await;
        message
            .get("result")
            .unwrap_or_else(|| panic!("{tool}: {message}"))
            .clone()
    }

    /// Calls a tool, responds to every input request as the revision requires, and returns the last message.
    pub(crate) async fn call_with_responses(
        &mut self,
        tool: &str,
        arguments: Value,
        reply: impl Fn(&str, &Value) -> Value,
    ) -> Value {
        let reply = |request: &Value| {
            let method = request["method"].as_str().unwrap();
            reply(method, &request["params"])
        };
        let mut params = json!({"name": tool, "arguments": arguments});
        loop {
            let id = self.begin("tools/call", params.clone()).await;
            let mut message = self.receive().await;
            while message.get("method").is_some() {
                assert_eq!(self.revision, Revision::Legacy, "{message}");
                let result = reply(&message);
                let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                self.send(&response).await;
                message = self.receive().await;
            }
            assert_eq!(message["id"], id, "{message}");
            let result = &message["result"];
            if result["resultType"] != "input_required" {
                return message;
            }
            let requests = result["inputRequests"].as_object().unwrap();
            params["inputResponses"] = requests
                .iter()
                .map(|(key, request)| (key.clone(), reply(request)))
                .collect();
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
    }

    /// Subscribes to changes as the revision requires, and waits for the confirmation.
    pub(crate) async fn watch(&mut self, filter: Value) {
        match self.revision {
            Revision::Newest => {
                let params = json!({"notifications": filter});
                self.begin("subscriptions/listen", params).await;
                self.notification("notifications/subscriptions/acknowledged")
                    .await;
            }
            // Changes of lists need no subscription.
            Revision::Legacy => {
                let uris = filter["resourceSubscriptions"].as_array();
                for uri in uris.into_iter().flatten() {
                    self.ask("resources/subscribe", json!({"uri": uri})).await;
                }
            }
        }
    }

    /// Returns the parameters of the first notification of a method, and waits for it if necessary.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        let arrived = |message: &Value| message["method"] == method;
        if let Some(position) = self.notifications.iter().position(arrived) {
            return self.notifications.remove(position)["params"].clone();
        }
        loop {
            let message = self.receive().await;
            if arrived(&message) {
                return message["params"].clone();
            }
            self.notifications.push(message);
        }
    }

    /// Returns the parameters of all received notifications of a method.
    pub(crate) fn take_notifications(&mut self, method: &str) -> Vec<Value> {
        let taken = self
            .notifications
            .extract_if(.., |message| message["method"] == method);
        taken.map(|message| message["params"].clone()).collect()
    }

    /// Sends a cancellation for a request.
    pub(crate) async fn cancel(&mut self, id: i64) {
        let params = json!({"requestId": id});
        self.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        )
        .await;
    }

    /// Closes the connection and returns the remaining messages. The example must exit successfully.
    pub(crate) async fn end(self) -> Vec<Value> {
        let Self {
            mut child,
            input,
            mut output,
            mut notifications,
            ..
        } = self;
        drop(input);
        let ended = async {
            while let Some(line) = output.next_line().await.unwrap() {
                notifications.push(serde_json::from_str(&line).unwrap());
            }
            child.wait().await.unwrap()
        };
        let status = timeout(STEP_TIMEOUT, ended)
            .await
            .expect("the example exits");
        assert!(status.success(), "{status}");
        notifications
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.send_line(&line).await;
    }

    /// Sends text unchanged, with its line break.
    pub(crate) async fn send_line(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Returns the next message of any kind.
    pub(crate) async fn receive(&mut self) -> Value {
        let line = timeout(STEP_TIMEOUT, self.output.next_line())
            .await
            .expect("the example responds");
        self.last_line = line
            .unwrap()
            .expect("the example runs until the input ends");
        serde_json::from_str(&self.last_line).unwrap()
    }
}

/// Returns the text of a tool result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {result}"))
}

/// Returns the program of an example. Cargo puts it beside the directory of this test.
pub(crate) fn program(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let name = format!("{example}{}", std::env::consts::EXE_SUFFIX);
    profile.join("examples").join(name)
}
