//! The access log: a record of each HTTP request, when its stream has ended, or before its complete response is written.
//!
//! A record has no header fields, no query and no arguments. The session is recorded by a digest, because its id is a
//! credential.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolwire_proto::methods::{self, NameSource};
use toolwire_proto::observed::{recorded_name, recorded_uri, session_digest};
use toolwire_proto::param_headers::HeaderLookup;

use crate::engine::catch_panic;
use crate::server::middleware::AuditLine;
use crate::transport::http::request::client_address::client_address;
use crate::transport::http::request::headers::RequestHeaders;

/// One HTTP request and its response. Its `Display` is a line of JSON, without a line end.
///
/// The members of that line are `time` (in milliseconds since 1970), `client`, `httpMethod`, `path`, `method`, `name`,
/// `status`, `bytes`, `durationMs` and `session`. Unknown ones are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessRecord {
    /// When the headers of the request were complete.
    pub time: SystemTime,
    /// The address of the client; see
    /// [`HttpOptions::with_trusted_proxies`](crate::transport::http::HttpOptions::with_trusted_proxies).
    pub client: Option<IpAddr>,
    /// The method of the HTTP request, such as `POST`.
    pub http_method: String,
    /// The path of the URL, without the query. At most 256 bytes.
    pub path: String,
    /// The method of the message, such as `tools/call`. `None` for a batch, and if there is no message.
    pub method: Option<String>,
    /// The name of the tool or prompt, or the URI of the resource without its query. At most 256 bytes.
    pub name: Option<String>,
    /// The status of the response. `None` if the client disconnected before it was known.
    pub status: Option<u16>,
    /// The bytes of the response body. A client that disconnects may not have received all of a complete response.
    pub bytes: u64,
    /// The time until the end of the response. For an event stream, until the stream ended.
    pub duration: Duration,
    /// The first 16 hexadecimal digits of the SHA-256 of the session id.
    pub session: Option<String>,
}

impl fmt::Display for AccessRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// A record as JSON.
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Line<'a> {
            time: u128,
            #[serde(skip_serializing_if = "Option::is_none")]
            client: Option<IpAddr>,
            http_method: &'a str,
            path: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            method: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            status: Option<u16>,
            bytes: u64,
            duration_ms: u128,
            #[serde(skip_serializing_if = "Option::is_none")]
            session: Option<&'a str>,
        }

        let time = self.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = serde_json::to_string(&Line {
            time: time.as_millis(),
            client: self.client,
            http_method: &self.http_method,
            path: &self.path,
            method: self.method.as_deref(),
            name: self.name.as_deref(),
            status: self.status,
            bytes: self.bytes,
            duration_ms: self.duration.as_millis(),
            session: self.session.as_deref(),
        });
        let line = line.map_err(|_| fmt::Error)?;
        f.write_str(&AuditLine::escape_invisible(&line))
    }
}

/// The function that gets the records.
#[derive(Clone)]
pub(crate) struct AccessLog(Arc<dyn Fn(&AccessRecord) + Send + Sync>);

impl AccessLog {
    pub(crate) fn new(log: impl Fn(&AccessRecord) + Send + Sync + 'static) -> Self {
        Self(Arc::new(log))
    }

    /// Starts the record of a request.
    #[cold]
    pub(crate) fn start(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        peer: Option<SocketAddr>,
        trusted_proxies: usize,
    ) -> Box<AccessEntry> {
        let client = client_address(parts, peer, trusted_proxies);
        let session = match head.session_id {
            HeaderLookup::One(id) => Some(session_digest(id)),
            _ => None,
        };
        Box::new(AccessEntry {
            log: self.clone(),
            start: Instant::now(),
            record: AccessRecord {
                time: SystemTime::now(),
                client: client.map(|client| client.address),
                http_method: parts.method.to_string(),
                path: recorded_name(parts.uri.path()).to_owned(),
                method: None,
                name: None,
                status: None,
                bytes: 0,
                duration: Duration::ZERO,
                session,
            },
        })
    }
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLog").finish_non_exhaustive()
    }
}

/// A request whose record is written when the value is dropped.
pub(crate) struct AccessEntry {
    log: AccessLog,
    start: Instant,
    record: AccessRecord,
}

impl AccessEntry {
    /// Adds the method and the name of the message. They are read here, because a message that is rejected has them, too.
    pub(crate) fn set_message(&mut self, message: &[u8]) {
        /// The members of a message that are recorded.
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            method: Cow<'a, str>,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
        }

        let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
            return;
        };
        self.record.method = Some(recorded_name(&message.method).to_owned());
        let source = methods::find(&message.method).map(|method| method.name_source);
        self.record.name = match (source, message.params) {
            (Some(source), Some(params)) => recorded_target(source, params.get()),
            _ => None,
        };
    }

    /// Sets the status of the response.
    pub(crate) fn set_status(&mut self, status: StatusCode) {
        self.record.status = Some(status.as_u16());
    }

    /// Counts bytes of the response.
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.record.bytes += bytes as u64;
    }
}

