//! The script of all methods.

use std::time::Duration;

use crate::mirror::objects::{client_capabilities, implementation};
use crate::mirror::recording::{Recording, is_of_call};
use crate::mirror::revision::{ALL, MODERN, Revision};
use crate::mirror::server::Message;
use crate::mirror::server_requests::{SERVER_REQUESTS, input_responses, request_meta, response};
use crate::mirror::wire::ScriptWire;
use crate::problem::Problem;

/// Far longer than any step takes, even on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs the script and returns what the client received.
///
/// # Errors
/// Returns an error if a message cannot be sent, or if an expected message does not arrive.
pub fn run_script(revision: Revision, wire: &mut dyn ScriptWire) -> Result<Recording, Problem> {
    let mut run = Run {
        revision,
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
        run.recording.add((run.last_id, "after the end"), &text);
    }
    Ok(run.recording)
}

struct Run<'a> {
    revision: Revision,
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
            self.call("all", &[("task", r#"{"ttl":1e3,"x-t":1.0}"#)], 0)?;
            for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
                self.request(method, method, &[("taskId", r#""t-1""#)], 0)?;
            }
        }
        Ok(())
    }

    fn server_requests(&mut self) -> Result<(), Problem> {
        if !self.revision.is_modern() {
            for (tool, _, _) in SERVER_REQUESTS {
                self.call(tool, &[], 0)?;
            }
            return Ok(());
        }
        let responses = input_responses(self.revision);
        let retry = [
            ("x-ask", "true"),
            ("inputResponses", responses.as_str()),
            ("requestState", r#""state \u00e9""#),
        ];
        for round in [&retry[..1], &retry] {
            self.call("ask", round, 0)?;
            let name = [round, &[("name", r#""p""#)]].concat();
            self.request("prompts/get", "ask", &name, 0)?;
            let uri = [round, &[("uri", r#""file:///a""#)]].concat();
            self.request("resources/read", "ask", &uri, 0)?;
        }
        Ok(())
    }

    fn legacy_methods(&mut self) -> Result<(), Problem> {
        self.request("ping", "ping", &[], 0)?;
        let level = [("level", r#""debug""#)];
        self.request("logging/setLevel", "level", &level, 0)?;
        let uri = [("uri", r#""file:///a%20b""#)];
        self.request("resources/subscribe", "subscribe", &uri, 0)?;
        let more = if self.revision.is_in(&(3..=3)) { 2 } else { 0 };
        self.call("change", &[], 5 + more)?;
        self.request("resources/unsubscribe", "unsubscribe", &uri, 0)
    }

    /// Sends notifications, and lets the server repeat what it received.
    fn notifications(&mut self) -> Result<(), Problem> {
        let params = self
            .revision
            .object(&[(ALL, "_meta", &self.revision.meta())]);
        self.notify("notifications/roots/list_changed", &params)?;
        self.notify("com.example/note", &params)?;
        self.call("received", &[("x-count", "3")], 0)
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
        self.receive(step, Some(id), outside)
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

    /// Records messages until the response and the notifications have arrived. Responds to requests of the server.
    fn receive(
        &mut self,
        step: &str,
        mut response_id: Option<usize>,
        mut outside: usize,
    ) -> Result<(), Problem> {
        while response_id.is_some() || outside > 0 {
            let received = self.wire.messages().recv_timeout(STEP_TIMEOUT);
            let text = received.map_err(|error| {
                let id = self.last_id;
                let wanted = response_id.map_or("a notification", |_| "the response");
                Problem::new(format!("{wanted} of {step} ({id}) is missing: {error}"))
            })?;
            self.recording.add((self.last_id, step), &text);
            let message: Message<'_> = serde_json::from_str(&text)
                .map_err(|error| Problem::new(format!("{error}: {text}")))?;
            match (message.method(), message.id) {
                ("", id) => {
                    let id = id.and_then(|id| id.get().parse().ok());
                    response_id = response_id.filter(|expected| Some(*expected) != id);
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
        Ok(())
    }
}
