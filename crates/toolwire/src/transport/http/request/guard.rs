//! Checks the headers of a request before its message is read: host, origin, sizes and content types.

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
    /// The first accepted host. Most servers are called by one name, which need not be checked again.
    first_host: OnceLock<AcceptedHost>,
}

/// A host that was accepted, with the local address of the connection.
#[derive(Debug, PartialEq, Eq)]
struct AcceptedHost {
    header: Box<str>,
    local: Option<IpAddr>,
}

impl Guard {
    /// Creates the guard of an endpoint.
    ///
    /// # Panics
    /// Panics if a configured host or origin is invalid.
    pub(crate) fn new(options: &HttpOptions) -> Self {
        let hosts = HostPolicy::new(&options.public_hosts, options.any_host);
        let origins = OriginPolicy::new(&options.allowed_origins);
        let origins =
            origins.unwrap_or_else(|error| panic!("HttpOptions::with_allowed_origins: {error}"));
        Self {
            hosts: hosts.unwrap_or_else(|error| panic!("HttpOptions::with_public_hosts: {error}")),
            origins: if options.rejects_loopback_origins {
                origins.without_loopback()
            } else {
                origins
            },
            first_host: OnceLock::new(),
        }
    }

    /// Rejects requests to a host name that is not served, and requests of web pages whose origin is not allowed.
    /// `origin` is [`HeaderLookup::Absent`] for documents that pages of every origin may read.
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
                "a request needs exactly one valid Host header",
            )
        };
        let header = match head.host {
            HeaderLookup::One(host) => Some(host),
            HeaderLookup::Absent => None,
            HeaderLookup::Repeated | HeaderLookup::Unreadable => return Err(malformed()),
        };
        // In HTTP/2, and in HTTP/1.1 with an absolute target, the target contains the host.
        let target = parts.uri.authority().map(http::uri::Authority::as_str);
        let (first, second) = (header.or(target), header.and(target));
        let host = first.ok_or_else(malformed)?;
        let is_plain = second.is_none() && origin == HeaderLookup::Absent;
        if is_plain && self.is_first_host(host, local) {
            return Ok(());
        }
        for host in [Some(host), second].into_iter().flatten() {
            let served = self.hosts.check(host, local).map_err(|error| {
                tracing::warn!(%error, "rejected a request to a host that is not served");
                response::reject(StatusCode::FORBIDDEN, error.to_string())
            })?;
            let origin = match origin {
                HeaderLookup::Absent => continue,
                HeaderLookup::One(origin) => origin,
                HeaderLookup::Repeated | HeaderLookup::Unreadable => "",
            };
            self.origins.check(origin, &served).map_err(|error| {
                tracing::warn!(%error, "rejected a request of an origin that is not allowed");
                response::reject(StatusCode::FORBIDDEN, error.to_string())
            })?;
        }
        if is_plain {
            let header = host.into();
            // Another request may have set it in the meantime.
            let _ = self.first_host.set(AcceptedHost { header, local });
        }
        Ok(())
    }

    fn is_first_host(&self, host: &str, local: Option<IpAddr>) -> bool {
        let first = self.first_host.get();
        first.is_some_and(|first| &*first.header == host && first.local == local)
    }
}

/// Rejects requests with too many or too long header fields.
pub(crate) fn check_header_limits(
    head: &RequestHeaders<'_>,
    limits: &HttpLimits,
) -> Result<(), HttpResponse> {
    if head.fields > limits.header_fields || head.bytes > limits.header_bytes {
        return Err(response::reject_and_close(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            format!(
                "a request may have at most {} header fields and {} bytes of header fields",
                limits.header_fields, limits.header_bytes
            ),
        ));
    }
    Ok(())
}

/// Rejects requests whose headers do not describe a message to the endpoint.
pub(crate) fn check_message_headers(head: &RequestHeaders<'_>) -> Result<(), HttpResponse> {
    check_content(head)?;
    check_accept_both(head)
}

/// Rejects messages that are not plain JSON. This excludes all content types that a web page can send without a CORS
/// preflight request.
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

/// Rejects requests whose `Accept` excludes JSON or event streams. The check runs before the handler, because a tool
/// must not have an effect if its result cannot be sent.
fn check_accept_both(head: &RequestHeaders<'_>) -> Result<(), HttpResponse> {
    if accepts_both(|| head.accept(), JSON, EVENT_STREAM) {
        return Ok(());
    }
    Err(response::reject(
        StatusCode::NOT_ACCEPTABLE,
        "accept both response types: `Accept: application/json, text/event-stream`",
    ))
}

/// Rejects requests for a stream whose `Accept` excludes event streams.
pub(crate) fn check_accept_events(head: &RequestHeaders<'_>) -> Result<(), HttpResponse> {
    if accepts(head.accept(), EVENT_STREAM) {
        return Ok(());
    }
    Err(response::reject(
        StatusCode::NOT_ACCEPTABLE,
        "accept event streams: `Accept: text/event-stream`",
    ))
}

/// Returns the value of a header field.
pub(crate) fn lookup<'h>(headers: &'h HeaderMap, name: &HeaderName) -> HeaderLookup<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderLookup::Absent,
        (Some(value), None) => headers::single_value(value),
        (Some(_), Some(_)) => HeaderLookup::Repeated,
    }
}

/// Returns the value of a header field whose name is known only at run time. See [`lookup`].
pub(crate) fn lookup_named<'h>(headers: &'h HeaderMap, name: &str) -> HeaderLookup<'h> {
    match HeaderName::from_bytes(name.as_bytes()) {
        Ok(name) => lookup(headers, &name),
        Err(_) => HeaderLookup::Absent,
    }
}

/// Returns the text of a header field that may occur at most once.
pub(crate) fn text<'h>(header: HeaderLookup<'h>) -> Result<Option<&'h str>, ()> {
    match header {
        HeaderLookup::Absent => Ok(None),
        HeaderLookup::One(value) => Ok(Some(value)),
        HeaderLookup::Repeated | HeaderLookup::Unreadable => Err(()),
    }
}
