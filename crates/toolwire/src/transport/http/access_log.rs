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
use toolwire_proto::observed::{recorded_name, recorded_uri, session_digest};
use toolwire_proto::param_headers::HeaderLookup;

use crate::engine::catch_panic;
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
        f.write_str(&line.map_err(|_| fmt::Error)?)
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
            method: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            params: Option<Params<'a>>,
        }

        /// The members of its parameters.
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            name: Option<Cow<'a, str>>,
            #[serde(borrow)]
            uri: Option<Cow<'a, str>>,
        }

        let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
            return;
        };
        self.record.method = message
            .method
            .map(|method| recorded_name(&method).to_owned());
        self.record.name = message.params.and_then(|params| match params {
            Params {
                name: Some(name), ..
            } => Some(recorded_name(&name).to_owned()),
            Params { uri, .. } => uri.map(|uri| recorded_uri(&uri).into_owned()),
        });
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
    fn panic_of_the_function_loses_only_its_record() {
        let log = AccessLog::new(|_| panic!("full"));
        let (parts, ()) = Request::new(()).into_parts();
        let head = RequestHeaders::of(&parts.headers);
        drop(log.start(&parts, &head, None, 0));
    }
}
