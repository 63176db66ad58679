//! Reads event streams.

use std::collections::HashSet;

use http::Response;
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::ledger::Failure;
use super::node_client::unavailable;

/// An open event stream.
#[derive(Debug)]
pub(super) struct Events {
    body: hyper::body::Incoming,
    /// Received text that is not yet a complete event.
    text: String,
    /// The id of the last event that had one.
    pub(super) last_id: Option<String>,
    /// The ids of the stored messages on this connection.
    ids: HashSet<String>,
}

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    id: Option<String>,
    pub(super) data: String,
}

impl Event {
    /// Returns the message. An event without one has the message `null`.
    pub(super) fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_default()
    }
}

impl Events {
    pub(super) fn of(response: Response<hyper::body::Incoming>) -> Self {
        Self {
            body: response.into_body(),
            text: String::new(),
            last_id: None,
            ids: HashSet::new(),
        }
    }

    /// Returns the next event, or `None` if the server has completed the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let event = parse(&block);
                if event != Event::default() {
                    self.note_id(&event)?;
                    return Ok(Some(event));
                }
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    let frame = frame.map_err(unavailable)?;
                    let data = frame.into_data().unwrap_or_default();
                    self.text.push_str(&String::from_utf8_lossy(&data));
                }
            }
        }
    }

    /// Rejects an id that occurs twice. Changes are not stored, and have the id of the entry before them.
    fn note_id(&mut self, event: &Event) -> Result<(), Failure> {
        let Some(id) = &event.id else {
            return Ok(());
        };
        self.last_id = Some(id.clone());
        let method = event.message()["method"].as_str().map(str::to_owned);
        let is_change = method.is_some_and(|method| {
            method.ends_with("list_changed") || method.ends_with("resources/updated")
        });
        if event.data.is_empty() || is_change || self.ids.insert(id.clone()) {
            Ok(())
        } else {
            Err(Failure::Wrong(format!("event {id} was sent twice")))
        }
    }
}

fn parse(block: &str) -> Event {
    let mut event = Event::default();
    for line in block.lines() {
        if let Some(id) = line.strip_prefix("id: ") {
            event.id = Some(id.to_owned());
        } else if let Some(data) = line.strip_prefix("data:") {
            event.data.push_str(data.trim());
        }
    }
    event
}
