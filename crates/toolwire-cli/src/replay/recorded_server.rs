//! The server of a record: it responds to each recorded request as the server did.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire::types::code;
use toolwire::{ProtocolVersion, VersionFeatures as _};

use crate::record::{Record, RecordedMessage, redact_json};
use crate::replay::exchanges::{Exchanges, RecordedExchange, method};
use crate::replay::matching::{description, key};
use crate::sync::lock;

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
    exchanges: Vec<RecordedExchange>,
    /// The indexes of the exchanges with equal requests, by their key.
    by_key: HashMap<String, Vec<usize>>,
    /// Of a strict replay: the indexes of the exchanges of each recorded connection, in their order.
    orders: Option<Vec<Vec<usize>>>,
    redacts: bool,
    pub(super) has_legacy_era: bool,
    /// How often each key was requested.
    used: Mutex<HashMap<String, usize>>,
    /// The number of connections with a strict position so far.
    positions: AtomicUsize,
    pub(super) next_request: AtomicU64,
}

/// The place of one connection in a strict replay.
#[derive(Debug, Default)]
pub(super) struct StrictPosition {
    /// The index of the recorded connection, after the first request that is expected in its order.
    order: Option<usize>,
    /// The number of requests so far.
    requests: usize,
}

impl RecordedServer {
    /// Creates the server of a record.
    pub(crate) fn new(record: &Record, is_strict: bool) -> Self {
        let found = Exchanges::of(record);
        let orders = is_strict.then(|| orders(&found));
        let exchanges = found.all;
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, exchange) in exchanges.iter().enumerate() {
            let key = key(&exchange.request.body);
            by_key.entry(key).or_default().push(index);
        }
        let has_legacy_era = exchanges
            .iter()
            .any(|exchange| exchange.method() == "initialize" && is_success(exchange.response()));
        Self {
            exchanges,
            by_key,
            orders,
            redacts: record.is_redacted(),
            has_legacy_era,
            used: Mutex::default(),
            positions: AtomicUsize::new(0),
            next_request: AtomicU64::new(1),
        }
    }

    /// Returns the exchange for a request, or the error that the client gets. `position` is that of the connection.
    pub(super) fn find(
        &self,
        request: &Value,
        position: &Mutex<StrictPosition>,
    ) -> Result<&RecordedExchange, Value> {
        let wanted = key(&self.recorded_form(request));
        if let Some(orders) = &self.orders
            && !UNORDERED.contains(&method(request))
        {
            let mut position = lock(position);
            return self.next_in_order(orders, &wanted, request, &mut position);
        }
        let Some(equal) = self.by_key.get(&wanted) else {
            return Err(self.unknown(request));
        };
        let mut used = lock(&self.used);
        let count = used.entry(wanted).or_default();
        // A request that is repeated more often than in the record gets the last response again.
        let index = equal[(*count).min(equal.len() - 1)];
        *count += 1;
        Ok(&self.exchanges[index])
    }

    /// Returns the next exchange of a connection, if the request is that of the record.
    fn next_in_order(
        &self,
        orders: &[Vec<usize>],
        wanted: &str,
        request: &Value,
        position: &mut StrictPosition,
    ) -> Result<&RecordedExchange, Value> {
        let order = *position.order.get_or_insert_with(|| {
            // After the last recorded connection, the next client begins with the first one again.
            self.positions.fetch_add(1, Ordering::Relaxed) % orders.len().max(1)
        });
        let next = orders
            .get(order)
            .and_then(|order| order.get(position.requests));
        let Some(exchange) = next.map(|index| &self.exchanges[*index]) else {
            let message = format!(
                "the record has no request after its last one: {}",
                description(request)
            );
            return Err(error(code::INTERNAL_ERROR, &message));
        };
        if key(&exchange.request.body) != wanted {
            let message = format!(
                "the next request of the record is {}, not {}",
                description(&exchange.request.body),
                description(request)
            );
            return Err(error(code::INTERNAL_ERROR, &message));
        }
        position.requests += 1;
        Ok(exchange)
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
        if exchanges.any(|exchange| exchange.method() == name) {
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
        for exchange in &self.exchanges {
            let capability = match exchange.method().split('/').next() {
                Some(known @ ("tools" | "prompts" | "resources")) => known,
                Some("completion") => "completions",
                _ => continue,
            };
            capabilities[capability] = json!({});
        }
        capabilities
    }
}

/// Returns the requests of each recorded connection that are expected in their order.
fn orders(exchanges: &Exchanges) -> Vec<Vec<usize>> {
    let mut orders: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, exchange) in exchanges.all.iter().enumerate() {
        if !UNORDERED.contains(&exchange.method()) {
            let order = orders.entry(exchange.connection).or_default();
            order.push(index);
        }
    }
    orders.into_values().collect()
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
        find_at(server, request, &Mutex::default())
    }

    fn find_at(
        server: &RecordedServer,
        request: &Value,
        position: &Mutex<StrictPosition>,
    ) -> Result<String, String> {
        match server.find(request, position) {
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
        let position = Mutex::default();
        let error = find_at(&strict, &call(7, 2), &position).unwrap_err();
        assert!(error.contains("the next request of the record"), "{error}");
        for (argument, expected) in [(1, "\"one\""), (2, "\"two\""), (1, "\"one again\"")] {
            let found = find_at(&strict, &call(7, argument), &position);
            assert_eq!(found.unwrap(), expected);
        }
        let error = find_at(&strict, &call(7, 1), &position).unwrap_err();
        assert!(error.contains("after its last one"), "{error}");
    }

    #[test]
    fn connections_have_strict_positions_of_their_own() {
        let mut record = record(&[
            (true, call(1, 1)),
            (false, responded(1, "one")),
            (true, call(2, 2)),
            (false, responded(2, "two")),
            (true, call(1, 3)),
            (false, responded(1, "three")),
        ]);
        for message in &mut record.messages[4..] {
            message.connection = 2;
        }
        let server = RecordedServer::new(&record, true);
        let positions: [Mutex<StrictPosition>; 3] = Default::default();
        // The third connection is like the first one.
        for (position, argument) in [(0, 1), (1, 3), (2, 1), (0, 2), (2, 2)] {
            find_at(&server, &call(7, argument), &positions[position]).unwrap();
        }
        find_at(&server, &call(7, 1), &positions[1]).unwrap_err();
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
