//! Sends the client's side of a record to a server again, and compares what the server sends.
//!
//! The messages are sent in the recorded order: a request is sent when it was sent, and a response is awaited where it
//! arrived. Requests whose content was redacted, and requests without a recorded response, are not sent. Input requests of
//! the server get the recorded responses.

mod connection;
mod live_values;
mod skipped_requests;

use std::time::Duration;

use toolwire::relay::Relay;

use crate::record::Record;
use crate::replay::against::connection::ConnectionReplay;
use crate::replay::against::skipped_requests::reason_to_skip;
use crate::replay::compare::CompareOptions;
use crate::replay::exchanges::Exchanges;
use crate::replay::relay_connection::RelayConnection;
use crate::replay::report::Report;

/// Returns the names of the tools that a replay would call, each once.
pub(crate) fn called_tools(record: &Record) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for exchange in Exchanges::of(record).all {
        let is_call = exchange.method() == "tools/call" && reason_to_skip(&exchange).is_none();
        let name = exchange.request.body["params"]["name"].as_str();
        if let Some(name) = name.filter(|_| is_call)
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
    let exchanges = Exchanges::of(record);
    let mut report = Report::default();
    for number in exchanges.connections() {
        let connection = RelayConnection::open(relay);
        let mut replay = ConnectionReplay::new(connection, options, response_timeout, record);
        for (message, owner) in record.messages.iter().zip(&exchanges.owners) {
            if message.connection == number {
                let exchange = owner.map(|index| &exchanges.all[index]);
                replay.repeat(message, exchange).await;
            }
        }
        report.exchanges.append(&mut replay.finish().await);
    }
    report
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::replay::test_record::record;

    #[test]
    fn redacted_calls_and_calls_without_a_response_are_not_repeated() {
        let call = |id: i64, name: &str, argument: &str| {
            (
                true,
                json!({"id": id, "method": "tools/call", "params": {"name": name, "arguments": {"a": argument}, "requestState": "[redacted 1 bytes sha256:aaaa]"}}),
            )
        };
        let response = |id: i64| (false, json!({"id": id, "result": {}}));
        let record = record(&[
            call(1, "add", "1"),
            response(1),
            call(2, "add", "2"),
            response(2),
            call(3, "login", "[redacted 7 bytes sha256:f52f]"),
            response(3),
            call(4, "delete", "1"),
        ]);
        assert_eq!(called_tools(&record), ["add"]);
    }
}
