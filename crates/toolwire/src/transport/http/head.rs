//! The header fields a request is judged by, found in one go through its head.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use toolwire_proto::admit::Headers;
use toolwire_proto::param_headers::HeaderLookup;

/// The fields that matter of one head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'h> {
    headers: &'h HeaderMap,
    pub(super) host: HeaderLookup<'h>,
    pub(super) origin: HeaderLookup<'h>,
    pub(super) content_type: HeaderLookup<'h>,
    pub(super) content_encoding: HeaderLookup<'h>,
    accept: HeaderLookup<'h>,
    pub(super) session_id: HeaderLookup<'h>,
    /// Those that repeat parts of the body.
    pub(super) routing: Headers<'h>,
    /// How many fields there are.
    pub(super) fields: usize,
    /// How long their names and values are together.
    pub(super) bytes: usize,
}

impl<'h> Head<'h> {
    pub(super) fn of(headers: &'h HeaderMap) -> Self {
        let mut head = Self {
            headers,
            host: HeaderLookup::Absent,
            origin: HeaderLookup::Absent,
            content_type: HeaderLookup::Absent,
            content_encoding: HeaderLookup::Absent,
            accept: HeaderLookup::Absent,
            session_id: HeaderLookup::Absent,
            routing: Headers {
                protocol_version: HeaderLookup::Absent,
                method: HeaderLookup::Absent,
                name: HeaderLookup::Absent,
            },
            fields: 0,
            bytes: 0,
        };
        for (name, value) in headers {
            let name = name.as_str();
            head.fields += 1;
            head.bytes += name.len() + value.len();
            let slot = match name {
                "host" => &mut head.host,
                "origin" => &mut head.origin,
                "content-type" => &mut head.content_type,
                "content-encoding" => &mut head.content_encoding,
                "accept" => &mut head.accept,
                "mcp-session-id" => &mut head.session_id,
                "mcp-protocol-version" => &mut head.routing.protocol_version,
                "mcp-method" => &mut head.routing.method,
                "mcp-name" => &mut head.routing.name,
                _ => continue,
            };
            *slot = match slot {
                HeaderLookup::Absent => one(value),
                _ => HeaderLookup::Repeated,
            };
        }
        head
    }

    /// The values of `Accept`, which may be spread over several fields.
    pub(super) fn accept(&self) -> impl Iterator<Item = &'h str> {
        let one = match self.accept {
            HeaderLookup::One(value) => Some(value),
            _ => None,
        };
        let several = match self.accept {
            HeaderLookup::Repeated => Some(self.headers.get_all(ACCEPT).iter()),
            _ => None,
        };
        let several = several
            .into_iter()
            .flatten()
            .filter_map(|value| value.to_str().ok());
        one.into_iter().chain(several)
    }
}

/// What a field that comes once holds.
pub(super) fn one(value: &HeaderValue) -> HeaderLookup<'_> {
    match value.to_str() {
        Ok(text) => HeaderLookup::One(text),
        Err(_) => HeaderLookup::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn headers(fields: &[(&'static str, &[u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let value = HeaderValue::from_bytes(value).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        headers
    }

    #[test]
    fn fields_are_found_by_their_names() {
        let headers = headers(&[
            ("host", b"a.test"),
            ("x-other", b"12345"),
            ("mcp-method", b"tools/call"),
            ("mcp-name", b"one"),
            ("mcp-name", b"two"),
            ("mcp-protocol-version", b"\xFF"),
        ]);
        let head = Head::of(&headers);
        assert_eq!(head.host, HeaderLookup::One("a.test"));
        assert_eq!(head.origin, HeaderLookup::Absent);
        assert_eq!(head.session_id, HeaderLookup::Absent);
        assert_eq!(head.routing.method, HeaderLookup::One("tools/call"));
        assert_eq!(head.routing.name, HeaderLookup::Repeated);
        assert_eq!(head.routing.protocol_version, HeaderLookup::Unreadable);
        assert_eq!(head.fields, 6);
        let expected = "hosta.testx-other12345mcp-methodtools/callmcp-nameonemcp-nametwo";
        assert_eq!(head.bytes, expected.len() + "mcp-protocol-version?".len());
    }

    #[test]
    fn accept_may_come_in_pieces() {
        let values = |fields: &[(&'static str, &[u8])]| -> Vec<String> {
            let headers = headers(fields);
            Head::of(&headers).accept().map(str::to_owned).collect()
        };
        assert!(values(&[]).is_empty());
        assert_eq!(values(&[("accept", b"a/b, c/d")]), ["a/b, c/d"]);
        assert_eq!(
            values(&[("accept", b"a/b"), ("accept", b"\xFF"), ("accept", b"c/d")]),
            ["a/b", "c/d"]
        );
        assert!(values(&[("accept", b"\xFF")]).is_empty());
    }
}
