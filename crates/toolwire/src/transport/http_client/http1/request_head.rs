//! The head of a request, written.

use std::io::Write as _;

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, Method, Uri, request};

/// What goes into a head beside the request itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    /// What `Host` says, unless the request has its own.
    pub(super) host: &'a HeaderValue,
    pub(super) proxy_credentials: Option<&'a HeaderValue>,
    /// The other end is a proxy, which must be told whole URLs.
    pub(super) proxied: bool,
    /// How many bytes the body has.
    pub(super) length: usize,
}

/// Writes a head; says whether the connection may be used again afterwards, as far as the request is concerned.
pub(super) fn write(output: &mut Vec<u8>, request: &request::Parts, around: Around<'_>) -> bool {
    output.extend_from_slice(request.method.as_str().as_bytes());
    output.push(b' ');
    write_target(output, &request.uri, around.proxied);
    output.extend_from_slice(b" HTTP/1.1\r\n");
    let (mut has_host, mut keeps) = (false, true);
    for (name, value) in &request.headers {
        // How long the body is, is known here and by nobody else; and a proxy's credentials are the pool's.
        if name == CONTENT_LENGTH
            || name == TRANSFER_ENCODING
            || (name == PROXY_AUTHORIZATION && around.proxy_credentials.is_some())
        {
            continue;
        }
        has_host |= name == HOST;
        keeps &= name != CONNECTION;
        write_field(output, name, value);
    }
    if let Some(credentials) = around.proxy_credentials {
        write_field(output, &PROXY_AUTHORIZATION, credentials);
    }
    if !has_host {
        write_field(output, &HOST, around.host);
    }
    // RFC 9110, 8.6: a length of nothing is told where a body is expected.
    if around.length > 0 || [Method::POST, Method::PUT, Method::PATCH].contains(&request.method) {
        output.extend_from_slice(b"content-length: ");
        write!(output, "{}", around.length).expect("writing into memory does not fail");
        output.extend_from_slice(b"\r\n");
    }
    output.extend_from_slice(b"\r\n");
    keeps
}

/// RFC 9112, 3.2: a server is told the path and the query, and in `Host` the rest; a proxy is told everything.
fn write_target(output: &mut Vec<u8>, uri: &Uri, proxied: bool) {
    if proxied && let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) {
        output.extend_from_slice(scheme.as_bytes());
        output.extend_from_slice(b"://");
        output.extend_from_slice(authority.as_str().as_bytes());
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if !path.starts_with('/') {
        output.push(b'/');
    }
    output.extend_from_slice(path.as_bytes());
}

fn write_field(output: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    output.extend_from_slice(name.as_str().as_bytes());
    output.extend_from_slice(b": ");
    output.extend_from_slice(value.as_bytes());
    output.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    static HOST_VALUE: HeaderValue = HeaderValue::from_static("example.com");

    fn around(length: usize) -> Around<'static> {
        Around {
            host: &HOST_VALUE,
            proxy_credentials: None,
            proxied: false,
            length,
        }
    }

    /// The head of a request, with this in place of its lines' ends.
    fn written(request: Request<()>, around: Around<'_>) -> (String, bool) {
        let mut output = Vec::new();
        let keeps = write(&mut output, &request.into_parts().0, around);
        let text = String::from_utf8(output).unwrap();
        (text.replace("\r\n", "|"), keeps)
    }

    #[test]
    fn a_head_names_the_path_the_host_and_the_length() {
        let check = |method: Method, url: &str, length: usize, expected: &str| {
            let request = Request::builder().method(method).uri(url);
            let (text, keeps) = written(request.body(()).unwrap(), around(length));
            assert_eq!(text, expected);
            assert!(keeps);
        };
        let url = "http://example.com/mcp?a=b";
        check(
            Method::POST,
            url,
            12,
            "POST /mcp?a=b HTTP/1.1|host: example.com|content-length: 12||",
        );
        check(
            Method::POST,
            "http://example.com",
            0,
            "POST / HTTP/1.1|host: example.com|content-length: 0||",
        );
        check(
            Method::GET,
            "http://example.com?a=b",
            0,
            "GET /?a=b HTTP/1.1|host: example.com||",
        );
        check(
            Method::DELETE,
            url,
            0,
            "DELETE /mcp?a=b HTTP/1.1|host: example.com||",
        );
    }

    #[test]
    fn a_proxy_is_told_the_whole_url_and_its_credentials() {
        let credentials = HeaderValue::from_static("Basic b3VyczpvdXJz");
        let request = Request::get("http://example.com:8080/mcp")
            .header("proxy-authorization", "theirs")
            .body(())
            .unwrap();
        let around = Around {
            proxy_credentials: Some(&credentials),
            proxied: true,
            ..around(0)
        };
        assert_eq!(
            written(request, around).0,
            "GET http://example.com:8080/mcp HTTP/1.1|proxy-authorization: Basic b3VyczpvdXJz|\
             host: example.com||"
        );
    }

    #[test]
    fn what_a_request_says_of_its_own_length_does_not_count() {
        let request = Request::post("http://example.com/")
            .header("content-length", "7")
            .header("transfer-encoding", "chunked")
            .header("x-own", "1")
            .header("x-own", "2")
            .header("host", "other.example")
            .body(())
            .unwrap();
        assert_eq!(
            written(request, around(2)).0,
            "POST / HTTP/1.1|x-own: 1|x-own: 2|host: other.example|content-length: 2||"
        );
    }

    #[test]
    fn a_request_with_a_word_about_the_connection_is_the_last_on_it() {
        let request = Request::get("http://example.com/")
            .header("connection", "close")
            .body(())
            .unwrap();
        assert!(!written(request, around(0)).1);
    }
}
