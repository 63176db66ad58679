//! The script of all methods. With a server of another era, it omits the steps that only one of them has.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mirror::objects::{client_capabilities, implementation};
use crate::mirror::recording::{Recording, is_of_call};
use crate::mirror::revision::{ALL, MODERN, Revision};
use crate::mirror::server::Message;
use crate::mirror::server_requests::{SERVER_REQUESTS, input_responses, request_meta, response};
use crate::mirror::wire::ScriptWire;
use crate::problem::Problem;

/// Far longer than any step takes, even on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the script with a server of the client's revision and returns what the client received.
///
/// # Errors
/// Returns an error if a message cannot be sent, or if an expected message does not arrive.
pub fn run_script(revision: Revision, wire: &mut dyn ScriptWire) -> Result<Recording, Problem> {
    run_script_with(revision, revision, wire)
}

/// Runs the script with a server of this revision, behind a proxy, and returns what the client received.
///
/// # Errors
/// Returns an error if a message cannot be sent, or if an expected message does not arrive.
pub fn run_script_with(
    revision: Revision,
    server: Revision,
    wire: &mut dyn ScriptWire,
) -> Result<Recording, Problem> {
    let mut run = Run {
        revision,
        server,
        wire,
        recording: Recording::default(),
        last_id: 0,
    };
    if revision.is_modern() {
        run.request("server/discover", "discover", &[], 0)?;
    } else {
        run.initialize()?;
    }
    run.lists()?;
    run.calls()?;
    run.server_requests()?;
    if revision.is_modern() {
        run.subscription()?;
    } else {
        run.legacy_methods()?;
        run.notifications()?;
        run.cancellation()?;
    }
    run.request("com.example/odd", "end", &[], 0)?;
    // A message that nothing caused would be here.
    while let Ok(text) = run.wire.messages().try_recv() {
        if !(revision.is_modern() && text.contains("com.example/session-event")) {
            run.recording.add((run.last_id, "after the end"), &text);
        }
    }
    Ok(run.recording)
}

struct Run<'a> {
    revision: Revision,
    /// The revision of the server.
    server: Revision,
    wire: &'a mut dyn ScriptWire,
    recording: Recording,
    last_id: usize,
}

