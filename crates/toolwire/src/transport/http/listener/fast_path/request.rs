//! Parses plain requests.
//!
//! The definition of a plain request is narrow: a completely received HTTP/1.1 POST with one `Content-Length` and
//! without headers that affect the connection. Any other input, invalid or only incomplete, is not processed here:
//! hyper gets the same bytes and handles them.

use std::mem::MaybeUninit;
use std::ops::Range;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request};
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::request::headers::{self, RequestHeaders, RetainedFields};

/// The maximum number of header fields of a plain request.
const FIELDS: usize = 64;

/// Returns the parts of a plain request without path and headers. A connection reuses them, so that consecutive
/// requests with the same path do not parse it again.
pub(super) fn parts() -> Parts {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = Method::POST;
    parts
}

/// Parses the request at the start of `bytes` and returns the range of its body, or `None` if it is not plain.
///
/// Most fields are only checked. A header map costs as much as the rest of the parsing, so `parts` gets only the
/// `retained` fields. `head` and `parts` must not contain fields yet.
pub(super) fn read<'b>(
    bytes: &'b Bytes,
    retained: RetainedFields,
    parts: &mut Parts,
    head: &mut RequestHeaders<'b>,
) -> Option<Range<usize>> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut read = httparse::Request::new(&mut []);
    let parsed = read.parse_with_uninit_headers(bytes, &mut fields).ok()?;
    let httparse::Status::Complete(head_length) = parsed else {
        return None;
    };
    let (Some("POST"), Some(path), Some(1)) = (read.method, read.path, read.version) else {
        return None;
    };
    // Other forms of the request target contain a host or no path.
    if !path.starts_with('/') {
        return None;
    }
    // All fields are checked at once, because they are many and short.
    let head_text = HeaderText::of(&bytes[..head_length])?;
    let mut content_length = None;
    for field in read.headers.iter() {
        let (name, value) = (field.name.as_bytes(), field.value);
        if let Some(lookup) = head.add(name, value) {
            // A repeated field, or a value that is not text, is not plain.
            let (HeaderLookup::Absent, Some(text)) = (&*lookup, head_text.value(value)) else {
                return None;
            };
            *lookup = HeaderLookup::One(text);
        } else if headers::eq_ignore_case(name, b"content-length") {
            if content_length.is_some() {
                return None;
            }
            content_length = Some(number(value)?);
        } else if headers::eq_ignore_case(name, b"connection") {
            if !value.eq_ignore_ascii_case(b"keep-alive") {
                return None;
            }
        } else if headers::eq_ignore_case(name, b"transfer-encoding")
            || headers::eq_ignore_case(name, b"expect")
            || headers::eq_ignore_case(name, b"upgrade")
        {
            return None;
        }
        if retained.includes(name) {
            let value = HeaderValue::from_maybe_shared(bytes.slice_ref(value)).ok()?;
            let name = HeaderName::from_bytes(name).ok()?;
            parts.headers.append(name, value);
        }
    }
    let length = head_length.checked_add(content_length?)?;
    if length > bytes.len() {
        return None;
    }
    let known = parts.uri.path_and_query();
    if known.is_none_or(|known| known.as_str() != path) {
        // The path is copied, so that an idle connection does not retain the buffer of the request.
        parts.uri = path.parse().ok()?;
    }
    Some(head_length..length)
}

/// Request headers that are valid UTF-8.
struct HeaderText<'b>(&'b str);

impl<'b> HeaderText<'b> {
    fn of(head: &'b [u8]) -> Option<Self> {
        std::str::from_utf8(head).ok().map(Self)
    }

    /// Returns a value of these headers as text if it contains only visible ASCII, spaces and tabs. The parser has
    /// already rejected values with other ASCII characters.
    fn value(&self, value: &[u8]) -> Option<&'b str> {
        let start = value.as_ptr().addr().wrapping_sub(self.0.as_ptr().addr());
        let text = self.0.get(start..start.checked_add(value.len())?)?;
        text.is_ascii().then_some(text)
    }
}

