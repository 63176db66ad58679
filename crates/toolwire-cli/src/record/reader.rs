//! Reads a record.
//!
//! Events of an unknown kind are skipped, and messages that cannot be read are skipped with a warning. A last line without
//! an end is no error, because the writer may have been killed.

use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::record::event::{BLOB_PREFIX, FORMAT, Header, LAYOUT, Line};
use crate::record::recorder::hex;
use crate::record::write_queue::blob_directory;

/// The largest record that is read, in bytes, with its blobs. A record is read into memory as a whole.
pub(super) const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The most messages of a record that is read.
const MAX_MESSAGES: usize = 1_000_000;

/// A record, with the events that can be replayed.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) header: Header,
    /// The messages in the order of time.
    pub(crate) messages: Vec<RecordedMessage>,
    /// What the user should know about messages that cannot be read.
    pub(crate) warning: Option<String>,
}

/// One recorded message.
#[derive(Debug, Clone)]
pub(crate) struct RecordedMessage {
    pub(crate) connection: u64,
    pub(crate) is_sent: bool,
    /// The id of the request on whose stream the message arrived.
    pub(crate) exchange: Option<Value>,
    /// The message as text, with the text of its numbers.
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl RecordedMessage {
    /// Returns the messages of a batch, or the message itself.
    fn parts(self) -> Vec<Self> {
        let Value::Array(bodies) = &self.body else {
            return vec![self];
        };
        let parts = bodies.iter().map(|body| Self {
            text: body.to_string(),
            body: body.clone(),
            exchange: self.exchange.clone(),
            ..self
        });
        parts.collect()
    }
}

/// Why a record cannot be read.
#[derive(Debug)]
pub(crate) struct RecordError(String);

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RecordError {}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        Self(format!("it cannot be read: {error}"))
    }
}

impl Record {
    /// Reads a record and its blobs.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a record, or is over a limit.
    pub(crate) fn read(path: &Path) -> Result<Self, RecordError> {
        let text = read_text(path, MAX_BYTES)?;
        Self::parse(&text, Some(path), MAX_MESSAGES)
    }

    /// Reads the text of a record, without files beside it.
    ///
    /// # Errors
    /// Returns an error if the text is not a record, refers to another file, or is over a limit.
    pub(crate) fn from_text(text: &str) -> Result<Self, RecordError> {
        Self::parse(text, None, MAX_MESSAGES)
    }

    fn parse(text: &str, path: Option<&Path>, max_messages: usize) -> Result<Self, RecordError> {
        let mut lines = text.split_inclusive('\n').enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let header = serde_json::from_str::<Header>(first).ok();
        let header = header.filter(|header| header.format == FORMAT);
        let header = header.ok_or_else(|| {
            RecordError("it is not a record: its first line is not an mcplog header".to_owned())
        })?;
        if header.layout != LAYOUT {
            let layout = header.layout;
            return Err(RecordError(format!(
                "it has version {layout} of the format, and this program reads version {LAYOUT}"
            )));
        }
        let mut blob_bytes = MAX_BYTES.saturating_sub(text.len() as u64);
        let mut messages = Vec::new();
        let mut unreadable = UnreadableMessages::default();
        for (number, line) in lines {
            let number = number + 1;
            let Some(complete) = line.strip_suffix('\n') else {
                break;
            };
            let line: Line<'_> = match serde_json::from_str(complete) {
                Ok(line) => line,
                Err(_) if has_other_kind(complete) => continue,
                Err(error) => {
                    return Err(RecordError(format!(
                        "line {number} is not an event: {error}"
                    )));
                }
            };
            let (Some(body), "message") = (line.body, line.kind) else {
                continue;
            };
            let text = body_text(body.get(), path, &mut blob_bytes)
                .map_err(|error| RecordError(format!("line {number}: {error}")))?;
            let body = match serde_json::from_str(&text) {
                Ok(body) => body,
                Err(error) => {
                    unreadable.add(number, &error);
                    continue;
                }
            };
            let message = RecordedMessage {
                connection: line.conn,
                is_sent: line.dir == Some("out"),
                exchange: line.exchange,
                text: text.into_owned(),
                body,
            };
            messages.extend(message.parts());
            if messages.len() > max_messages {
                return Err(RecordError(format!(
                    "it has more than {max_messages} messages"
                )));
            }
        }
        Ok(Self {
            header,
            messages,
            warning: unreadable.warning(),
        })
    }

    /// Returns `true` if secrets were replaced.
    pub(crate) fn is_redacted(&self) -> bool {
        !self.header.redacted.is_empty()
    }
}

/// Messages whose JSON is valid, but cannot be read: it is too deep, or has half of a surrogate pair.
#[derive(Debug, Default)]
struct UnreadableMessages {
    count: usize,
    /// The place of the first one and what is wrong with it.
    first: String,
}

impl UnreadableMessages {
    fn add(&mut self, line: usize, error: &serde_json::Error) {
        if self.count == 0 {
            self.first = format!("the first one is in line {line}: {error}");
        }
        self.count += 1;
    }

    fn warning(self) -> Option<String> {
        let Self { count, first } = self;
        (count > 0).then(|| format!("messages of the record that cannot be read: {count}; {first}"))
    }
}

/// Returns `true` for an event that is not a message, whatever its other members are.
fn has_other_kind(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Event {
        kind: String,
    }
    serde_json::from_str(line).is_ok_and(|event: Event| event.kind != "message")
}

