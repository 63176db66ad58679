//! The server of a record: it responds to each recorded request as the server did.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use toolwire::types::code;
use toolwire::{ProtocolVersion, VersionFeatures as _};

use crate::record::{Record, RecordedMessage, redact_json};
use crate::replay::exchanges::{RecordedExchange, exchanges, method};
use crate::replay::matching::{description, key};

/// Requests that a client may send at any time. `--strict` does not expect them in the order of the record.
const UNORDERED: [&str; 5] = [
    "initialize",
    "server/discover",
    "ping",
    "logging/setLevel",
    "subscriptions/listen",
];

/// A server that replays the exchanges of a record.
#[derive(Debug)]
pub(crate) struct RecordedServer {
    exchanges: Vec<(String, RecordedExchange)>,
    /// Whether requests have to arrive in the order of the record.
    is_strict: bool,
    redacts: bool,
    pub(super) has_legacy_era: bool,
    state: Mutex<ReplayState>,
    pub(super) next_request: AtomicU64,
}

#[derive(Debug)]
struct ReplayState {
    is_used: Vec<bool>,
    /// The next exchange of a strict replay.
    next: usize,
}

impl RecordedServer {
    /// Creates the server of a record.
    pub(crate) fn new(record: &Record, is_strict: bool) -> Self {
        let exchanges: Vec<(String, RecordedExchange)> = exchanges(record)
            .into_iter()
            .map(|exchange| (key(&exchange.request.body), exchange))
            .collect();
        let has_legacy_era = exchanges.iter().any(|(_, exchange)| {
            exchange.method() == "initialize" && is_success(exchange.response())
        });
        Self {
            state: Mutex::new(ReplayState {
                is_used: vec![false; exchanges.len()],
                next: 0,
            }),
            exchanges,
            is_strict,
            redacts: record.is_redacted(),
            has_legacy_era,
            next_request: AtomicU64::new(1),
        }
    }

    /// Returns the exchange for a request, or the error that the client gets.
    pub(super) fn find(&self, request: &Value) -> Result<&RecordedExchange, Value> {
        let wanted = self.recorded_form(request);
        let wanted = key(&wanted);
        let name = method(request);
        let mut state = self.state();
        if self.is_strict && !UNORDERED.contains(&name) {
            let rest = self.exchanges.iter().enumerate().skip(state.next);
            let mut rest =
                rest.filter(|(_, (_, exchange))| !UNORDERED.contains(&exchange.method()));
            return match rest.next() {
                Some((index, (key, exchange))) if *key == wanted => {
                    state.next = index + 1;
                    Ok(exchange)
                }
                Some((_, (_, exchange))) => Err(error(
                    code::INTERNAL_ERROR,
                    &format!(
                        "the next request of the record is {}, not {}",
                        description(&exchange.request.body),
                        description(request)
                    ),
                )),
                None => Err(error(
                    code::INTERNAL_ERROR,
                    &format!(
                        "the record has no request after its last one: {}",
                        description(request)
                    ),
                )),
            };
        }
        let matching = || {
            let exchanges = self.exchanges.iter().enumerate();
            exchanges.filter(|(_, (key, _))| *key == wanted)
        };
        let unused = matching().find(|(index, _)| !state.is_used[*index]);
        // A request that is repeated more often than in the record gets the last response again.
        match unused.or_else(|| matching().next_back()) {
            Some((index, (_, exchange))) => {
                state.is_used[index] = true;
                Ok(exchange)
            }
            None => Err(self.unknown(request)),
        }
    }

    /// Returns a request as it would be in the record.
    fn recorded_form(&self, request: &Value) -> Value {
        if !self.redacts {
            return request.clone();
        }
        let text = request.to_string();
        let redacted = redact_json(&text);
        let redacted = redacted.and_then(|text| serde_json::from_str(&text).ok());
        redacted.unwrap_or_else(|| request.clone())
    }

