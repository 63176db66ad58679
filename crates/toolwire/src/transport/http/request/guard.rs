//! What a request has to pass before anybody reads its message: names, sizes, types.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use toolwire_proto::http::{HostPolicy, OriginPolicy, accepts, accepts_both, is_json};
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::limits::HttpLimits;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::request::headers::{self, RequestHeaders};
use crate::transport::http::response::{self, HttpResponse};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// The guards of one endpoint.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: HostPolicy,
    origins: OriginPolicy,
    /// The first host that was let in. Most servers are called by one name, which need not be judged again.
    usual: OnceLock<LastHost>,
}

/// A host that was let in, and where the connection came in.
#[derive(Debug, PartialEq, Eq)]
struct LastHost {
    header: Box<str>,
    local: Option<IpAddr>,
}

impl Guard {
    /// # Panics
    /// When the options name a host or an origin that is none.
    pub(crate) fn new(options: &HttpOptions) -> Self {
        let hosts = HostPolicy::new(&options.public_hosts, options.any_host);
        let origins = OriginPolicy::new(&options.allowed_origins);
        let origins =
            origins.unwrap_or_else(|error| panic!("HttpOptions::with_allowed_origins: {error}"));
        Self {
            hosts: hosts.unwrap_or_else(|error| panic!("HttpOptions::with_public_hosts: {error}")),
            origins: match options.rejects_loopback_origins {
                true => origins.without_loopback(),
                false => origins,
            },
            usual: OnceLock::new(),
        }
    }

    /// Rejects requests that a web page may have made under a name that is not ours. `origin` is [`HeaderLookup::Absent`]
    /// for what pages of every origin may read.
    pub(crate) fn check_names(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        origin: HeaderLookup<'_>,
        local_address: Option<SocketAddr>,
    ) -> Result<(), HttpResponse> {
        let local = local_address.map(|address| address.ip());
        let malformed = || {
            response::reject_and_close(
                StatusCode::BAD_REQUEST,
                "a request needs exactly one readable Host",
            )
        };
        let header = match head.host {
            HeaderLookup::One(host) => Some(host),
            HeaderLookup::Absent => None,
            HeaderLookup::Repeated | HeaderLookup::Unreadable => return Err(malformed()),
        };
        // HTTP/2, and HTTP/1.1 with an absolute target, name the host in the target.
        let target = parts.uri.authority().map(http::uri::Authority::as_str);
        let (first, second) = (header.or(target), header.and(target));
        let host = first.ok_or_else(malformed)?;
        let is_plain = second.is_none() && origin == HeaderLookup::Absent;
        if is_plain && self.is_usual(host, local) {
            return Ok(());
        }
        for host in [Some(host), second].into_iter().flatten() {
            let served = self.hosts.check(host, local).map_err(|refused| {
                tracing::warn!(%refused, "a request for a name that is not served");
                response::reject(StatusCode::FORBIDDEN, refused.to_string())
            })?;
            let origin = match origin {
                HeaderLookup::Absent => continue,
                HeaderLookup::One(origin) => origin,
                HeaderLookup::Repeated | HeaderLookup::Unreadable => "",
            };
            self.origins.check(origin, &served).map_err(|refused| {
                tracing::warn!(%refused, "a request from a web page that is not allowed");
                response::reject(StatusCode::FORBIDDEN, refused.to_string())
            })?;
        }
        if is_plain {
            let header = host.into();
            // Whoever was first stays.
            let _ = self.usual.set(LastHost { header, local });
        }
        Ok(())
    }

    fn is_usual(&self, host: &str, local: Option<IpAddr>) -> bool {
        let usual = self.usual.get();
        usual.is_some_and(|usual| &*usual.header == host && usual.local == local)
    }
}

/// Refuses heads that are too large.
pub(crate) fn check_header_limits(
    head: &RequestHeaders<'_>,
    limits: &HttpLimits,
) -> Result<(), HttpResponse> {
    if head.fields > limits.header_fields || head.bytes > limits.header_bytes {
        return Err(response::reject_and_close(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            format!(
                "at most {} header fields and {} bytes of them are read",
                limits.header_fields, limits.header_bytes
            ),
        ));
    }
    Ok(())
}

/// Refuses what cannot be a message to the endpoint.
pub(crate) fn check_message_headers(head: &RequestHeaders<'_>) -> Result<(), HttpResponse> {
    check_content(head)?;
    check_accept_both(head)
}

/// Refuses messages that are not plain JSON. Of the content types a web page may send unasked none passes.
pub(crate) fn check_content(head: &RequestHeaders<'_>) -> Result<(), HttpResponse> {
    let content_type = match head.content_type {
        HeaderLookup::One(value) => Some(value),
        HeaderLookup::Absent | HeaderLookup::Repeated | HeaderLookup::Unreadable => None,
    };
    if !is_json(content_type) {
        return Err(response::reject(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send the message as `Content-Type: application/json`",
        ));
    }
    match head.content_encoding {
        HeaderLookup::Absent | HeaderLookup::One("identity") => Ok(()),
        _ => Err(response::reject(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send the message without a content encoding",
        )),
    }
}

/// Refuses clients that cannot take both kinds of answer. It is decided before the handler runs: a tool whose effect is
/// there and whose result cannot be told would be worse.
fn check_accept_both(head: &RequestHeaders<'_>) -> Result<(), HttpResponse> {
    if accepts_both(|| head.accept(), JSON, EVENT_STREAM) {
        return Ok(());
    }
    Err(response::reject(
        StatusCode::NOT_ACCEPTABLE,
        "accept both kinds of answer: `Accept: application/json, text/event-stream`",
    ))
}

/// Refuses readers of a stream that cannot take one.
pub(crate) fn check_accept_events(head: &RequestHeaders<'_>) -> Result<(), HttpResponse> {
    if accepts(head.accept(), EVENT_STREAM) {
        return Ok(());
    }
    Err(response::reject(
        StatusCode::NOT_ACCEPTABLE,
        "accept the stream: `Accept: text/event-stream`",
    ))
}

/// What a request holds under one name.
pub(crate) fn lookup<'h>(headers: &'h HeaderMap, name: &HeaderName) -> HeaderLookup<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderLookup::Absent,
        (Some(value), None) => headers::single_value(value),
        (Some(_), Some(_)) => HeaderLookup::Repeated,
    }
}

/// As [`lookup`], for a name that is known only at run time.
pub(crate) fn lookup_named<'h>(headers: &'h HeaderMap, name: &str) -> HeaderLookup<'h> {
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(name) => lookup(headers, &name),
        Err(_) => HeaderLookup::Absent,
    }
}

/// The text of a header that may come once.
pub(crate) fn text<'h>(header: HeaderLookup<'h>) -> Result<Option<&'h str>, ()> {
    match header {
        HeaderLookup::Absent => Ok(None),
        HeaderLookup::One(value) => Ok(Some(value)),
        HeaderLookup::Repeated | HeaderLookup::Unreadable => Err(()),
    }
}
