//! Answers that others have made: what is said in them is theirs, how it is sent is not.
//!
//! A length that is not the body's, or a coding that nobody applies, would let a client take the rest of one answer for the
//! next. Whoever writes the answer knows the truth and says it.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use toolwire_types::{ErrorObject, ResponseId};

use crate::transport::http::response::body::ServerBody;
use crate::transport::http::response::{self, HttpResponse};

/// What belongs to the connection or the framing. RFC 9110, sections 6.6.1, 7.6.1 and 8.6; RFC 9112, section 6.1.
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

/// Makes an answer of ours of it. That the connection should be closed is a wish that is granted.
pub(crate) fn sanitize(answer: Response<Bytes>) -> HttpResponse {
    let (mut parts, mut body) = answer.into_parts();
    if parts.status.is_informational() {
        tracing::error!(status = %parts.status, "an authorizer answered with a status that is no answer");
        let error = ErrorObject::internal("the request could not be answered");
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

/// The fields that are for the next hop only, and `close`, in lower case all.
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

    /// What is left of an answer: its fields, and how long its body is.
    fn adopted(status: u16, fields: &[(&'static str, &'static str)]) -> (Vec<String>, u64) {
        let mut foreign = Response::new(Bytes::from_static(b"body"));
        *foreign.status_mut() = StatusCode::from_u16(status).unwrap();
        for (name, value) in fields {
            let value = HeaderValue::from_static(value);
            foreign.headers_mut().append(*name, value);
        }
        let answer = sanitize(foreign);
        let fields = answer.fields().into_iter().flatten();
        let fields = fields.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        (fields.collect(), answer.body().size_hint().exact().unwrap())
    }

    #[test]
    fn what_is_said_is_kept() {
        for status in [200, 302, 404, 500] {
            let said = [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("vary", "x")];
            let (fields, length) = adopted(status, &said);
            assert_eq!(fields, ["set-cookie: a=1", "set-cookie: b=2", "vary: x"]);
            assert_eq!(length, 4);
        }
    }

    #[test]
    fn how_it_is_sent_is_not() {
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
            assert_eq!(adopted(200, &[field]), (Vec::new(), 4), "{field:?}");
        }
        let hop = [
            ("connection", "x-hop, @, X-Other"),
            ("x-hop", "1"),
            ("x-other", "2"),
        ];
        assert_eq!(adopted(200, &hop), (Vec::new(), 4));
    }

    #[test]
    fn a_wish_to_close_is_granted_however_it_is_written() {
        for values in [
            &["close"][..],
            &["Close"],
            &["keep-alive , CLOSE"],
            &["x", "close"],
        ] {
            let fields: Vec<_> = values.iter().map(|value| ("connection", *value)).collect();
            assert_eq!(adopted(200, &fields).0, ["connection: close"]);
        }
        assert!(adopted(200, &[("connection", "closed")]).0.is_empty());
    }

    #[test]
    fn a_status_without_content_has_none() {
        for status in [204, 205, 304] {
            assert_eq!(
                adopted(status, &[("etag", "x")]),
                (vec!["etag: x".to_owned()], 0)
            );
        }
    }

    #[test]
    fn a_status_that_is_no_answer_is_a_fault() {
        let mut foreign = Response::new(Bytes::new());
        *foreign.status_mut() = StatusCode::CONTINUE;
        assert_eq!(
            sanitize(foreign).status(),
            StatusCode::INTERNAL_SERVER_ERROR
        );
    }
}