pub(super) fn read_text(path: &Path, max_bytes: u64) -> Result<String, RecordError> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(RecordError("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(RecordError(format!("it has more than {max_bytes} bytes")));
    }
    // A character that the end of the file truncates is part of the incomplete last line.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the digest of a body that is in another file. Only 64 hexadecimal digits are a digest, so it is no path.
fn blob_digest(body: &str) -> Option<String> {
    let text: String = serde_json::from_str(body).ok()?;
    let digest = text.strip_prefix(BLOB_PREFIX)?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| digest.to_owned())
}

/// Returns a body, which may be in another file. `blob_bytes` are left for such bodies.
pub(super) fn body_text<'b>(
    body: &'b str,
    record: Option<&Path>,
    blob_bytes: &mut u64,
) -> Result<Cow<'b, str>, RecordError> {
    let Some(digest) = blob_digest(body) else {
        return Ok(Cow::Borrowed(body));
    };
    let record = record.ok_or_else(|| {
        RecordError(
            "its body is in another file, so the record has to be read as a file".to_owned(),
        )
    })?;
    let blob = read_blob(record, &digest, *blob_bytes)?;
    *blob_bytes = blob_bytes.saturating_sub(blob.len() as u64);
    Ok(Cow::Owned(blob))
}

fn read_blob(record: &Path, digest: &str, max_bytes: u64) -> Result<String, RecordError> {
    let path = blob_directory(record).join(digest);
    let shown = path.display();
    let text = read_text(&path, max_bytes)
        .map_err(|error| RecordError(format!("the body in {shown}: {error}")))?;
    if hex(&Sha256::digest(text.as_bytes())) != digest {
        return Err(RecordError(format!("the body in {shown} was changed")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        r#"{"format":"mcplog","version":1,"began":"","tool":"","redacted":[],"target":"stdio"}"#;
    const MESSAGE: &str = r#"{"t":1,"conn":2,"dir":"out","kind":"message","body":{"id":1}}"#;

    fn parse(text: &str) -> Result<Record, RecordError> {
        Record::parse(text, Some(Path::new("a.mcplog")), 2)
    }

    #[test]
    fn unknown_kinds_and_a_truncated_line_are_skipped() {
        let text = format!(
            "{HEADER}\n{MESSAGE}\n{{\"t\":2,\"conn\":1,\"kind\":\"span\",\"took_us\":1}}\n{{\"t\":3,\"co"
        );
        let record = parse(&text).unwrap();
        assert_eq!(record.messages.len(), 1);
        assert_eq!(record.messages[0].connection, 2);
        assert!(record.messages[0].is_sent);
        assert!(!record.is_redacted());
        // A complete line without its end may be truncated, too.
        let text = format!("{HEADER}\n{MESSAGE}\n{MESSAGE}");
        assert_eq!(parse(&text).unwrap().messages.len(), 1);
    }

    #[test]
    fn unknown_kinds_may_have_other_members() {
        let other = r#"{"t":"now","conn":null,"dir":1,"kind":"span","text":[]}"#;
        let record = parse(&format!("{HEADER}\n{other}\n{MESSAGE}\n")).unwrap();
        assert_eq!(record.messages.len(), 1);
        assert_eq!(record.warning, None);
        let message = other.replace("span", "message");
        assert!(parse(&format!("{HEADER}\n{message}\n")).is_err());
    }

    #[test]
    fn messages_that_cannot_be_read_are_skipped_with_a_warning() {
        let half = MESSAGE.replace("{\"id\":1}", r#"{"id":"\ud800"}"#);
        let record = parse(&format!("{HEADER}\n{half}\n{MESSAGE}\n{half}\n")).unwrap();
        assert_eq!(record.messages.len(), 1);
        let warning = record.warning.unwrap();
        assert!(
            warning.contains("2; the first one is in line 2:"),
            "{warning}"
        );
    }

    #[test]
    fn other_files_are_rejected_with_a_reason() {
        let check = |text: &str, expected: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("", "not a record");
        check("{}\n", "not a record");
        check(&HEADER.replace("n\":1", "n\":2"), "reads version 1");
        check(&format!("{HEADER}\nnone\n"), "line 2 is not an event");
        let messages = format!("{MESSAGE}\n").repeat(2);
        assert!(
            parse(&format!("{HEADER}\n{messages}")).is_ok(),
            "at the limit"
        );
        check(
            &format!("{HEADER}\n{messages}{MESSAGE}\n"),
            "more than 2 messages",
        );
        let blob = format!("blob:{}", "a".repeat(64));
        let blob = MESSAGE.replace("{\"id\":1}", &format!("\"{blob}\""));
        let text = format!("{HEADER}\n{blob}\n");
        check(&text, "a.mcplog.blobs");
        let error = Record::from_text(&text).unwrap_err().to_string();
        assert!(
            error.contains("line 2: its body is in another file"),
            "{error}"
        );
    }

    #[test]
    fn digest_is_no_path() {
        let digest = "0".repeat(64);
        assert_eq!(blob_digest(&format!("\"blob:{digest}\"")), Some(digest));
        for body in ["\"blob:../../etc/passwd\"", "\"blob:\"", "\"text\"", "1"] {
            assert_eq!(blob_digest(body), None, "{body}");
        }
    }
}