/// Returns the name or the URI that the method reads. Other parameters of the client, of any type, change nothing.
fn recorded_target(source: NameSource, params: &str) -> Option<String> {
    /// The parameters of a method for a tool or prompt.
    #[derive(Deserialize)]
    struct WithName<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }

    /// The parameters of a method for a resource.
    #[derive(Deserialize)]
    struct WithUri<'a> {
        #[serde(borrow)]
        uri: Cow<'a, str>,
    }

    match source {
        NameSource::Name => {
            let params: WithName<'_> = serde_json::from_str(params).ok()?;
            Some(recorded_name(&params.name).to_owned())
        }
        NameSource::Uri => {
            let params: WithUri<'_> = serde_json::from_str(params).ok()?;
            Some(recorded_uri(&params.uri).into_owned())
        }
        _ => None,
    }
}

impl Drop for AccessEntry {
    fn drop(&mut self) {
        self.record.duration = self.start.elapsed();
        if catch_panic(|| (self.log.0)(&self.record)).is_err() {
            let _ = catch_panic(|| tracing::error!("the function of the access log panicked"));
        }
    }
}

impl fmt::Debug for AccessEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use http::Request;

    use super::*;
    use crate::transport::http::response;
    use crate::transport::http::response::body::ServerBody;

    /// Returns the line of a request, without its times.
    fn line(message: &str, answer: Option<&str>) -> String {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let log = AccessLog::new(move |record| sink.lock().unwrap().push(record.clone()));
        let request = Request::post("/mcp?key=secret").header("mcp-session-id", "abc");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let head = RequestHeaders::of(&parts.headers);
        let peer = "192.0.2.7:80".parse().ok();
        let mut entry = log.start(&parts, &head, peer, 0);
        entry.set_message(message.as_bytes());
        match answer {
            Some(answer) => {
                let body = ServerBody::message(answer.as_bytes().to_vec());
                drop(response::json(StatusCode::OK, body).with_access_entry(entry));
            }
            None => drop(entry),
        }
        let mut lines = lines.lock().unwrap();
        assert_eq!(lines.len(), 1);
        lines[0].time = UNIX_EPOCH;
        lines[0].duration = Duration::ZERO;
        lines[0].to_string()
    }

    #[test]
    fn line_has_the_message_and_no_secret() {
        let check = |message: &str, answer: Option<&str>, expected: &str| {
            let expected = format!(
                r#"{{"time":0,"client":"192.0.2.7","httpMethod":"POST","path":"/mcp",{expected},"durationMs":0,"session":"ba7816bf8f01cfea"}}"#
            );
            assert_eq!(line(message, answer), expected, "{message}");
        };
        check(
            r#"{"method":"tools/call","params":{"name":"a\nb","arguments":{"x":"secret"}}}"#,
            Some("four"),
            r#""method":"tools/call","name":"a\nb","status":200,"bytes":4"#,
        );
        check(
            r#"{"method":"resources/read","params":{"uri":"https://me:secret@a.test/x?key=secret"}}"#,
            Some(""),
            r#""method":"resources/read","name":"https://a.test/x","status":200,"bytes":0"#,
        );
        check(r#"{"method":"ping"}"#, None, r#""method":"ping","bytes":0"#);
        check("[", Some("{}"), r#""status":200,"bytes":2"#);
    }

    #[test]
    fn name_is_the_parameter_that_the_method_reads() {
        let check = |message: &str, expected: &str| {
            let line = line(message, None);
            assert!(line.contains(expected), "{message}: {line}");
        };
        check(
            r#"{"method":"resources/read","params":{"uri":"note:a","name":"note:b"}}"#,
            r#""method":"resources/read","name":"note:a","bytes""#,
        );
        check(
            r#"{"method":"tools/call","params":{"uri":7,"name":"add"}}"#,
            r#""method":"tools/call","name":"add","bytes""#,
        );
        for params in [r#"{"uri":"a"}"#, r#"{"name":7}"#, "[]", "null"] {
            check(
                &format!(r#"{{"method":"tools/call","params":{params}}}"#),
                r#""method":"tools/call","bytes""#,
            );
        }
        check(
            r#"{"method":"tools/list","params":{"name":"add"}}"#,
            r#""method":"tools/list","bytes""#,
        );
    }

    #[test]
    fn line_has_only_visible_characters() {
        let check = |name: &str, expected: &str| {
            let message = format!(r#"{{"method":"tools/call","params":{{"name":"{name}"}}}}"#);
            let line = line(&message, None);
            assert!(line.contains(&format!(r#""name":"{expected}""#)), "{line}");
            let read: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(read["name"], name);
        };
        check("größe 世界", "größe 世界");
        check("\u{9b}2J\u{7f}", r"\u009b2J\u007f");
        check("a\u{202e}b\u{2066}c\u{200b}", r"a\u202eb\u2066c\u200b");
        check("\u{e0041}", r"\udb40\udc41");
    }

    #[test]
    fn panic_of_the_function_loses_only_its_record() {
        let log = AccessLog::new(|_| panic!("full"));
        let (parts, ()) = Request::new(()).into_parts();
        let head = RequestHeaders::of(&parts.headers);
        drop(log.start(&parts, &head, None, 0));
    }
}