impl Run<'_> {
    fn initialize(&mut self) -> Result<(), Problem> {
        let revision = self.revision;
        let version = format!(r#""{}""#, revision.name());
        let members = [
            ("clientInfo", implementation(revision, "script")),
            ("capabilities", client_capabilities(revision)),
            ("protocolVersion", version),
        ];
        let members = members
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        self.request("initialize", "initialize", &members, 0)?;
        self.notify("notifications/initialized", &revision.object(&[]))?;
        let opened = self.wire.open_stream();
        opened.map_err(|error| Problem::new(format!("no stream: {error}")))
    }

    fn lists(&mut self) -> Result<(), Problem> {
        for method in [
            "tools/list",
            "prompts/list",
            "resources/list",
            "resources/templates/list",
        ] {
            self.request(method, method, &[("cursor", r#""c é""#)], 0)?;
        }
        self.request(
            "resources/read",
            "read",
            &[("uri", r#""file:///a%20b""#)],
            0,
        )?;
        let prompt = [("arguments", r#"{"city":"Oslo"}"#), ("name", r#""p""#)];
        self.request("prompts/get", "prompt", &prompt, 0)?;
        let named = |name: &str| format!(r#"{{"x-r":1.0,"type":"ref/prompt","{name}":"p"}}"#);
        let completion = [
            ("context", r#"{"arguments":{"a":"b"},"x-c":[]}"#),
            ("argument", r#"{"value":"O","name":"city","x-a":1e2}"#),
            ("ref", &named("name")),
        ];
        self.request("completion/complete", "complete", &completion, 0)
    }

    fn calls(&mut self) -> Result<(), Problem> {
        let arguments = ("arguments", r#"{"z":1.0,"n":1e2,"a":[{"b":null}]}"#);
        self.call("all", &[arguments], 2)?;
        // The progress token is a text in one of them, and a number in the other.
        self.call("all", &[arguments], 2)?;
        self.call("fail", &[], 0)?;
        if self.revision.is_in(&(3..=3)) {
            self.call("url_required", &[], 0)?;
            let task = [("task", r#"{"ttl":1e3,"x-t":1.0}"#), ("name", r#""all""#)];
            self.request("tools/call", "task", &task, 0)?;
            for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
                self.request(method, method, &[("taskId", r#""t-1""#)], 0)?;
            }
        }
        Ok(())
    }

    fn server_requests(&mut self) -> Result<(), Problem> {
        if !self.revision.is_modern() {
            for (tool, _, range) in SERVER_REQUESTS {
                if self.server.is_in(&range) {
                    self.call(tool, &[], 0)?;
                } else {
                    self.skip(1);
                }
            }
            return Ok(());
        }
        let responses = input_responses(self.revision);
        let retry = [
            ("x-ask", "true"),
            ("inputResponses", responses.as_str()),
            ("requestState", r#""state \u00e9""#),
        ];
        for (tool, method, range) in SERVER_REQUESTS {
            if method == "ping" {
                continue;
            }
            if self.server.is_in(&range) {
                self.ask(tool)?;
            } else {
                self.skip(2);
            }
        }
        // Only a modern server asks for several inputs at once.
        if !self.server.is_modern() {
            self.skip(6);
            return Ok(());
        }
        for round in [&retry[..1], &retry] {
            self.call("ask", round, 0)?;
            let name = [round, &[("name", r#""p""#)]].concat();
            self.request("prompts/get", "ask", &name, 0)?;
            let uri = [round, &[("uri", r#""file:///a""#)]].concat();
            self.request("resources/read", "ask", &uri, 0)?;
        }
        Ok(())
    }

    /// Omits steps that the server does not have. The ids of later steps do not change.
    fn skip(&mut self, steps: usize) {
        self.last_id += steps;
    }

    /// Calls a tool that asks for one input, and sends the call again with the response.
    fn ask(&mut self, tool: &str) -> Result<(), Problem> {
        let name = format!(r#""{tool}""#);
        let id = self.send_request("tools/call", &[("name", &name)])?;
        let asked = self.receive_response(tool, id)?;
        let asked: InputRequired<'_> = serde_json::from_str(&asked)
            .map_err(|error| Problem::new(format!("{tool}: {error}: {asked}")))?;
        let mut responses = Vec::new();
        for (key, request) in &asked.result.input_requests {
            let response = response(self.revision, &request.method);
            responses.push(format!(r#""{key}":{response}"#));
        }
        let responses = format!("{{{}}}", responses.join(","));
        let retry = [
            ("inputResponses", responses.as_str()),
            ("requestState", asked.result.request_state.get()),
        ];
        self.call(tool, &retry, 0)
    }

    fn legacy_methods(&mut self) -> Result<(), Problem> {
        self.request("ping", "ping", &[], 0)?;
        let level = [("level", r#""debug""#)];
        self.request("logging/setLevel", "level", &level, 0)?;
        let uri = [("uri", r#""file:///a%20b""#)];
        self.request("resources/subscribe", "subscribe", &uri, 0)?;
        // A modern server announces only what a client can subscribe to.
        let announced = match (self.server.is_modern(), self.revision.is_in(&(3..=3))) {
            (true, _) => 4,
            (false, true) => 7,
            (false, false) => 5,
        };
        self.call("change", &[], announced)?;
        self.request("resources/unsubscribe", "unsubscribe", &uri, 0)
    }

    /// Sends notifications, and lets the server repeat what it received.
    fn notifications(&mut self) -> Result<(), Problem> {
        let params = self
            .revision
            .object(&[(ALL, "_meta", &self.revision.meta())]);
        self.notify("notifications/roots/list_changed", &params)?;
        self.notify("com.example/note", &params)?;
        // A modern server has neither a handshake nor changes of roots.
        let count = if self.server.is_modern() { "1" } else { "3" };
        self.call("received", &[("x-count", count)], 0)
    }

    fn cancellation(&mut self) -> Result<(), Problem> {
        let id = self.send_request("tools/call", &[("name", r#""wait""#)])?;
        // The server has the request when it sends the notification.
        self.receive("wait", None, 1)?;
        let params = format!(r#"{{"reason":"no need","requestId":{id},"x-c":1.0}}"#);
        self.notify("notifications/cancelled", &params)?;
        self.call("cancellations", &[], 0)
    }

    fn subscription(&mut self) -> Result<(), Problem> {
        let all = r#"{"x-f":1.0,"resourceSubscriptions":["file:///a%20b"],"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}"#;
        let id = self.send_request("subscriptions/listen", &[("notifications", all)])?;
        self.receive("listen", None, 1)?;
        self.call("change", &[], 4)?;
        if self.wire.has_one_stream() {
            let params = format!(r#"{{"requestId":{id}}}"#);
            self.notify("notifications/cancelled", &params)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        tool: &str,
        members: &[(&str, &str)],
        outside: usize,
    ) -> Result<(), Problem> {
        let name = format!(r#""{tool}""#);
        let members = [members, &[("name", &name)]].concat();
        self.request("tools/call", tool, &members, outside)
    }

    /// Sends a request, and receives its response and this many notifications outside of it.
    fn request(
        &mut self,
        method: &str,
        step: &str,
        members: &[(&str, &str)],
        outside: usize,
    ) -> Result<(), Problem> {
        let id = self.send_request(method, members)?;
        self.receive(step, Some(id), outside).map(drop)
    }

    fn send_request(&mut self, method: &str, members: &[(&str, &str)]) -> Result<usize, Problem> {
        self.last_id += 1;
        let (revision, id) = (self.revision, self.last_id);
        let token = if id % 2 == 0 {
            format!(r#""p é {id}""#)
        } else {
            format!("{id}")
        };
        let info = implementation(revision, "script");
        let meta = request_meta(revision, &info, &token);
        let mut all: Vec<_> = members
            .iter()
            .map(|(name, value)| (ALL, *name, *value))
            .collect();
        // `initialize` has no progress.
        all.push((
            if method == "initialize" { MODERN } else { ALL },
            "_meta",
            &meta,
        ));
        let params = revision.object(&all);
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ))?;
        Ok(id)
    }

    fn notify(&mut self, method: &str, params: &str) -> Result<(), Problem> {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#
        ))
    }

    fn send(&mut self, text: &str) -> Result<(), Problem> {
        let sent = self.wire.send(text);
        sent.map_err(|error| Problem::new(format!("{text} was not accepted: {error}")))
    }

    /// Records messages until the response has arrived, and returns it.
    fn receive_response(&mut self, step: &str, id: usize) -> Result<String, Problem> {
        let response = self.receive(step, Some(id), 0)?;
        response.ok_or_else(|| Problem::new(format!("{step}: no response")))
    }

    /// Records messages until the response and the notifications have arrived. Responds to requests of the server. Returns
    /// the response.
    fn receive(
        &mut self,
        step: &str,
        mut response_id: Option<usize>,
        mut outside: usize,
    ) -> Result<Option<String>, Problem> {
        let mut response_text = None;
        while response_id.is_some() || outside > 0 {
            let received = self.wire.messages().recv_timeout(STEP_TIMEOUT);
            let text = received.map_err(|error| {
                let id = self.last_id;
                let wanted = response_id.map_or("a notification", |_| "the response");
                Problem::new(format!("{wanted} of {step} ({id}) is missing: {error}"))
            })?;
            let message: Message<'_> = serde_json::from_str(&text)
                .map_err(|error| Problem::new(format!("{error}: {text}")))?;
            // A modern client has no session. It gets this notification only if a request happens to be in flight.
            if self.revision.is_modern() && message.method() == "com.example/session-event" {
                continue;
            }
            self.recording.add((self.last_id, step), &text);
            match (message.method(), message.id) {
                ("", id) => {
                    let id = id.and_then(|id| id.get().parse().ok());
                    if response_id == id {
                        response_id = None;
                        response_text = Some(text);
                    }
                }
                (method, Some(id)) => {
                    let result = response(self.revision, method);
                    let id = id.get();
                    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                    self.send(&text)?;
                }
                (method, None) if !is_of_call(method) => outside = outside.saturating_sub(1),
                (_, None) => {}
            }
        }
        Ok(response_text)
    }
}

/// A response that asks for input.
#[derive(Debug, Deserialize)]
struct InputRequired<'a> {
    #[serde(borrow)]
    result: InputRequests<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequests<'a> {
    input_requests: BTreeMap<String, AskedInput>,
    #[serde(borrow)]
    request_state: &'a RawValue,
}

#[derive(Debug, Deserialize)]
struct AskedInput {
    method: String,
}
