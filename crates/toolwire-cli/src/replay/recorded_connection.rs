//! The connections of a recorded server: what it sends for each request.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use toolwire::relay::Upstream;
use toolwire::transport::{MessageReader, MessageWriter};
use toolwire::types::code;

use crate::record::RecordedMessage;
use crate::replay::exchanges::{MessageKind, addressed, kind, method, progress_token};
use crate::replay::matching::description;
use crate::replay::recorded_server::{RecordedServer, StrictPosition, modern_versions};
use crate::sync::lock;

/// The number of messages that may wait for the client.
const QUEUE_LEN: usize = 64;

impl RecordedServer {
    /// Returns the server as an upstream of a relay, which serves it over every transport and in every revision.
    pub(crate) fn upstream(self) -> Upstream {
        let server = Arc::new(self);
        Upstream::new(move |builder| {
            let (reader, writer) = connect(&server);
            async move { builder.connect_messages(reader, writer).await }
        })
        .with_name("record")
    }
}

/// Opens a connection to the server.
fn connect(server: &Arc<RecordedServer>) -> (RecordReader, RecordWriter) {
    let (sender, messages) = mpsc::channel(QUEUE_LEN);
    let writer = RecordWriter {
        connection: Arc::new(RecordConnection {
            server: Arc::clone(server),
            sender,
            open: Mutex::default(),
            position: Mutex::default(),
        }),
    };
    (RecordReader(messages), writer)
}

struct RecordReader(mpsc::Receiver<Vec<u8>>);

impl MessageReader for RecordReader {
    async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.recv().await)
    }
}

/// Takes the messages of the client. The requests that still run end with it.
struct RecordWriter {
    connection: Arc<RecordConnection>,
}

struct RecordConnection {
    server: Arc<RecordedServer>,
    sender: mpsc::Sender<Vec<u8>>,
    open: Mutex<OpenRequests>,
    position: Mutex<StrictPosition>,
}

#[derive(Default)]
struct OpenRequests {
    /// The requests of the client, by their id as text.
    running: HashMap<String, AbortHandle>,
    /// The requests of the server that wait for a response, by their id as text.
    waiting: HashMap<String, oneshot::Sender<()>>,
}

impl MessageWriter for RecordWriter {
    async fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        let message: Value = serde_json::from_slice(&message)?;
        let connection = &self.connection;
        match kind(&message) {
            MessageKind::Request => {
                let id = message["id"].to_string();
                let playing = play(Arc::clone(connection), message);
                let handle = tokio::spawn(playing).abort_handle();
                let mut open = connection.open();
                open.running.retain(|_, handle| !handle.is_finished());
                open.running.insert(id, handle);
            }
            MessageKind::Notification if method(&message) == "notifications/cancelled" => {
                let id = message["params"]["requestId"].to_string();
                if let Some(handle) = connection.open().running.remove(&id) {
                    handle.abort();
                }
            }
            MessageKind::Notification => {}
            MessageKind::Response => {
                let waiting = connection.open().waiting.remove(&message["id"].to_string());
                // The exchange may have been cancelled.
                let _ = waiting.map(|waiting| waiting.send(()));
            }
        }
        Ok(())
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        let open = std::mem::take(&mut *self.connection.open());
        for handle in open.running.into_values() {
            handle.abort();
        }
    }
}

impl RecordConnection {
    fn open(&self) -> MutexGuard<'_, OpenRequests> {
        lock(&self.open)
    }

    async fn send(&self, message: String) {
        // The client may have disconnected.
        let _ = self.sender.send(message.into_bytes()).await;
    }

    /// Sends a request of the server and waits for the response of the client. Its content does not matter.
    async fn ask(&self, mut request: Value) {
        let number = self.server.next_request.fetch_add(1, Ordering::Relaxed);
        let id = Value::from(format!("replay-{number}"));
        let (sender, response) = oneshot::channel();
        self.open().waiting.insert(id.to_string(), sender);
        request["id"] = id;
        self.send(request.to_string()).await;
        // The connection may have ended.
        let _ = response.await;
    }
}

/// Sends what the server sent for a request.
async fn play(connection: Arc<RecordConnection>, request: Value) {
    let server = Arc::clone(&connection.server);
    let (id, token) = (&request["id"], progress_token(&request));
    let exchange = match server.find(&request, &connection.position) {
        Ok(exchange) => exchange,
        Err(error) => {
            let mut response = server.default_response(&request).unwrap_or(error);
            response["jsonrpc"] = "2.0".into();
            response["id"] = id.clone();
            return connection.send(response.to_string()).await;
        }
    };
    for message in &exchange.sent {
        match kind(&message.body) {
            MessageKind::Response => {
                let response = response_text(message, &request, server.has_legacy_era);
                connection.send(response).await;
            }
            MessageKind::Request => connection.ask(addressed(&message.body, id, token)).await,
            MessageKind::Notification => {
                let needs_token = message.body["params"].get("progressToken").is_some();
                // A client without a token expects no progress.
                if !needs_token || !token.is_null() {
                    let message = addressed(&message.body, id, token);
                    connection.send(message.to_string()).await;
                }
            }
        }
    }
    // A subscription stays open without a response. Other clients would wait forever.
    if exchange.response().is_none() && exchange.method() != "subscriptions/listen" {
        let message = format!("the record has no response to {}", description(&request));
        let error = json!({"code": code::INTERNAL_ERROR, "message": message});
        let response = json!({"jsonrpc": "2.0", "id": id, "error": error});
        connection.send(response.to_string()).await;
    }
}

/// Returns a recorded response with the id of another request. The text of the result stays as it is.
fn response_text(message: &RecordedMessage, request: &Value, has_legacy_era: bool) -> String {
    #[derive(serde::Deserialize)]
    struct Outcome<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }

    let id = &request["id"];
    if method(request) == "server/discover"
        && !has_legacy_era
        && let Some(Value::Object(result)) = message.body.get("result")
    {
        // The server of this record does not know `initialize`.
        let mut result = result.clone();
        result.insert("supportedVersions".to_owned(), json!(modern_versions()));
        return json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    }
    let outcome = serde_json::from_str::<Outcome<'_>>(&message.text);
    let (name, value) = match &outcome {
        Ok(Outcome {
            result: Some(result),
            ..
        }) => ("result", result.get()),
        Ok(Outcome {
            error: Some(error), ..
        }) => ("error", error.get()),
        _ => ("result", "{}"),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"{name}":{value}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::test_record::record;

    #[test]
    fn text_of_a_result_stays_as_it_is() {
        let mut message = record(&[(false, json!({}))]).messages.remove(0);
        message.text = r#"{"id":1,"result":{ "n":1.0 }}"#.to_owned();
        let request = json!({"id": "a", "method": "tools/call"});
        let expected = r#"{"jsonrpc":"2.0","id":"a","result":{ "n":1.0 }}"#;
        assert_eq!(response_text(&message, &request, true), expected);
    }

    #[tokio::test]
    async fn request_without_a_recorded_response_gets_an_error() {
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "slow"}});
        let progress = json!({"method": "notifications/message", "params": {"data": "started"}});
        let record = record(&[(true, call.clone()), (false, progress)]);
        let (mut reader, mut writer) = connect(&Arc::new(RecordedServer::new(&record, false)));
        writer.send(call.to_string().into_bytes()).await.unwrap();
        let first = reader.receive().await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&first).contains("started"));
        let response = reader.receive().await.unwrap().unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        let message = response["error"]["message"].as_str().unwrap();
        assert_eq!(message, "the record has no response to tools/call slow");
    }
}