/// Parses a number without signs and spaces, which not all HTTP implementations interpret in the same way.
fn number(text: &[u8]) -> Option<usize> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: &str = "POST /mcp?a=b HTTP/1.1\r\nHost: a.test\r\nX-Other: \u{E9}\r\nContent-Length: 4\r\n\r\nbodyPOST";

    /// A parsed plain request.
    struct PlainRequest<'b> {
        parts: Parts,
        head: RequestHeaders<'b>,
        body: &'b [u8],
        length: usize,
    }

    fn read(bytes: &Bytes, all_fields: bool) -> Option<PlainRequest<'_>> {
        let retained = if all_fields {
            RetainedFields::All
        } else {
            RetainedFields::Arguments
        };
        let (mut parts, mut head) = (parts(), RequestHeaders::EMPTY);
        let body = super::read(bytes, retained, &mut parts, &mut head)?;
        Some(PlainRequest {
            parts,
            head,
            length: body.end,
            body: &bytes[body],
        })
    }

    fn is_plain(text: &str) -> bool {
        read(&Bytes::copy_from_slice(text.as_bytes()), false).is_some()
    }

    #[test]
    fn plain_request_is_parsed_to_its_end() {
        let bytes = Bytes::from_static(PLAIN.as_bytes());
        let request = read(&bytes, true).unwrap();
        assert_eq!(request.length, PLAIN.len() - "POST".len());
        assert_eq!(request.parts.method, Method::POST);
        assert_eq!(request.parts.uri, "/mcp?a=b");
        assert_eq!(request.head.host, HeaderLookup::One("a.test"));
        assert_eq!(request.head.fields, 3);
        let headers = &request.parts.headers;
        assert_eq!(headers["host"], "a.test");
        assert_eq!(headers["x-other"].as_bytes(), "\u{E9}".as_bytes());
        assert_eq!(headers.len(), 3);
        assert_eq!(request.body, b"body");
    }

    #[test]
    fn parts_contain_the_path_of_the_last_request() {
        let mut parts = parts();
        for target in ["/", "/mcp", "/mcp", "/mcp?a=b", "/mcp", "/m#c", "//a", "/"] {
            let text = format!("POST {target} HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
            let bytes = Bytes::from(text.into_bytes());
            let mut head = RequestHeaders::EMPTY;
            assert!(
                super::read(&bytes, RetainedFields::Arguments, &mut parts, &mut head).is_some()
            );
            assert_eq!(parts.uri, target.parse::<http::Uri>().unwrap());
            // The parts do not refer to the bytes.
            assert!(bytes.is_unique());
        }
    }

    #[test]
    fn header_map_contains_tool_arguments_or_all_fields() {
        let text = "POST / HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\nMCP-param-Region: c\r\nContent-Length: 0\r\n\r\n";
        let bytes = Bytes::from_static(text.as_bytes());
        for all in [false, true] {
            let request = read(&bytes, all).unwrap();
            assert_eq!(request.head.host, HeaderLookup::One("a"));
            assert_eq!(request.head.fields, 4);
            assert_eq!(request.parts.headers["mcp-param-region"], "c");
            assert_eq!(request.parts.headers.len(), if all { 4 } else { 1 });
        }
    }

    #[test]
    fn headers_equal_those_of_a_header_map() {
        let text = "POST / HTTP/1.1\r\nHost: a\r\nACCEPT: b\r\norigin: c\r\nMcp-Name: d\t e\r\nMcp-Method: f\r\n\
                    Content-Type: g\r\nMcp-Session-Id: h\r\nContent-Encoding: i\r\nMcp-Protocol-Version: j\r\n\
                    X-Other: k\r\nContent-Length: 0\r\n\r\n";
        let bytes = Bytes::from_static(text.as_bytes());
        let request = read(&bytes, true).unwrap();
        let from_map = RequestHeaders::of(&request.parts.headers);
        let describe = |head: RequestHeaders<'_>| {
            let accept: Vec<String> = head.accept().map(str::to_owned).collect();
            let RequestHeaders {
                host,
                origin,
                content_type,
                content_encoding,
                session_id,
                routing,
                fields,
                bytes,
                ..
            } = head;
            let lookups = [host, origin, content_type, content_encoding, session_id];
            format!("{lookups:?} {routing:?} {fields} {bytes} {accept:?}")
        };
        assert_eq!(describe(request.head), describe(from_map));
    }

    #[test]
    fn incomplete_request_is_not_plain() {
        let end = PLAIN.len() - "POST".len();
        for cut in 0..end {
            let bytes = Bytes::copy_from_slice(&PLAIN.as_bytes()[..cut]);
            assert!(read(&bytes, false).is_none(), "{cut}");
        }
        assert!(is_plain(&PLAIN[..end]));
    }

    #[test]
    fn request_that_affects_the_connection_is_not_plain() {
        let with = |field: &str| {
            let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
            is_plain(&text)
        };
        assert!(with("Content-Length: 0"));
        assert!(with("content-length: 0\r\nConnection: Keep-Alive"));
        for field in [
            "X-None: of them",
            "Content-Length: 0\r\nContent-Length: 0",
            "Content-Length: +0",
            "Content-Length: -0",
            "Content-Length: 0, 0",
            "Content-Length: 0x0",
            "Content-Length:",
            "Content-Length: 99999999999999999999999",
            "Content-Length: 0\r\nTransfer-Encoding: chunked",
            "transfer-encoding: identity\r\nContent-Length: 0",
            "Content-Length: 0\r\nConnection: close",
            "Content-Length: 0\r\nConnection: keep-alive, upgrade",
            "Content-Length: 0\r\nUpgrade: h2c",
            "Content-Length: 0\r\nExpect: 100-continue",
            "Content-Length: 0\r\nX-Value: a\0b",
            "Content-Length: 0\r\nX-Value: a\rb",
            "Content-Length: 0\r\nMcp-Name: a\u{1}b",
            "Content-Length: 0\r\nMcp-Name: a\u{7F}b",
            "Content-Length: 0\r\n folded",
            "Content-Length: 0\r\nHost: b",
            "Content-Length: 0\r\nAccept: a/b\r\naccept: c/d",
            "Content-Length: 0\r\nMcp-Name: \u{E9}",
            "Content-Length : 0",
        ] {
            assert!(!with(field), "{field:?}");
        }
    }

    #[test]
    fn only_http_1_1_post_to_a_path_is_plain() {
        let plain = |line: &str| is_plain(&format!("{line}\r\nContent-Length: 0\r\n\r\n"));
        assert!(plain("POST / HTTP/1.1"));
        for line in [
            "GET / HTTP/1.1",
            "post / HTTP/1.1",
            "POST / HTTP/1.0",
            "POST / HTTP/2.0",
            "POST http://a.test/ HTTP/1.1",
            "POST * HTTP/1.1",
            "POST / / HTTP/1.1",
            "POST /",
        ] {
            assert!(!plain(line), "{line:?}");
        }
    }

    #[test]
    fn request_with_too_many_fields_is_not_plain() {
        let with = |fields: usize| {
            let others = "X-Filler: x\r\n".repeat(fields - 1);
            is_plain(&format!(
                "POST / HTTP/1.1\r\n{others}Content-Length: 0\r\n\r\n"
            ))
        };
        assert!(with(FIELDS));
        assert!(!with(FIELDS + 1));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_parsed_consistently(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            at in 0..PLAIN.len()
        ) {
            let (before, after) = PLAIN.as_bytes().split_at(at);
            for bytes in [bytes.clone(), [before, &bytes, after].concat()] {
                let bytes = Bytes::from(bytes);
                let request = read(&bytes, true);
                prop_assert_eq!(read(&bytes, false).is_some(), request.is_some());
                let Some(request) = request else { continue };
                prop_assert!(request.length <= bytes.len());
                let announced = request.parts.headers["content-length"].to_str().unwrap().parse::<usize>().unwrap();
                prop_assert_eq!(request.body.len(), announced);
            }
        }
    }
}