    fn unknown(&self, request: &Value) -> Value {
        let name = method(request);
        let mut exchanges = self.exchanges.iter();
        if exchanges.any(|(_, exchange)| exchange.method() == name) {
            let message = format!(
                "the record has no {} with these parameters",
                description(request)
            );
            return error(code::INTERNAL_ERROR, &message);
        }
        error(
            code::METHOD_NOT_FOUND,
            &format!("the record has no request {name}"),
        )
    }

    /// Returns the response to a request that every server knows, if the record does not have it.
    pub(super) fn default_response(&self, request: &Value) -> Option<Value> {
        match method(request) {
            "ping" | "logging/setLevel" => Some(json!({ "result": {} })),
            "server/discover" if !self.has_legacy_era => Some(json!({ "result": {
                "resultType": "complete",
                "supportedVersions": modern_versions(),
                "capabilities": self.capabilities(),
            }})),
            _ => None,
        }
    }

    /// Returns the capabilities that the recorded requests need.
    fn capabilities(&self) -> Value {
        let mut capabilities = json!({});
        for (_, exchange) in &self.exchanges {
            let capability = match exchange.method().split('/').next() {
                Some(known @ ("tools" | "prompts" | "resources")) => known,
                Some("completion") => "completions",
                _ => continue,
            };
            capabilities[capability] = json!({});
        }
        capabilities
    }

    fn state(&self) -> MutexGuard<'_, ReplayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_success(response: Option<&RecordedMessage>) -> bool {
    response.is_some_and(|response| response.body.get("result").is_some())
}

pub(super) fn modern_versions() -> Vec<ProtocolVersion> {
    let versions = ProtocolVersion::ALL.into_iter();
    versions.filter(|version| version.is_modern()).collect()
}

fn error(code: i64, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::test_record::record;

    fn call(id: i64, argument: i64) -> Value {
        json!({"id": id, "method": "tools/call", "params": {"name": "add", "arguments": {"a": argument}}})
    }

    fn responded(id: i64, text: &str) -> Value {
        json!({"id": id, "result": {"text": text}})
    }

    fn find(server: &RecordedServer, request: &Value) -> Result<String, String> {
        match server.find(request) {
            Ok(exchange) => Ok(exchange.response().unwrap().body["result"]["text"].to_string()),
            Err(error) => Err(error["error"]["message"].to_string()),
        }
    }

    #[test]
    fn requests_are_found_by_their_arguments() {
        let record = record(&[
            (true, call(1, 1)),
            (false, responded(1, "one")),
            (true, call(2, 2)),
            (false, responded(2, "two")),
            (true, call(3, 1)),
            (false, responded(3, "one again")),
        ]);
        let server = RecordedServer::new(&record, false);
        assert_eq!(find(&server, &call(7, 2)).unwrap(), "\"two\"");
        for expected in ["\"one\"", "\"one again\"", "\"one again\""] {
            assert_eq!(find(&server, &call(7, 1)).unwrap(), expected);
        }
        let error = find(&server, &call(7, 3)).unwrap_err();
        assert!(
            error.contains("no tools/call add with these parameters"),
            "{error}"
        );

        let strict = RecordedServer::new(&record, true);
        let error = find(&strict, &call(7, 2)).unwrap_err();
        assert!(error.contains("the next request of the record"), "{error}");
        for (argument, expected) in [(1, "\"one\""), (2, "\"two\""), (1, "\"one again\"")] {
            assert_eq!(find(&strict, &call(7, argument)).unwrap(), expected);
        }
        assert!(
            find(&strict, &call(7, 1))
                .unwrap_err()
                .contains("after its last one")
        );
    }

    #[test]
    fn secret_arguments_are_found_in_a_redacted_record() {
        let login = |password: &str| json!({"id": 1, "method": "tools/call", "params": {"name": "login", "arguments": {"password": password}}});
        let text = login("hunter2").to_string();
        let redacted = serde_json::from_str(&redact_json(&text).unwrap()).unwrap();
        let record = record(&[(true, redacted), (false, responded(1, "in"))]);
        let server = RecordedServer::new(&record, false);
        assert!(find(&server, &login("hunter2")).is_ok());
        assert!(find(&server, &login("other")).is_err());
    }
}
