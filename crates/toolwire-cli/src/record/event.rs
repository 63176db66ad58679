//! The lines of a record.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The name of the format, in the header of every record.
pub(super) const FORMAT: &str = "mcplog";

/// The version of the format. A reader accepts this version only.
pub(super) const LAYOUT: u64 = 1;

/// The start of a body that is in a file beside the record, followed by its SHA-256 digest.
pub(super) const BLOB_PREFIX: &str = "blob:";

/// The first line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(super) format: String,
    #[serde(rename = "version")]
    pub(super) layout: u64,
    /// When the record began, as RFC 3339.
    pub(crate) began: String,
    /// The program that wrote the record.
    pub(crate) tool: String,
    /// What was replaced. Empty if nothing was.
    #[serde(default)]
    pub(crate) redacted: Vec<String>,
    /// The transport: `stdio`, `http`, or `gateway`.
    pub(crate) target: String,
}

/// A later line of a record. Members that a kind does not have are absent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line<'a> {
    /// Microseconds since the beginning.
    #[serde(default)]
    pub(super) t: u64,
    /// The number of the connection.
    #[serde(default)]
    pub(super) conn: u64,
    /// `out` from the client to the server, or `in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dir: Option<&'a str>,
    pub(super) kind: &'a str,
    /// The id of the request on whose stream the event happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) exchange: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) headers: Option<serde_json::Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// The message, or `blob:` and the digest of a file. It is the last member, because it is the longest.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<&'a RawValue>,
}

impl<'a> Line<'a> {
    /// Creates a line without members of its kind.
    pub(super) fn new(conn: u64, kind: &'a str) -> Self {
        Self {
            t: 0,
            conn,
            dir: None,
            kind,
            exchange: None,
            server: None,
            method: None,
            path: None,
            status: None,
            headers: None,
            text: None,
            body: None,
        }
    }

    pub(super) fn with_direction(mut self, is_sent: bool) -> Self {
        self.dir = Some(if is_sent { "out" } else { "in" });
        self
    }
}
