//! A client of the proxy, in a phase of a conversation.

use std::process::Stdio;

use serde_json::json;

use crate::http::HttpDemo;
use crate::process::{Demo, Era, toolwire};
use crate::proxy_kills::http_server::Phase;
use crate::proxy_kills::input_request::InputRequest;
use crate::proxy_kills::{assert_is_unreachable, expect_sum, subscribe};

/// A process that connects to the proxy over HTTP, and has reached a phase.
pub(super) struct Client {
    process: Demo,
    /// The request without a response.
    open: Option<i64>,
    /// The input request without a response.
    input: Option<InputRequest>,
}

impl Client {
    /// Starts the process, and continues up to a phase.
    pub(super) async fn start(era: Era, phase: Phase, proxy: &HttpDemo) -> Self {
        let mut command = toolwire(&["proxy", "--lazy", &proxy.url()]);
        command.stderr(Stdio::null());
        let mut process = Demo::start_command(era, command).await;
        let (mut open, mut input) = (None, None);
        match phase {
            Phase::Idle => {
                process.ask("tools/list", json!({})).await;
            }
            Phase::ListRequested => open = Some(process.request("tools/list", json!({})).await),
            Phase::HeadersReceived => open = Some(start_endless_call(&mut process).await),
            Phase::StreamOpen => open = Some(process.start_countdown(100_000, 5).await),
            Phase::InputRequested => {
                let request = InputRequest::start(&mut process).await;
                open = request.open_call();
                input = Some(request);
            }
            Phase::Subscribed => subscribe(&mut process).await,
        }
        Self {
            process,
            open,
            input,
        }
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.process_id()
    }

    /// Starts a call if no request is open. The server is gone, so it fails.
    pub(super) async fn expect_failed_call(&mut self, case: &str) {
        if self.open.is_none() {
            self.open = Some(start_endless_call(&mut self.process).await);
        }
        self.expect_failure(case).await;
    }

    /// Waits until the open request has failed because the server is gone.
    pub(super) async fn expect_failure(&mut self, case: &str) {
        if let Some(open) = self.open.take() {
            let response = self.process.response(open).await;
            assert_is_unreachable(&response["error"], case);
        }
    }

    /// Responds to the input request, and waits until its call has failed because the server is gone.
    pub(super) async fn expect_failed_input(&mut self, case: &str) {
        let input = self.input.take().expect("there is an input request");
        let call = input.accept(&mut self.process).await;
        let response = self.process.response(call).await;
        let is_tool_error = response["result"]["isError"] == true;
        let has_failed = response.get("error").is_some() || is_tool_error;
        assert!(has_failed, "{case}: {response}");
    }

    /// Waits until a call succeeds.
    pub(super) async fn expect_served(&mut self, case: &str) {
        expect_sum(&mut self.process, case).await;
    }

    pub(super) async fn end(self) {
        self.process.end().await;
    }

    /// Waits for the end of a process that was killed.
    pub(super) async fn ended(mut self) {
        self.process.close_output();
        self.process.ended().await;
    }
}

/// Starts a call that ends only with its server. With its first progress, the response becomes a stream.
async fn start_endless_call(process: &mut Demo) -> i64 {
    let params = json!({
        "name": "countdown",
        "arguments": {"from": 100_000, "delay_ms": 5},
        "_meta": {"progressToken": "endless"},
    });
    process.request("tools/call", params).await
}
