//! What a request has to pass before anybody reads its message: names, sizes, types.

use std::net::SocketAddr;

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use toolwire_proto::admit::{self, Headers};
use toolwire_proto::features::Era;
use toolwire_proto::http::{HostPolicy, OriginPolicy, accepts, is_json};
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::answer::{self, Answer};
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::options::HttpOptions;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// The guards of one endpoint.
#[derive(Debug)]
pub(super) struct Guard {
    hosts: HostPolicy,
    origins: OriginPolicy,
}

impl Guard {
    /// # Panics
    /// When the options name a host or an origin that is none.
    pub(super) fn new(options: &HttpOptions) -> Self {
        let hosts = HostPolicy::new(&options.public_hosts, options.any_host);
        let origins = OriginPolicy::new(&options.allowed_origins);
        Self {
            hosts: hosts.unwrap_or_else(|error| panic!("HttpOptions::with_public_hosts: {error}")),
            origins: origins
                .unwrap_or_else(|error| panic!("HttpOptions::with_allowed_origins: {error}")),
        }
    }

    /// Refuses requests that a web page may have made under a name that is not ours.
    pub(super) fn check_names(
        &self,
        parts: &Parts,
        local_address: Option<SocketAddr>,
    ) -> Result<(), Answer> {
        let local = local_address.map(|address| address.ip());
        let malformed = || {
            answer::refuse_and_close(
                StatusCode::BAD_REQUEST,
                "a request needs exactly one readable Host",
            )
        };
        let header = match lookup(&parts.headers, &HOST) {
            HeaderLookup::One(host) => Some(host),
            HeaderLookup::Absent => None,
            HeaderLookup::Repeated | HeaderLookup::Unreadable => return Err(malformed()),
        };
        // HTTP/2, and HTTP/1.1 with an absolute target, name the host in the target.
        let target = parts.uri.authority().map(http::uri::Authority::as_str);
        let (first, second) = (header.or(target), header.and(target));
        let host = first.ok_or_else(malformed)?;
        for host in [Some(host), second].into_iter().flatten() {
            let served = self.hosts.check(host, local).map_err(|refused| {
                tracing::warn!(%refused, "a request for a name that is not served");
                answer::refuse(StatusCode::FORBIDDEN, refused.to_string())
            })?;
            let origin = match lookup(&parts.headers, &ORIGIN) {
                HeaderLookup::Absent => continue,
                HeaderLookup::One(origin) => origin,
                HeaderLookup::Repeated | HeaderLookup::Unreadable => "",
            };
            self.origins.check(origin, &served).map_err(|refused| {
                tracing::warn!(%refused, "a request from a web page that is not allowed");
                answer::refuse(StatusCode::FORBIDDEN, refused.to_string())
            })?;
        }
        Ok(())
    }
}

/// Refuses heads that are too large.
pub(super) fn check_head(parts: &Parts, limits: &HttpLimits) -> Result<(), Answer> {
    let headers = &parts.headers;
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if headers.len() > limits.header_fields || bytes > limits.header_bytes {
        return Err(answer::refuse_and_close(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            format!(
                "at most {} header fields and {} bytes of them are read",
                limits.header_fields, limits.header_bytes
            ),
        ));
    }
    Ok(())
}

/// Refuses messages that are not plain JSON. Of the content types a web page may send unasked none passes.
pub(super) fn check_content(headers: &HeaderMap) -> Result<(), Answer> {
    let content_type = match lookup(headers, &CONTENT_TYPE) {
        HeaderLookup::One(value) => Some(value),
        HeaderLookup::Absent | HeaderLookup::Repeated | HeaderLookup::Unreadable => None,
    };
    if !is_json(content_type) {
        return Err(answer::refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send the message as `Content-Type: application/json`",
        ));
    }
    match lookup(headers, &CONTENT_ENCODING) {
        HeaderLookup::Absent | HeaderLookup::One("identity") => Ok(()),
        _ => Err(answer::refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send the message without a content encoding",
        )),
    }
}

/// Refuses clients that cannot take both kinds of answer. It is decided before the handler runs: a tool whose effect is
/// there and whose result cannot be told would be worse.
pub(super) fn check_accept_both(headers: &HeaderMap) -> Result<(), Answer> {
    if accepts_type(headers, JSON) && accepts_type(headers, EVENT_STREAM) {
        return Ok(());
    }
    Err(answer::refuse(
        StatusCode::NOT_ACCEPTABLE,
        "accept both kinds of answer: `Accept: application/json, text/event-stream`",
    ))
}

/// Refuses readers of a stream that cannot take one.
pub(super) fn check_accept_events(headers: &HeaderMap) -> Result<(), Answer> {
    if accepts_type(headers, EVENT_STREAM) {
        return Ok(());
    }
    Err(answer::refuse(
        StatusCode::NOT_ACCEPTABLE,
        "accept the stream: `Accept: text/event-stream`",
    ))
}

fn accepts_type(headers: &HeaderMap, media_type: &str) -> bool {
    let values = headers.get_all(ACCEPT);
    accepts(
        values.iter().filter_map(|value| value.to_str().ok()),
        media_type,
    )
}

/// The headers that repeat parts of the body.
pub(super) fn routing_headers(headers: &HeaderMap) -> Headers<'_> {
    Headers {
        protocol_version: lookup(headers, &PROTOCOL_VERSION),
        method: lookup(headers, &METHOD),
        name: lookup(headers, &NAME),
    }
}

/// Whether the version header names a revision whose requests describe themselves.
pub(super) fn names_modern(headers: &HeaderMap) -> bool {
    admit::header_era(&routing_headers(headers)) == Some(Era::Modern)
}

/// What a request holds under one name.
pub(super) fn lookup<'h>(headers: &'h HeaderMap, name: &HeaderName) -> HeaderLookup<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderLookup::Absent,
        (Some(value), None) => match value.to_str() {
            Ok(text) => HeaderLookup::One(text),
            Err(_) => HeaderLookup::Unreadable,
        },
        (Some(_), Some(_)) => HeaderLookup::Repeated,
    }
}

/// As [`lookup`], for a name that is known only at run time.
pub(super) fn lookup_named<'h>(headers: &'h HeaderMap, name: &str) -> HeaderLookup<'h> {
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(name) => lookup(headers, &name),
        Err(_) => HeaderLookup::Absent,
    }
}

/// The text of a header that may come once.
pub(super) fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    match lookup(headers, name) {
        HeaderLookup::Absent => Ok(None),
        HeaderLookup::One(value) => Ok(Some(value)),
        HeaderLookup::Repeated | HeaderLookup::Unreadable => Err(()),
    }
}
