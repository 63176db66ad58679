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
use crate::replay::against::live_values::LiveValues;
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
    let mut live_values = LiveValues::default();
    for number in exchanges.connections() {
        let connection = RelayConnection::open(relay);
        let mut replay =
            ConnectionReplay::new(connection, options, response_timeout, record, live_values);
        for (message, owner) in record.messages.iter().zip(&exchanges.owners) {
            if message.connection == number {
                let exchange = owner.map(|index| &exchanges.all[index]);
                replay.repeat(message, exchange).await;
            }
        }
        let (mut exchanges, values) = replay.finish().await;
        report.exchanges.append(&mut exchanges);
        live_values = values;
    }
    report
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use toolwire::middleware::{Next, Outcome, Request, from_fn_with};
    use toolwire::relay::Upstream;
    use toolwire::{RawJson, Server};

    use super::*;
    use crate::replay::compare::Pointer;
    use crate::replay::test_record::record;

    /// The cursors that a server received. `None` stands for a request of the first page.
    type Cursors = Arc<Mutex<Vec<Option<String>>>>;

    /// Responds to each request of a first page with another cursor, and stores the cursors that it receives.
    async fn list_page(cursors: &Cursors, request: &mut Request, next: Next<'_>) -> Outcome {
        if request.method() != "tools/list" {
            return next.run(request).await;
        }
        let params: Value = serde_json::from_str(request.params().unwrap().get()).unwrap();
        let cursor = params["cursor"].as_str().map(str::to_owned);
        let mut cursors = cursors.lock().unwrap();
        cursors.push(cursor.clone());
        let mut page = json!({"tools": []});
        if cursor.is_none() {
            page["nextCursor"] = format!("live {}", cursors.len()).into();
        }
        Outcome::from_result(RawJson::from(page))
    }

    #[tokio::test]
    async fn equal_values_of_two_connections_are_different_values_of_the_server() {
        let cursors = Cursors::default();
        let server = Server::new("lists", "1.0.0")
            .with_page_size(1)
            .with_middleware(from_fn_with(Arc::clone(&cursors), list_page));
        let relay = Upstream::new(move |builder| {
            let server = server.clone();
            async move { builder.in_process(&server).await }
        })
        .relay();
        let request = |id: i64, cursor: Option<&str>| {
            let mut body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.0.0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }}});
            if let Some(cursor) = cursor {
                body["params"]["cursor"] = cursor.into();
            }
            (true, body)
        };
        let page = |id: i64, cursor: Option<&str>| {
            (
                false,
                json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [], "nextCursor": cursor}}),
            )
        };
        let on_connection = [
            request(1, None),
            page(1, Some("recorded")),
            request(2, Some("recorded")),
            page(2, None),
        ];
        let mut record = record(&[on_connection.clone(), on_connection].concat());
        for message in &mut record.messages[4..] {
            message.connection = 2;
        }
        let options = CompareOptions {
            ignored: Pointer::parse("/result").into_iter().collect(),
        };
        let report = replay_against(&record, &relay, &options, Duration::from_secs(60)).await;
        assert!(!report.has_differences(), "{}", report.text());
        let sent = [None, Some("live 1"), None, Some("live 3")];
        let sent = sent.map(|cursor: Option<&str>| cursor.map(str::to_owned));
        assert_eq!(*cursors.lock().unwrap(), sent);
    }

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
