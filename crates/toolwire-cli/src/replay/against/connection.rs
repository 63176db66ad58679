//! The replay of one connection.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};
use toolwire::types::code;

use crate::record::{Record, RecordedMessage, is_redacted, redact_json};
use crate::replay::against::live_values::LiveValues;
use crate::replay::against::skipped_requests::{is_left_out, reason_to_skip};
use crate::replay::compare::{CompareOptions, Difference, differences};
use crate::replay::exchanges::{MessageKind, RecordedExchange, kind, method, progress_token};
use crate::replay::matching::description;
use crate::replay::relay_connection::RelayConnection;
use crate::replay::report::{ExchangeOutcome, ExchangeReport};
use crate::replay::server_values::is_working;

/// The time between two requests for the state of a task that is still working.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The replay of one connection.
pub(super) struct ConnectionReplay<'a> {
    relay: RelayConnection,
    options: &'a CompareOptions,
    response_timeout: Duration,
    redacts: bool,
    /// The requests that were sent, by their recorded id.
    open: HashMap<String, SentRequest>,
    /// The recorded ids of requests that were not sent.
    skipped: HashSet<String>,
    /// Requests of the server that have no recorded counterpart yet.
    server_requests: VecDeque<Value>,
    /// The ids of the server's requests, by their recorded id.
    counterparts: HashMap<String, Value>,
    live_values: LiveValues,
    next_id: i64,
    reports: Vec<ExchangeReport>,
}

/// A request that was sent to the server.
struct SentRequest {
    live_id: Value,
    /// The message as it was sent.
    message: Value,
    /// The index of its report.
    report: usize,
    /// The recorded requests of the server in this exchange that have not been reached.
    expected_requests: usize,
    recorded_progress: Vec<Value>,
    progress: Vec<Value>,
    response: Option<Value>,
    token: Value,
}

/// What a replay waits for.
enum Awaited<'b> {
    /// The response to the request with this recorded id.
    Response(&'b str),
    /// A request of the server, or the response to a request that is open.
    ServerRequest,
}

impl<'a> ConnectionReplay<'a> {
    pub(super) fn new(
        relay: RelayConnection,
        options: &'a CompareOptions,
        response_timeout: Duration,
        record: &Record,
        live_values: LiveValues,
    ) -> Self {
        Self {
            relay,
            options,
            response_timeout,
            redacts: record.is_redacted(),
            open: HashMap::new(),
            skipped: HashSet::new(),
            server_requests: VecDeque::new(),
            counterparts: HashMap::new(),
            live_values,
            next_id: 1,
            reports: Vec::new(),
        }
    }

    /// Closes the connection. Returns the reports of its exchanges, and the values for the next connection.
    pub(super) async fn finish(self) -> (Vec<ExchangeReport>, LiveValues) {
        self.relay.close().await;
        (self.reports, self.live_values.for_next_connection())
    }

    /// Sends a message of the client again, or waits for one of the server. `exchange` is the one it belongs to.
    pub(super) async fn repeat(
        &mut self,
        message: &RecordedMessage,
        exchange: Option<&RecordedExchange>,
    ) {
        let body = &message.body;
        match (message.is_sent, kind(body), exchange) {
            (true, MessageKind::Request, Some(exchange)) => self.request(exchange).await,
            (true, MessageKind::Notification, _) => self.notification(body).await,
            (true, MessageKind::Response, _) => self.response_of_client(body).await,
            (false, MessageKind::Request, Some(exchange)) => {
                self.request_of_server(body, exchange).await;
            }
            (false, MessageKind::Response, Some(_)) => self.response(body).await,
            (false, MessageKind::Notification, _) => self.recorded_notification(body),
            // It belongs to no request of the record.
            (_, _, None) => {}
        }
    }

    async fn request(&mut self, exchange: &RecordedExchange) {
        let recorded_id = exchange.request.body["id"].to_string();
        if is_left_out(exchange) {
            self.skipped.insert(recorded_id);
            return;
        }
        let mut request = exchange.request.body.clone();
        let reason = reason_to_skip(exchange).or_else(|| {
            let replaced = self.live_values.replace_in(&mut request);
            replaced
                .is_err()
                .then_some("it continues an exchange that was not repeated")
        });
        self.reports.push(ExchangeReport {
            connection: exchange.connection,
            description: description(&request),
            outcome: match reason {
                Some(reason) => ExchangeOutcome::Skipped(reason.to_owned()),
                None => ExchangeOutcome::Compared(Vec::new()),
            },
        });
        if reason.is_some() {
            if let Some(response) = exchange.response() {
                self.live_values.store(&response.body, None);
            }
            self.skipped.insert(recorded_id);
            return;
        }
        // The client may use an id again.
        self.skipped.remove(&recorded_id);
        let sent = exchange.sent.iter();
        let expected_requests = sent
            .filter(|message| kind(&message.body) == MessageKind::Request)
            .count();
        let live_id = self.next_id();
        request["id"] = live_id.clone();
        self.relay.send(&request).await;
        let sent = SentRequest {
            live_id,
            report: self.reports.len() - 1,
            expected_requests,
            recorded_progress: Vec::new(),
            progress: Vec::new(),
            response: None,
            token: progress_token(&request).clone(),
            message: request,
        };
        self.open.insert(recorded_id, sent);
    }

