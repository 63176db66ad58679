//! The exchanges of a record: each request of the client with everything that the server sent for it.

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

    fn is_open(&self) -> bool {
        self.response().is_none()
    }
}

/// Returns the exchanges of a record in the order of their requests.
///
/// A message without a stream of its own belongs to the request with its progress token or subscription id. Otherwise it
/// belongs to the last open request, or to the last one of all.
pub(super) fn exchanges(record: &Record) -> Vec<RecordedExchange> {
    let mut exchanges: Vec<RecordedExchange> = Vec::new();
    for message in &record.messages {
        match (message.is_sent, kind(&message.body)) {
            (true, MessageKind::Request) => exchanges.push(RecordedExchange {
                connection: message.connection,
                request: message.clone(),
                sent: Vec::new(),
            }),
            (true, _) => {}
            (false, _) => {
                if let Some(index) = owner(&exchanges, message) {
                    exchanges[index].sent.push(message.clone());
                }
            }
        }
    }
    exchanges
}

/// Returns the index of the exchange that a message of the server belongs to.
fn owner(exchanges: &[RecordedExchange], message: &RecordedMessage) -> Option<usize> {
    let find = |matches: &dyn Fn(&RecordedExchange) -> bool| {
        exchanges
            .iter()
            .rposition(|exchange| exchange.connection == message.connection && matches(exchange))
    };
    if kind(&message.body) == MessageKind::Response {
        let id = &message.body["id"];
        return find(&|exchange| exchange.is_open() && exchange.request.body["id"] == *id);
    }
    let params = &message.body["params"];
    let token = &params["progressToken"];
    let subscription = &params["_meta"][SUBSCRIPTION_ID];
    if let Some(id) = &message.exchange {
        return find(&|exchange| exchange.request.body["id"] == *id);
    }
    if !token.is_null() {
        return find(&|exchange| progress_token(&exchange.request.body) == token);
    }
    if !subscription.is_null() {
        return find(&|exchange| exchange.request.body["id"] == *subscription);
    }
    find(&RecordedExchange::is_open).or_else(|| find(&|_| true))
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
        let exchanges = exchanges(&record);
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
    }
}
