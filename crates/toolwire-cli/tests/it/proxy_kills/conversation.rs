//! A conversation of a client with a server, through a relay.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;
use tokio::process::Command;

use crate::process::{Demo, Era};
use crate::proxy_kills::input_request::InputRequest;
use crate::proxy_kills::servers::Servers;
use crate::proxy_kills::{Pair, Phase, assert_is_unreachable, expect_sum, subscribe};

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
            Phase::Listening => subscribe(client).await,
        }
    }

    /// Starts a call that requests input.
    async fn request_input(&mut self) {
        let input = InputRequest::start(&mut self.client).await;
        self.open_call = input.open_call();
        self.input_request = Some(input);
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
        expect_sum(&mut self.client, case).await;
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