    fn next_id(&mut self) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        id.into()
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
        let is_complete = self.live_values.replace_in(&mut response).is_ok();
        if !is_complete || is_redacted(&response.to_string()) {
            let reason = "the recorded response was redacted";
            response = json!({"jsonrpc": "2.0", "error": {"code": code::INTERNAL_ERROR, "message": reason}});
        }
        response["id"] = live_id;
        self.relay.send(&response).await;
    }

    async fn request_of_server(&mut self, body: &Value, exchange: &RecordedExchange) {
        let owner = exchange.request.body["id"].to_string();
        // Without it, the exchange that caused the request was not repeated, or has ended in another way.
        let Some(sent) = self.open.get_mut(&owner) else {
            return;
        };
        sent.expected_requests = sent.expected_requests.saturating_sub(1);
        let report = sent.report;
        self.wait(&Awaited::ServerRequest).await;
        let live = self.server_requests.pop_front();
        let found = match &live {
            Some(live) => differences(&outline(body), &self.compared(live), self.options),
            None => vec![missing(&format!("the request {}", method(body)))],
        };
        self.add(report, found);
        if let Some(live) = live {
            self.counterparts
                .insert(body["id"].to_string(), live["id"].clone());
        }
    }

    async fn response(&mut self, body: &Value) {
        let recorded_id = body["id"].to_string();
        if self.skipped.contains(&recorded_id) {
            return;
        }
        self.wait(&Awaited::Response(&recorded_id)).await;
        self.poll_task(body, &recorded_id).await;
        let Some(sent) = self.open.remove(&recorded_id) else {
            return;
        };
        self.live_values.store(body, sent.response.as_ref());
        let is_poll = method(&sent.message) == "tasks/get";
        let mut found = match &sent.response {
            None => vec![missing("the response")],
            // How far the task is depends on the time.
            Some(response) if is_poll && is_working(body) && response.get("result").is_some() => {
                Vec::new()
            }
            Some(response) => differences(&outline(body), &self.compared(response), self.options),
        };
        let progress = |list: &[Value]| json!({ "progress": list });
        found.extend(differences(
            &progress(&sent.recorded_progress),
            &progress(&sent.progress),
            self.options,
        ));
        self.add(sent.report, found);
    }

    /// Requests the state of a task again while it is working, if it was not in the record.
    async fn poll_task(&mut self, recorded: &Value, recorded_id: &str) {
        let deadline = Instant::now() + self.response_timeout;
        while let Some(sent) = self.open.get(recorded_id) {
            let response = sent.response.as_ref();
            let must_wait = method(&sent.message) == "tasks/get"
                && response.is_some_and(is_working)
                && recorded.get("result").is_some()
                && !is_working(recorded);
            if !must_wait || Instant::now() >= deadline {
                return;
            }
            sleep(POLL_INTERVAL).await;
            let live_id = self.next_id();
            let Some(sent) = self.open.get_mut(recorded_id) else {
                return;
            };
            sent.message["id"] = live_id.clone();
            sent.live_id = live_id;
            sent.response = None;
            self.relay.send(&sent.message).await;
            self.wait(&Awaited::Response(recorded_id)).await;
        }
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
        if self.open.values().any(|sent| sent.expected_requests > 0) {
            return;
        }
        while let Some(request) = self.server_requests.pop_front() {
            let error = json!({"code": code::METHOD_NOT_FOUND, "message": "the record has no such request"});
            let response = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
            self.relay.send(&response).await;
            let found = Difference {
                path: "a request of the server".to_owned(),
                recorded: None,
                received: Some(self.compared(&request)),
            };
            // It belongs to one of the open exchanges, most probably to the last one.
            if let Some(report) = self.open.values().map(|sent| sent.report).max() {
                self.add(report, vec![found]);
            }
        }
    }

    fn add(&mut self, report: usize, mut found: Vec<Difference>) {
        if let ExchangeOutcome::Compared(differences) = &mut self.reports[report].outcome {
            differences.append(&mut found);
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
