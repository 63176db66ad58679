//! Records one connection: its messages, and the standard error of a server process.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use serde_json::value::RawValue;
use toolwire::transport::http_client::HttpClient;
use toolwire::{ClientBuilder, WireMessage};

use crate::record::event::Line;
use crate::record::http_layer::HttpRecorder;
use crate::record::recorder::Recorder;
use crate::record::redaction::{redact_json, redact_log_line};
use crate::record::stderr_lines::StderrLines;

/// The longest body within a line, in bytes. A longer one is written to a file of its own.
pub(super) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// The longest text of standard error, or of a line that is not a message, in bytes. The rest is left out.
const MAX_TEXT_BYTES: usize = 64 * 1024;

impl Recorder {
    /// Begins a connection. `server` is its name, if the record has several servers.
    pub(crate) fn connection(self: &Arc<Self>, server: Option<&str>) -> ConnectionRecorder {
        let number = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let mut line = Line::new(number, "connection");
        line.server = server.map(str::to_owned);
        self.write(line);
        ConnectionRecorder {
            recorder: Arc::clone(self),
            number,
            stderr: Arc::default(),
        }
    }
}

/// Records one connection. Clones record the same connection.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionRecorder {
    recorder: Arc<Recorder>,
    number: u64,
    stderr: Arc<StderrLines>,
}

impl ConnectionRecorder {
    /// Records everything that a client with this builder sends and receives.
    pub(crate) fn attach(&self, builder: ClientBuilder) -> ClientBuilder {
        let messages = self.clone();
        builder
            .on_wire_message(move |message: WireMessage<'_>| {
                let stream = message.stream.and_then(|id| serde_json::to_value(id).ok());
                messages.message(message.is_sent, message.bytes, stream);
            })
            // The innermost layer sees what is sent, also what other layers add.
            .with_http_layer(HttpRecorder::new(&self.recorder, self.number))
    }

    /// Returns an HTTP client that records the headers of each request and response.
    pub(crate) fn http_client(&self, inner: Arc<dyn HttpClient>) -> Arc<dyn HttpClient> {
        HttpRecorder::new(&self.recorder, self.number).client(inner)
    }

    /// Records a line that a server process wrote to standard error.
    pub(crate) fn stderr(&self, text: &str) {
        let mut line = Line::new(self.number, "stderr");
        line.text = Some(self.recorded_text(text, |text| self.stderr.redact(text)));
        self.recorder.write(line);
    }

    /// Records a message. `stream` is the id of the request on whose stream it arrived.
    pub(crate) fn message(&self, is_sent: bool, bytes: &[u8], stream: Option<Value>) {
        let text = String::from_utf8_lossy(bytes);
        let body = if self.recorder.redacts() {
            redact_json(&text)
        } else {
            let is_json = serde_json::from_str::<&RawValue>(&text).is_ok();
            is_json.then(|| text.clone())
        };
        let Some(body) = body else {
            let mut line = Line::new(self.number, "line").with_direction(is_sent);
            line.text = Some(self.recorded_text(&text, redact_log_line));
            return self.recorder.write(line);
        };
        // Line breaks are between tokens only: within strings they are escaped.
        let mut body = body.replace(['\n', '\r'], " ");
        if body.len() > MAX_BODY_BYTES {
            let Some(blob) = self.recorder.write_blob(body) else {
                return;
            };
            body = Value::from(blob).to_string();
        }
        let Ok(body) = serde_json::from_str::<&RawValue>(body.trim()) else {
            return;
        };
        let mut line = Line::new(self.number, "message").with_direction(is_sent);
        line.exchange = stream;
        line.body = Some(body);
        self.recorder.write(line);
    }

    /// Returns the start of a text within its limit, redacted if that is wanted.
    fn recorded_text<'a>(
        &self,
        text: &'a str,
        redact: impl FnOnce(&'a str) -> Cow<'a, str>,
    ) -> String {
        let ends = (0..=MAX_TEXT_BYTES.min(text.len())).rev();
        let end = ends.into_iter().find(|end| text.is_char_boundary(*end));
        let text = &text[..end.unwrap_or_default()];
        if self.recorder.redacts() {
            redact(text).into_owned()
        } else {
            text.to_owned()
        }
    }
}
