//! A conversation of a client with a server, through a relay.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Map, Value, json};
use tokio::process::Command;

use crate::process::{Demo, Era};
use crate::proxy_kills::servers::Servers;
use crate::proxy_kills::{Pair, Phase};

/// A conversation that has reached a phase.
pub(super) struct Conversation {
    pub(super) servers: Servers,
    /// A process that forwards the messages of the client from standard input: the relay, or a client of it over HTTP.
    pub(super) client: Demo,
    /// The call that has not ended.
    pub(super) open_call: Option<i64>,
    /// The input request to which the client has not responded.
    input_request: Option<InputRequest>,
    server: Era,
}

impl Conversation {
    /// Starts the process of the client, and continues up to a phase.
    pub(super) async fn start(
        pair: Pair,
        phase: Phase,
        servers: Servers,
        mut command: Command,
    ) -> Self {
        command.stderr(Stdio::null());
        let mut conversation = Self {
            servers,
            client: Demo::start_command(pair.client, command).await,
            open_call: None,
            input_request: None,
            server: pair.server,
        };
        conversation.reach(phase).await;
        conversation.servers.expect_one().await;
        conversation
    }

    async fn reach(&mut self, phase: Phase) {
        let client = &mut self.client;
        match phase {
            Phase::Opening => {
                client.request("tools/list", json!({})).await;
            }
            Phase::Listed => {
                client.ask("tools/list", json!({})).await;
            }
            Phase::CallRunning => self.open_call = Some(client.start_countdown(100_000, 5).await),
            Phase::InputRequested => self.request_input().await,
            Phase::OutcomePending => {
                self.request_input().await;
                self.servers.stop_demos().await;
                self.open_call = self.accept().await;
                self.servers.expect_message(r#""confirmed""#).await;
            }
            Phase::Listening => self.listen().await,
        }
    }

    /// Starts a call that requests input.
    async fn request_input(&mut self) {
        let client = &mut self.client;
        let arguments = json!({"question": "Go?"});
        if client.era() == Era::Modern {
            let required = client.call("approve", arguments.clone()).await;
            self.input_request = Some(InputRequest::of_result(arguments, &required));
            return;
        }
        let call = client.start_call("approve", arguments).await;
        let is_request = |message: &Value| message["method"] == "elicitation/create";
        let id = client.next_unsolicited(is_request).await["id"].take();
        self.open_call = Some(call);
        self.input_request = Some(InputRequest::Request { call, id });
    }

    async fn listen(&mut self) {
        let client = &mut self.client;
        if client.era() == Era::Modern {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            client.request("subscriptions/listen", filter).await;
            let method = "notifications/subscriptions/acknowledged";
            let is_acknowledgement = |message: &Value| message["method"] == method;
            client.next_unsolicited(is_acknowledgement).await;
            return;
        }
        let listed = client.ask("resources/list", json!({})).await;
        let uri = &listed["result"]["resources"][0]["uri"];
        let params = json!({"uri": uri});
        let subscribed = client.ask("resources/subscribe", params).await;
        assert!(subscribed.get("result").is_some(), "{subscribed}");
    }

    /// Responds to the input request. Returns the call that continues.
    async fn accept(&mut self) -> Option<i64> {
        Some(self.input_request.take()?.accept(&mut self.client).await)
    }

    /// Kills the server. Its call ends and is not repeated, and later requests reach another server.
    pub(super) async fn kill_server(&mut self, case: &str) {
        self.servers.signal(Signal::KILL);
        // A legacy server waits for the input of a legacy client. Otherwise, the client continues the call.
        let waits = self.client.era() == Era::Legacy && self.server == Era::Legacy;
        if self.input_request.is_some() && !waits {
            let call = self.accept().await.expect("there is an input request");
            let response = self.client.response(call).await;
            let is_tool_error = response["result"]["isError"] == true;
            let has_failed = response.get("error").is_some() || is_tool_error;
            assert!(has_failed, "{case}: {response}");
        } else {
            self.expect_failed_call(case).await;
        }
        // Requests fail until the relay has noticed the loss, and during the pause after it.
        let add = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
        while let Some(error) = self
            .client
            .ask("tools/call", add.clone())
            .await
            .get("error")
        {
            assert_is_unreachable(error, case);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the open call has failed because its server is lost.
    pub(super) async fn expect_failed_call(&mut self, case: &str) {
        if let Some(call) = self.open_call {
            let response = self.client.response(call).await;
            assert_is_unreachable(&response["error"], case);
        }
    }

    /// Ends the client, and waits until no server runs. No server got a call twice.
    pub(super) async fn end(self, case: &str) {
        // A stopped server cannot see the end of its input.
        self.servers.signal(Signal::CONT);
        self.client.end().await;
        self.servers.expect_none().await;
        let expected = usize::from(self.open_call.is_some());
        assert!(self.servers.calls() <= 1, "{case}");
        assert!(self.servers.calls() >= expected, "{case}");
    }
}

fn assert_is_unreachable(error: &Value, case: &str) {
    let reason = &error["data"]["reason"];
    assert_eq!(reason, "upstream_unreachable", "{case}: {error}");
}

/// An input request that the client has received.
enum InputRequest {
    /// A request of the server during a call.
    Request { call: i64, id: Value },
    /// The parameters of the call that continues one with the result `input_required`.
    Result { params: Value },
}

impl InputRequest {
    fn of_result(arguments: Value, required: &Value) -> Self {
        assert_eq!(required["resultType"], "input_required", "{required}");
        let requests = required["inputRequests"].as_object();
        let keys = requests.expect("it asks for input").keys();
        let responses: Map<_, _> = keys.map(|key| (key.clone(), accepted())).collect();
        let params = json!({
            "name": "approve",
            "arguments": arguments,
            "inputResponses": responses,
            "requestState": required["requestState"],
        });
        Self::Result { params }
    }

    /// Sends the response of the user. Returns the call that continues.
    async fn accept(self, client: &mut Demo) -> i64 {
        match self {
            Self::Request { call, id } => {
                let response = json!({"jsonrpc": "2.0", "id": id, "result": accepted()});
                client.send(&response).await;
                call
            }
            Self::Result { params } => client.request("tools/call", params).await,
        }
    }
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"confirmed": true}})
}
