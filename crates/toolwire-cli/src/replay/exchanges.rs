//! The exchanges of a record: each request of the client with everything that the server sent for it.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::record::{Record, RecordedMessage};

/// The member of `_meta` with the id of the subscription that a notification belongs to.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The kind of a JSON-RPC message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Request,
    Notification,
    Response,
}

/// Returns the kind of a message.
pub(super) fn kind(message: &Value) -> MessageKind {
    match (message.get("method"), message.get("id")) {
        (Some(_), Some(_)) => MessageKind::Request,
        (Some(_), None) => MessageKind::Notification,
        (None, _) => MessageKind::Response,
    }
}

/// Returns the method of a message, or an empty text.
pub(super) fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

/// Returns the progress token of a request, or `null`.
pub(super) fn progress_token(request: &Value) -> &Value {
    &request["params"]["_meta"]["progressToken"]
}

/// A request of the client, and what the server sent for it in this order.
#[derive(Debug)]
pub(super) struct RecordedExchange {
    pub(super) connection: u64,
    pub(super) request: RecordedMessage,
    pub(super) sent: Vec<RecordedMessage>,
}

impl RecordedExchange {
    /// Returns the recorded response, if there is one.
    pub(super) fn response(&self) -> Option<&RecordedMessage> {
        let mut sent = self.sent.iter();
        sent.find(|message| kind(&message.body) == MessageKind::Response)
    }

    pub(super) fn method(&self) -> &str {
        method(&self.request.body)
    }
}

/// The exchanges of a record.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// The exchanges in the order of their requests.
    pub(super) all: Vec<RecordedExchange>,
    /// For each message of the record, the index of its exchange. Notifications and responses of the client have none.
    pub(super) owners: Vec<Option<usize>>,
}

impl Exchanges {
    /// Finds the exchanges of a record.
    ///
    /// A message without a stream of its own belongs to the request with its progress token or subscription id.
    /// Otherwise it belongs to the last open request, or to the last one of all.
    pub(super) fn of(record: &Record) -> Self {
        let mut exchanges = Self::default();
        let mut connections: HashMap<u64, ConnectionExchanges> = HashMap::new();
        for message in &record.messages {
            let connection = connections.entry(message.connection).or_default();
            let owner = match (message.is_sent, kind(&message.body)) {
                (true, MessageKind::Request) => {
                    let index = exchanges.all.len();
                    connection.begin(&message.body, index);
                    exchanges.all.push(RecordedExchange {
                        connection: message.connection,
                        request: message.clone(),
                        sent: Vec::new(),
                    });
                    Some(index)
                }
                (true, _) => None,
                (false, _) => {
                    let owner = connection.owner(message);
                    if let Some(index) = owner {
                        exchanges.all[index].sent.push(message.clone());
                    }
                    owner
                }
            };
            exchanges.owners.push(owner);
        }
        exchanges
    }

    /// Returns the numbers of the connections with requests, each once, in ascending order.
    pub(super) fn connections(&self) -> BTreeSet<u64> {
        self.all
            .iter()
            .map(|exchange| exchange.connection)
            .collect()
    }
}

/// The exchanges of one connection so far, by what messages refer to. The values are indexes.
#[derive(Debug, Default)]
struct ConnectionExchanges {
    by_id: HashMap<String, usize>,
    by_token: HashMap<String, usize>,
    /// The exchanges without a response.
    open: BTreeSet<usize>,
    last: Option<usize>,
}

impl ConnectionExchanges {
    fn begin(&mut self, request: &Value, index: usize) {
        self.by_id.insert(request["id"].to_string(), index);
        let token = progress_token(request);
        if !token.is_null() {
            self.by_token.insert(token.to_string(), index);
        }
        self.open.insert(index);
        self.last = Some(index);
    }

    /// Returns the exchange that a message of the server belongs to.
    fn owner(&mut self, message: &RecordedMessage) -> Option<usize> {
        let by_id = |id: &Value| self.by_id.get(&id.to_string()).copied();
        if kind(&message.body) == MessageKind::Response {
            let owner = by_id(&message.body["id"])?;
            // A second response belongs to no request.
            return self.open.remove(&owner).then_some(owner);
        }
        let params = &message.body["params"];
        let token = &params["progressToken"];
        let subscription = &params["_meta"][SUBSCRIPTION_ID];
        if let Some(id) = &message.exchange {
            return by_id(id);
        }
        if !token.is_null() {
            return self.by_token.get(&token.to_string()).copied();
        }
        if !subscription.is_null() {
            return by_id(subscription);
        }
        self.open.last().copied().or(self.last)
    }
}

/// Returns a message of the server with the id, the progress token and the subscription id of another request.
pub(super) fn addressed(message: &Value, id: &Value, token: &Value) -> Value {
    let mut message = message.clone();
    let params = &mut message["params"];
    if params.is_object() {
        if params.get("progressToken").is_some() {
            params["progressToken"] = token.clone();
        }
        if let Some(subscription) = params
            .get_mut("_meta")
            .and_then(|meta| meta.get_mut(SUBSCRIPTION_ID))
        {
            *subscription = id.clone();
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::replay::test_record::record;

    #[test]
    fn messages_belong_to_the_request_that_caused_them() {
        let call = |id: i64, token: &str| json!({"id": id, "method": "tools/call", "params": {"name": "a", "_meta": {"progressToken": token}}});
        let progress = |token: &str| json!({"method": "notifications/progress", "params": {"progressToken": token}});
        let record = record(&[
            (true, call(1, "one")),
            (true, call(2, "two")),
            (false, progress("one")),
            (false, json!({"id": 9, "method": "roots/list"})),
            (true, json!({"id": 9, "result": {}})),
            (false, json!({"id": 2, "result": {}})),
            (false, json!({"id": 1, "error": {}})),
            (false, json!({"method": "notifications/tools/list_changed"})),
        ]);
        let found = Exchanges::of(&record);
        let exchanges = &found.all;
        let sent = |index: usize| -> Vec<&str> {
            let sent = exchanges[index].sent.iter();
            sent.map(|message| method(&message.body)).collect()
        };
        assert_eq!(sent(0), ["notifications/progress", ""]);
        assert_eq!(
            sent(1),
            ["roots/list", "", "notifications/tools/list_changed"]
        );
        assert!(
            exchanges
                .iter()
                .all(|exchange| exchange.response().is_some())
        );
        let (first, second) = (Some(0), Some(1));
        let owners = [first, second, first, second, None, second, first, second];
        assert_eq!(found.owners, owners);
    }

    #[test]
    fn second_response_belongs_to_no_request() {
        let ping = |id: i64| (true, json!({"id": id, "method": "ping"}));
        let pong = (false, json!({"id": 1, "result": {}}));
        let record = record(&[ping(1), pong.clone(), pong.clone(), ping(1), pong]);
        let owners = Exchanges::of(&record).owners;
        assert_eq!(owners, [Some(0), Some(0), None, Some(1), Some(1)]);
    }
}
