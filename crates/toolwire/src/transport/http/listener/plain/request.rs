//! A request that came whole and in the plainest form.
//!
//! What is plain is told narrowly: a POST of HTTP/1.1 with one `Content-Length`, all of it here, and nothing that would
//! change how the connection goes on. Whatever else came, strange or only incomplete, is not judged here: hyper gets the
//! same bytes and says what they are.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};

use crate::transport::http::answer::SESSION_ID;
use crate::transport::http::listener::request_body::RequestBody;

/// How many header fields a plain request has at most.
const FIELDS: usize = 64;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Reads the request these bytes begin with, if it is plain; says also how long it is.
pub(super) fn read(bytes: &Bytes) -> Option<(Request<RequestBody>, usize)> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut head = httparse::Request::new(&mut []);
    let parsed = head.parse_with_uninit_headers(bytes, &mut fields).ok()?;
    let httparse::Status::Complete(head_length) = parsed else {
        return None;
    };
    let (Some("POST"), Some(path), Some(1)) = (head.method, head.path, head.version) else {
        return None;
    };
    // Other forms of a target name a host, or no path.
    if !path.starts_with('/') {
        return None;
    }
    let mut headers = HeaderMap::with_capacity(head.headers.len());
    let mut content_length = None;
    for field in head.headers.iter() {
        let name = name(field.name)?;
        if name == CONTENT_LENGTH {
            if content_length.is_some() {
                return None;
            }
            content_length = Some(number(field.value)?);
        } else if name == CONNECTION {
            if !field.value.eq_ignore_ascii_case(b"keep-alive") {
                return None;
            }
        } else if name == TRANSFER_ENCODING || name == EXPECT || name == UPGRADE {
            return None;
        }
        let value = HeaderValue::from_maybe_shared(bytes.slice_ref(field.value)).ok()?;
        headers.append(name, value);
    }
    let length = head_length.checked_add(content_length?)?;
    if length > bytes.len() {
        return None;
    }
    let body = RequestBody::Whole(bytes.slice(head_length..length));
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_maybe_shared(bytes.slice_ref(path.as_bytes())).ok()?;
    *request.headers_mut() = headers;
    Some((request, length))
}

/// The name of a field. Those that most requests have need neither be copied nor looked up.
fn name(name: &str) -> Option<HeaderName> {
    let name = name.as_bytes();
    let usual = match name.len() {
        4 if same(name, b"host") => HOST,
        6 if same(name, b"accept") => ACCEPT,
        8 if same(name, b"mcp-name") => NAME,
        10 if same(name, b"mcp-method") => METHOD,
        10 if same(name, b"user-agent") => USER_AGENT,
        12 if same(name, b"content-type") => CONTENT_TYPE,
        13 if same(name, b"authorization") => AUTHORIZATION,
        14 if same(name, b"content-length") => CONTENT_LENGTH,
        14 if same(name, b"mcp-session-id") => SESSION_ID,
        20 if same(name, b"mcp-protocol-version") => PROTOCOL_VERSION,
        _ => return HeaderName::from_bytes(name).ok(),
    };
    Some(usual)
}

/// Whether a name is that one, in whatever case. All bytes at once: a loop that can end early is slower.
fn same<const LENGTH: usize>(name: &[u8], known: &[u8; LENGTH]) -> bool {
    let Ok(name) = <&[u8; LENGTH]>::try_from(name) else {
        return false;
    };
    // The bit tells the cases apart. Of other characters of a name (RFC 9110, section 5.6.2) it makes none that is in a
    // known name.
    let differing = name.iter().zip(known);
    differing.fold(0, |all, (byte, known)| all | ((byte | 0x20) ^ known)) == 0
}

/// A number without signs or spaces, which not all readers take to mean the same.
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

    fn read_text(text: &str) -> Option<(Request<RequestBody>, usize)> {
        read(&Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn a_plain_request_is_read_to_its_end_and_not_beyond() {
        let (request, length) = read_text(PLAIN).unwrap();
        assert_eq!(length, PLAIN.len() - "POST".len());
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.uri(), "/mcp?a=b");
        assert_eq!(request.headers()["host"], "a.test");
        assert_eq!(request.headers()["x-other"].as_bytes(), "\u{E9}".as_bytes());
        assert_eq!(request.headers().len(), 3);
        let RequestBody::Whole(body) = request.into_body() else {
            panic!("it is whole");
        };
        assert_eq!(body, "body");
    }

    #[test]
    fn whatever_is_not_there_to_its_end_is_left_alone() {
        let end = PLAIN.len() - "POST".len();
        for cut in 0..end {
            let bytes = Bytes::copy_from_slice(&PLAIN.as_bytes()[..cut]);
            assert!(read(&bytes).is_none(), "{cut}");
        }
        assert!(read(&Bytes::copy_from_slice(&PLAIN.as_bytes()[..end])).is_some());
    }

    #[test]
    fn names_are_known_in_every_case() {
        for known in [
            "host",
            "accept",
            "mcp-name",
            "mcp-method",
            "user-agent",
            "content-type",
            "authorization",
            "content-length",
            "mcp-session-id",
            "mcp-protocol-version",
            "x-anything",
        ] {
            for spelled in [known.to_owned(), known.to_uppercase()] {
                assert_eq!(name(&spelled).unwrap(), known);
            }
        }
        for strange in ["mcp name", "ho:t", ""] {
            assert_eq!(name(strange), None, "{strange:?}");
        }
    }

    #[test]
    fn what_would_change_the_connection_is_not_plain() {
        let with = |field: &str| {
            let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
            read_text(&text).is_some()
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
            "Content-Length: 0\r\n folded",
            "Content-Length : 0",
        ] {
            assert!(!with(field), "{field:?}");
        }
    }

    #[test]
    fn only_posts_of_http_1_1_to_a_path_are_plain() {
        let plain =
            |line: &str| read_text(&format!("{line}\r\nContent-Length: 0\r\n\r\n")).is_some();
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
    fn a_head_with_very_many_fields_is_not_plain() {
        let with = |fields: usize| {
            let others = "X-Filler: x\r\n".repeat(fields - 1);
            read_text(&format!(
                "POST / HTTP/1.1\r\n{others}Content-Length: 0\r\n\r\n"
            ))
            .is_some()
        };
        assert!(with(FIELDS));
        assert!(!with(FIELDS + 1));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0..PLAIN.len()) {
            let (before, after) = PLAIN.as_bytes().split_at(at);
            for bytes in [bytes.clone(), [before, &bytes, after].concat()] {
                let bytes = Bytes::from(bytes);
                let Some((request, length)) = read(&bytes) else { continue };
                prop_assert!(length <= bytes.len());
                let announced = request.headers()["content-length"].to_str().unwrap().parse::<u64>().unwrap();
                let body = http_body::Body::size_hint(request.body()).exact();
                prop_assert_eq!(body, Some(announced));
            }
        }
    }
}
