//! Removes connection and framing headers from the responses of an authorizer.
//!
//! With a wrong length, or a transfer coding that is not applied, a client could read the rest of one response as the
//! next response. The HTTP implementation that writes the response sets the correct headers.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use toolwire_types::{ErrorObject, ResponseId};

use crate::transport::http::response::body::ServerBody;
use crate::transport::http::response::{self, HttpResponse};

/// The headers of the connection and the framing. RFC 9110, sections 6.6.1, 7.6.1 and 8.6; RFC 9112, section 6.1.
const CONNECTION_HEADERS: [HeaderName; 9] = [
    CONNECTION,
    CONTENT_LENGTH,
    DATE,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Returns the response without connection headers, except `Connection: close`.
pub(crate) fn sanitize(response: Response<Bytes>) -> HttpResponse {
    let (mut parts, mut body) = response.into_parts();
    if parts.status.is_informational() {
        tracing::error!(status = %parts.status, "an authorizer returned an informational status");
        let error = ErrorObject::internal("the request could not be served");
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        return response::error(status, ResponseId::Absent, error);
    }
    let named = named_by_connection(&parts.headers);
    for name in CONNECTION_HEADERS.iter().chain(&named) {
        parts.headers.remove(name);
    }
    if named.iter().any(|name| name == "close") {
        let close = HeaderValue::from_static("close");
        parts.headers.insert(CONNECTION, close);
    }
    if let StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED =
        parts.status
    {
        body.clear();
    }
    HttpResponse::with_fields(parts.status, parts.headers, ServerBody::full(body))
}

/// Returns the names in `Connection` in lower case: hop-by-hop fields and `close`.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    names
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    /// Returns the fields and the body length of a sanitized response.
    fn sanitized(status: u16, fields: &[(&'static str, &'static str)]) -> (Vec<String>, u64) {
        let mut original = Response::new(Bytes::from_static(b"body"));
        *original.status_mut() = StatusCode::from_u16(status).unwrap();
        for (name, value) in fields {
            let value = HeaderValue::from_static(value);
            original.headers_mut().append(*name, value);
        }
        let response = sanitize(original);
        let fields = response.fields().into_iter().flatten();
        let fields = fields.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        (
            fields.collect(),
            response.body().size_hint().exact().unwrap(),
        )
    }

    #[test]
    fn other_headers_and_the_body_are_unchanged() {
        for status in [200, 302, 404, 500] {
            let original = [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("vary", "x")];
            let (fields, length) = sanitized(status, &original);
            assert_eq!(fields, ["set-cookie: a=1", "set-cookie: b=2", "vary: x"]);
            assert_eq!(length, 4);
        }
    }

    #[test]
    fn connection_headers_are_removed() {
        for field in [
            ("content-length", "3"),
            ("transfer-encoding", "chunked"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("connection", "upgrade"),
            ("upgrade", "h2c"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
        ] {
            assert_eq!(sanitized(200, &[field]), (Vec::new(), 4), "{field:?}");
        }
        let hop = [
            ("connection", "x-hop, @, X-Other"),
            ("x-hop", "1"),
            ("x-other", "2"),
        ];
        assert_eq!(sanitized(200, &hop), (Vec::new(), 4));
    }

    #[test]
    fn connection_close_is_preserved_in_any_spelling() {
        for values in [
            &["close"][..],
            &["Close"],
            &["keep-alive , CLOSE"],
            &["x", "close"],
        ] {
            let fields: Vec<_> = values.iter().map(|value| ("connection", *value)).collect();
            assert_eq!(sanitized(200, &fields).0, ["connection: close"]);
        }
        assert!(sanitized(200, &[("connection", "closed")]).0.is_empty());
    }

    #[test]
    fn status_without_content_has_an_empty_body() {
        for status in [204, 205, 304] {
            assert_eq!(
                sanitized(status, &[("etag", "x")]),
                (vec!["etag: x".to_owned()], 0)
            );
        }
    }

    #[test]
    fn informational_status_becomes_500() {
        let mut original = Response::new(Bytes::new());
        *original.status_mut() = StatusCode::CONTINUE;
        assert_eq!(
            sanitize(original).status(),
            StatusCode::INTERNAL_SERVER_ERROR
        );
    }
}
