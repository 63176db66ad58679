//! Reads a response that is an event stream, one event at a time.

use serde_json::Value;

use crate::http::socket::{Connection, ResponseHeaders};

/// An event stream.
#[derive(Debug)]
pub struct Events {
    connection: Connection,
    /// The headers of the response.
    pub headers: ResponseHeaders,
    /// Received text that is not yet a complete event.
    text: String,
    /// The id of the last event that had one.
    pub last_id: Option<String>,
    /// The number of received comments.
    pub comments: usize,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Event {
    /// The event id.
    pub id: Option<String>,
    /// The reconnection time in milliseconds.
    pub retry: Option<String>,
    /// The data, which is one message or empty.
    pub data: String,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The server has completed the response.
    Complete,
    /// The connection was closed before the end of the response.
    Disconnected,
}

impl Events {
    /// Reads the events of a response with these headers. Panics unless it is an event stream.
    pub fn new(connection: Connection, headers: ResponseHeaders) -> Self {
        assert_eq!(headers.status, 200);
        assert!(headers.is_event_stream(), "{headers:?}");
        Self {
            connection,
            headers,
            text: String::new(),
            last_id: None,
            comments: 0,
        }
    }

    /// Returns the next event, or how the stream ended.
    pub async fn next(&mut self) -> Result<Event, End> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let event = self.parse(block.trim_end());
                if event != Event::default() {
                    self.last_id = event.id.clone().or(self.last_id.take());
                    return Ok(event);
                }
            }
            self.receive().await?;
        }
    }

    /// Returns the next message.
    #[track_caller]
    pub fn message(&mut self) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let event = self.next().await;
            let event = event.unwrap_or_else(|end| panic!("the stream is {end:?} at {caller}"));
            serde_json::from_str(&event.data)
                .unwrap_or_else(|error| panic!("{error}: {event:?} at {caller}"))
        }
    }

    /// Expects that the next message equals `expected`.
    #[track_caller]
    pub fn expect(&mut self, expected: Value) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let event = self.next().await;
            let event = event.unwrap_or_else(|end| panic!("the stream is {end:?} at {caller}"));
            let message: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(message, expected, "at {caller}");
        }
    }

    /// Expects the end of the stream and returns the connection for the next request.
    #[track_caller]
    pub fn expect_end(mut self) -> impl Future<Output = Connection> {
        let caller = std::panic::Location::caller();
        async move {
            assert_eq!(self.next().await, Err(End::Complete), "at {caller}");
            self.connection
        }
    }

    /// Waits for the next comment; events before it are skipped.
    pub async fn comment(&mut self) {
        let before = self.comments;
        while self.comments == before {
            self.receive().await.expect("the stream is open");
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                self.parse(block.trim_end());
            }
        }
    }

    /// Resets the connection.
    pub fn disconnect(self) {
        self.connection.reset();
    }

    async fn receive(&mut self) -> Result<(), End> {
        match self.connection.chunk().await {
            Ok(Some(chunk)) => self.text.push_str(std::str::from_utf8(&chunk).unwrap()),
            Ok(None) => return Err(End::Complete),
            Err(_) => return Err(End::Disconnected),
        }
        Ok(())
    }

    fn parse(&mut self, block: &str) -> Event {
        let mut event = Event::default();
        for line in block.lines() {
            match line
                .split_once(": ")
                .unwrap_or((line.trim_end_matches(':'), ""))
            {
                ("", _) => self.comments += 1,
                ("id", id) => event.id = Some(id.to_owned()),
                ("retry", delay) => event.retry = Some(delay.to_owned()),
                ("data", data) => {
                    assert_eq!(event.data, "", "an event has one data line");
                    event.data = data.to_owned();
                }
                ("event", "message") => {}
                _ => panic!("an unexpected line: {line}"),
            }
        }
        event
    }
}
