//! Sends the client's side of a record to a server again, and compares what the server sends.
//!
//! The messages are sent in the recorded order: a request is sent when it was sent, and a response is awaited where it
//! arrived. Requests whose content was redacted are not sent. Input requests of the server get the recorded responses.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use toolwire::relay::Relay;
use toolwire::types::code;

use crate::record::{Record, RecordedMessage, is_redacted, redact_json};
use crate::replay::compare::{CompareOptions, Difference, differences};
use crate::replay::exchanges::{MessageKind, exchanges, kind, method, progress_token};
use crate::replay::matching::description;
use crate::replay::relay_connection::RelayConnection;
use crate::replay::report::{ExchangeOutcome, ExchangeReport, Report};

/// Returns the names of the tools that a replay would call, each once.
pub(crate) fn called_tools(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for message in &record.messages {
        let is_call = message.is_sent && method(&message.body) == "tools/call";
        let name = message.body["params"]["name"].as_str();
        if let Some(name) = name.filter(|_| is_call && !has_redacted_params(&message.body))
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// Replays all connections of a record through a relay to the server, one after the other.
pub(crate) async fn replay_against(
    record: &Record,
    relay: &Relay,
    options: &CompareOptions,
    response_timeout: Duration,
) -> Report {
    let mut connections: Vec<u64> = record.messages.iter().map(|m| m.connection).collect();
    connections.sort_unstable();
    connections.dedup();
    let recorded = exchanges(record);
    let mut report = Report::default();
    for connection in connections {
        let messages = record.messages.iter();
        let messages: Vec<&RecordedMessage> = messages
            .filter(|message| message.connection == connection)
            .collect();
        // A server of another era rejects the probe. The relay detects the era itself.
        let skipped_probes = recorded.iter().filter(|exchange| {
            let is_rejected = exchange
                .response()
                .is_none_or(|response| response.body.get("result").is_none());
            exchange.connection == connection
                && exchange.method() == "server/discover"
                && is_rejected
        });
        let mut replay = ConnectionReplay {
            relay: RelayConnection::open(relay),
            options,
            response_timeout,
            redacts: record.is_redacted(),
            left_out: skipped_probes
                .map(|exchange| exchange.request.body["id"].to_string())
                .collect(),
            expected_requests: messages
                .iter()
                .filter(|m| !m.is_sent && kind(&m.body) == MessageKind::Request)
                .count(),
            open: HashMap::new(),
            server_requests: VecDeque::new(),
            counterparts: HashMap::new(),
            states: HashMap::new(),
            next_id: 1,
            reports: Vec::new(),
        };
        replay.run(&messages).await;
        report.exchanges.append(&mut replay.reports);
        replay.relay.close().await;
    }
    report
}

/// A request that was sent to the server.
struct SentRequest {
    live_id: Value,
    /// The index of its report.
    report: usize,
    recorded_progress: Vec<Value>,
    progress: Vec<Value>,
    response: Option<Value>,
    token: Value,
}

/// The replay of one connection.
struct ConnectionReplay<'a> {
    relay: RelayConnection,
    options: &'a CompareOptions,
    response_timeout: Duration,
    redacts: bool,
    /// The ids of recorded requests that were not sent.
    left_out: Vec<String>,
    /// The recorded requests of the server that have not been reached.
    expected_requests: usize,
    /// The requests that were sent, by their recorded id.
    open: HashMap<String, SentRequest>,
    /// Requests of the server that have no recorded counterpart yet.
    server_requests: VecDeque<Value>,
    /// The ids of the server's requests, by their recorded id.
    counterparts: HashMap<String, Value>,
    /// The states of the server, by the recorded state.
    states: HashMap<String, String>,
    next_id: i64,
    reports: Vec<ExchangeReport>,
}

/// What a replay waits for.
enum Awaited<'b> {
    /// The response to the request with this recorded id.
    Response(&'b str),
    /// A request of the server, or the response to a request that is open.
    ServerRequest,
}

impl ConnectionReplay<'_> {
    async fn run(&mut self, messages: &[&RecordedMessage]) {
        for message in messages {
            let body = &message.body;
            match (message.is_sent, kind(body)) {
                (true, MessageKind::Request) => self.request(message).await,
                (true, MessageKind::Notification) => self.notification(body).await,
                (true, MessageKind::Response) => self.response_of_client(body).await,
                (false, MessageKind::Request) => self.request_of_server(body).await,
                (false, MessageKind::Response) => self.response(body).await,
                (false, MessageKind::Notification) => self.recorded_notification(body),
            }
        }
    }

    async fn request(&mut self, message: &RecordedMessage) {
        let recorded_id = message.body["id"].to_string();
        if self.left_out.contains(&recorded_id) {
            return;
        }
        let mut request = message.body.clone();
        let mut report = ExchangeReport {
            connection: message.connection,
            description: description(&request),
            outcome: ExchangeOutcome::Compared(Vec::new()),
        };
        if has_redacted_params(&request) {
            let reason = "a part of the request was redacted, so it is not sent";
            report.outcome = ExchangeOutcome::Skipped(reason.to_owned());
        }
        if let Some(state) = request["params"]["requestState"].as_str() {
            match self.states.get(state) {
                Some(live) => request["params"]["requestState"] = live.as_str().into(),
                None if is_redacted(state) => {
                    let reason = "it continues an exchange that was not repeated";
                    report.outcome = ExchangeOutcome::Skipped(reason.to_owned());
                }
                None => {}
            }
        }
        let is_skipped = matches!(report.outcome, ExchangeOutcome::Skipped(_));
        self.reports.push(report);
        if is_skipped {
            self.left_out.push(recorded_id);
            return;
        }
        let live_id = Value::from(self.next_id);
        self.next_id += 1;
        request["id"] = live_id.clone();
        let sent = SentRequest {
            live_id,
            report: self.reports.len() - 1,
            recorded_progress: Vec::new(),
            progress: Vec::new(),
            response: None,
            token: progress_token(&request).clone(),
        };
        self.open.insert(recorded_id, sent);
        self.relay.send(&request).await;
    }

    async fn notification(&mut self, body: &Value) {
        let mut notification = body.clone();
        if method(body) == "notifications/cancelled" {
            let id = body["params"]["requestId"].to_string();
            let Some(sent) = self.open.get(&id) else {
                return;
            };
            notification["params"]["requestId"] = sent.live_id.clone();
        }
        if !is_redacted(&notification.to_string()) {
            self.relay.send(&notification).await;
        }
    }

    /// Sends a recorded response to the request of the server that corresponds to the recorded one.
    async fn response_of_client(&mut self, body: &Value) {
        let Some(live_id) = self.counterparts.remove(&body["id"].to_string()) else {
            return;
        };
        let mut response = body.clone();
        if is_redacted(&response.to_string()) {
            let reason = "the recorded response was redacted";
            response = json!({"jsonrpc": "2.0", "error": {"code": code::INTERNAL_ERROR, "message": reason}});
        }
        response["id"] = live_id;
        self.relay.send(&response).await;
    }

    async fn request_of_server(&mut self, body: &Value) {
        self.expected_requests = self.expected_requests.saturating_sub(1);
        if self.open.is_empty() {
            // The exchange that caused it was not repeated.
            return;
        }
        self.wait(&Awaited::ServerRequest).await;
        let live = self.server_requests.pop_front();
        let found = match &live {
            Some(live) => differences(&outline(body), &self.compared(live), self.options),
            None => vec![missing(&format!("the request {}", method(body)))],
        };
        self.add_to_newest(found);
        if let Some(live) = live {
            self.counterparts
                .insert(body["id"].to_string(), live["id"].clone());
        }
    }

    async fn response(&mut self, body: &Value) {
        let recorded_id = body["id"].to_string();
        if !self.open.contains_key(&recorded_id) {
            return;
        }
        self.wait(&Awaited::Response(&recorded_id)).await;
        let Some(sent) = self.open.remove(&recorded_id) else {
            return;
        };
        let mut found = Vec::new();
        match &sent.response {
            None => found.push(missing("the response")),
            Some(response) => {
                let states = [body, response].map(|m| m["result"]["requestState"].as_str());
                if let [Some(recorded), Some(live)] = states {
                    self.states.insert(recorded.to_owned(), live.to_owned());
                }
                let compared = self.compared(response);
                found.extend(differences(&outline(body), &compared, self.options));
            }
        }
        let progress = |list: &[Value]| json!({ "progress": list });
        found.extend(differences(
            &progress(&sent.recorded_progress),
            &progress(&sent.progress),
            self.options,
        ));
        self.add(sent.report, found);
    }

    fn recorded_notification(&mut self, body: &Value) {
        if method(body) == "notifications/progress" {
            let token = &body["params"]["progressToken"];
            let mut open = self.open.values_mut();
            if let Some(sent) = open.find(|sent| sent.token == *token) {
                sent.recorded_progress.push(body["params"].clone());
            }
        }
    }

    /// Reads messages until the awaited one has arrived, the timeout is over, or the connection has ended.
    async fn wait(&mut self, awaited: &Awaited<'_>) {
        let deadline = Instant::now() + self.response_timeout;
        loop {
            let has_arrived = match awaited {
                Awaited::Response(id) => {
                    self.reject_unexpected().await;
                    self.open
                        .get(*id)
                        .is_none_or(|sent| sent.response.is_some())
                }
                Awaited::ServerRequest => {
                    !self.server_requests.is_empty()
                        || self.open.values().all(|sent| sent.response.is_some())
                }
            };
            if has_arrived {
                return;
            }
            let Ok(Some(message)) = timeout_at(deadline, self.relay.receive()).await else {
                return;
            };
            if let Ok(message) = serde_json::from_slice(&message) {
                self.on_message(message);
            }
        }
    }

    fn on_message(&mut self, message: Value) {
        match kind(&message) {
            MessageKind::Request => self.server_requests.push_back(message),
            MessageKind::Response => {
                let mut open = self.open.values_mut();
                if let Some(sent) = open.find(|sent| sent.live_id == message["id"]) {
                    sent.response = Some(message);
                }
            }
            MessageKind::Notification if method(&message) == "notifications/progress" => {
                let params = self.compared(&message)["params"].clone();
                let mut open = self.open.values_mut();
                if let Some(sent) = open.find(|sent| sent.token == params["progressToken"]) {
                    sent.progress.push(params);
                }
            }
            MessageKind::Notification => {}
        }
    }

    /// Responds to requests of the server that the record does not have. Otherwise the server would wait.
    async fn reject_unexpected(&mut self) {
        if self.expected_requests > 0 {
            return;
        }
        while let Some(request) = self.server_requests.pop_front() {
            let error = json!({"code": code::METHOD_NOT_FOUND, "message": "the record has no such request"});
            let response = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
            self.relay.send(&response).await;
            self.add_to_newest(vec![Difference {
                path: "a request of the server".to_owned(),
                recorded: None,
                received: Some(outline(&request)),
            }]);
        }
    }

    fn add(&mut self, report: usize, mut found: Vec<Difference>) {
        if let ExchangeOutcome::Compared(differences) = &mut self.reports[report].outcome {
            differences.append(&mut found);
        }
    }

    /// Adds differences to the open exchange that was sent last.
    fn add_to_newest(&mut self, found: Vec<Difference>) {
        if let Some(report) = self.open.values().map(|sent| sent.report).max() {
            self.add(report, found);
        }
    }

    /// Returns a message of the server in the form of the record: without its id, and without secrets.
    fn compared(&self, message: &Value) -> Value {
        if !self.redacts {
            return outline(message);
        }
        let text = message.to_string();
        let redacted = redact_json(&text).and_then(|text| serde_json::from_str(&text).ok());
        outline(&redacted.unwrap_or_else(|| message.clone()))
    }
}

/// Returns what is compared of a message.
fn outline(message: &Value) -> Value {
    let mut outline = message.clone();
    if let Some(members) = outline.as_object_mut() {
        members.remove("id");
        members.remove("jsonrpc");
    }
    outline
}

fn missing(what: &str) -> Difference {
    Difference {
        path: format!("{what} did not arrive"),
        recorded: None,
        received: None,
    }
}

/// Returns `true` if the parameters of a request contain something redacted besides the state, which is replaced.
fn has_redacted_params(request: &Value) -> bool {
    let mut params = request["params"].clone();
    if let Some(members) = params.as_object_mut() {
        members.remove("requestState");
    }
    is_redacted(&params.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::test_record::record;

    #[test]
    fn redacted_calls_are_not_repeated() {
        let call = |name: &str, argument: &str| {
            (
                true,
                json!({"id": 1, "method": "tools/call", "params": {"name": name, "arguments": {"a": argument}, "requestState": "[redacted 1 bytes sha256:aaaa]"}}),
            )
        };
        let record = record(&[
            call("add", "1"),
            call("add", "2"),
            call("login", "[redacted 7 bytes sha256:f52f]"),
        ]);
        assert_eq!(called_tools(&record), ["add"]);
    }
}
