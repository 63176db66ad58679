//! Reads all events of a record for people: messages, HTTP headers and standard error, with their times.

use std::path::Path;

use crate::record::event::Line;
use crate::record::reader::{MAX_BYTES, RecordError, body_text, read_text};

/// The kind of a recorded event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedKind {
    Message,
    Http,
    Stderr,
    /// The start of a connection, or text that is not a message.
    Note,
}

/// One recorded event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecordedEvent {
    /// Microseconds since the start of the record.
    pub(crate) time: u64,
    /// The number of the connection.
    pub(crate) connection: u64,
    pub(crate) kind: RecordedKind,
    /// `None` if the event has no direction.
    pub(crate) is_sent: Option<bool>,
    pub(crate) text: String,
}

/// Passes all events of a record to `receive`, in the order of time. Lines that are not events are skipped.
///
/// # Errors
/// Returns an error if the file or a body beside it cannot be read.
pub(crate) fn read_events(
    path: &Path,
    mut receive: impl FnMut(RecordedEvent),
) -> Result<(), RecordError> {
    let text = read_text(path, MAX_BYTES)?;
    let mut blob_bytes = MAX_BYTES.saturating_sub(text.len() as u64);
    // The first line is the header.
    for line in text.lines().skip(1) {
        let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
            continue;
        };
        let (kind, text) = match line.kind {
            "message" => {
                let Some(body) = line.body else { continue };
                let body = body_text(body.get(), Some(path), &mut blob_bytes)?;
                (RecordedKind::Message, body.into_owned())
            }
            "http" => (RecordedKind::Http, http_text(&line)),
            "stderr" => (RecordedKind::Stderr, line.text.unwrap_or_default()),
            "line" => (RecordedKind::Note, line.text.unwrap_or_default()),
            "connection" => (RecordedKind::Note, connection_text(&line)),
            _ => continue,
        };
        receive(RecordedEvent {
            time: line.t,
            connection: line.conn,
            kind,
            is_sent: line.dir.map(|direction| direction == "out"),
            text,
        });
    }
    Ok(())
}

fn connection_text(line: &Line<'_>) -> String {
    match &line.server {
        Some(server) => format!("connection {} to {server}", line.conn),
        None => format!("connection {}", line.conn),
    }
}

/// Returns the start of an HTTP message, as it would be in HTTP/1.1.
fn http_text(line: &Line<'_>) -> String {
    let mut text = match (&line.method, line.status) {
        (Some(method), _) => format!("{method} {}", line.path.as_deref().unwrap_or_default()),
        (None, Some(status)) => status.to_string(),
        (None, None) => String::new(),
    };
    for (name, value) in line.headers.iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        text.push_str(&format!("\n{name}: {value}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_text() {
        let directory =
            std::env::temp_dir().join(format!("toolwire-events-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("a.mcplog");
        let lines = [
            r#"{"format":"mcplog","version":1,"began":"","tool":"","redacted":[],"target":"http"}"#,
            r#"{"t":1,"conn":1,"kind":"connection","server":"files"}"#,
            r#"{"t":2,"conn":1,"dir":"out","kind":"http","method":"POST","path":"/mcp","headers":{"accept":"a"}}"#,
            r#"{"t":3,"conn":1,"dir":"out","kind":"message","body":{"id":1}}"#,
            r#"{"t":4,"conn":1,"dir":"in","kind":"http","status":200,"headers":{}}"#,
            r#"{"t":5,"conn":2,"kind":"stderr","text":"ready"}"#,
            r#"{"t":6,"conn":1,"kind":"span","took_us":1}"#,
            r#"{"t":7,"co"#,
        ];
        std::fs::write(&path, lines.join("\n")).expect("the record is written");
        let mut found = Vec::new();
        let read = read_events(&path, |event| {
            found.push(event);
        });
        std::fs::remove_dir_all(&directory).expect("the directory is removed");
        read.expect("a valid record");
        let event = |time, connection, kind, is_sent, text: &str| RecordedEvent {
            time,
            connection,
            kind,
            is_sent,
            text: text.to_owned(),
        };
        assert_eq!(
            found,
            [
                event(1, 1, RecordedKind::Note, None, "connection 1 to files"),
                event(2, 1, RecordedKind::Http, Some(true), "POST /mcp\naccept: a"),
                event(3, 1, RecordedKind::Message, Some(true), r#"{"id":1}"#),
                event(4, 1, RecordedKind::Http, Some(false), "200"),
                event(5, 2, RecordedKind::Stderr, None, "ready"),
            ]
        );
    }
}
