//! Records of connections: files with every message that a command exchanged with its servers.
//!
//! A record (`.mcplog`) has one JSON object per line: a header, then events in the order of time. Bodies over 1 MiB are in
//! files beside it. Secrets are replaced before anything is written, unless the user disables that.
//!
//! This module writes and reads records. It does not send them anywhere, and `crate::replay` decides what to do with one.

mod connection;
mod event;
mod event_reader;
mod http_layer;
mod reader;
mod recorder;
mod redaction;
mod single_file;
mod stderr_lines;
#[cfg(test)]
mod tests;
mod write_queue;

pub(crate) use connection::ConnectionRecorder;
#[cfg(test)]
pub(crate) use event::Header;
pub(crate) use event_reader::{RecordedEvent, RecordedKind, read_events};
pub(crate) use reader::{Record, RecordError, RecordedMessage};
pub(crate) use recorder::Recorder;
pub(crate) use redaction::{is_redacted, redact_json};
pub(crate) use single_file::single_file;
pub(crate) use write_queue::RecordLimits;
