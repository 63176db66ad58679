//! The request header fields that the transport uses, collected in one pass.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use toolwire_proto::admit::RoutingHeaders;
use toolwire_proto::header_value::PARAM_PREFIX;
use toolwire_proto::param_headers::HeaderLookup;
use toolwire_types::meta_key;

/// The header fields of one request that the transport uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestHeaders<'h> {
    /// The complete header map, for fields with several values.
    headers: Option<&'h HeaderMap>,
    pub(crate) host: HeaderLookup<'h>,
    pub(crate) origin: HeaderLookup<'h>,
    pub(crate) content_type: HeaderLookup<'h>,
    pub(crate) content_encoding: HeaderLookup<'h>,
    accept: HeaderLookup<'h>,
    pub(crate) session_id: HeaderLookup<'h>,
    /// The fields that repeat parts of the body.
    pub(crate) routing: RoutingHeaders<'h>,
    /// The number of fields.
    pub(crate) fields: usize,
    /// The total length of the names and values of all fields.
    pub(crate) bytes: usize,
}

impl<'h> RequestHeaders<'h> {
    /// Headers without fields.
    pub(crate) const EMPTY: Self = Self {
        headers: None,
        host: HeaderLookup::Absent,
        origin: HeaderLookup::Absent,
        content_type: HeaderLookup::Absent,
        content_encoding: HeaderLookup::Absent,
        accept: HeaderLookup::Absent,
        session_id: HeaderLookup::Absent,
        routing: RoutingHeaders {
            protocol_version: HeaderLookup::Absent,
            method: HeaderLookup::Absent,
            name: HeaderLookup::Absent,
        },
        fields: 0,
        bytes: 0,
    };

    /// Collects the fields of a header map.
    pub(crate) fn of(headers: &'h HeaderMap) -> Self {
        let mut head = Self {
            headers: Some(headers),
            ..Self::EMPTY
        };
        for (name, value) in headers {
            let name = name.as_str().as_bytes();
            if let Some(field) = head.add(name, value.as_bytes()) {
                *field = match field {
                    HeaderLookup::Absent => single_value(value),
                    _ => HeaderLookup::Repeated,
                };
            }
        }
        head
    }

    /// Counts a field. Returns the entry for its value if the transport uses the field. The name may be in any case.
    pub(crate) fn add(&mut self, name: &[u8], value: &[u8]) -> Option<&mut HeaderLookup<'h>> {
        self.fields += 1;
        self.bytes += name.len() + value.len();
        let field = match name.len() {
            4 if eq_ignore_case(name, b"host") => &mut self.host,
            6 if eq_ignore_case(name, b"accept") => &mut self.accept,
            6 if eq_ignore_case(name, b"origin") => &mut self.origin,
            8 if eq_ignore_case(name, b"mcp-name") => &mut self.routing.name,
            10 if eq_ignore_case(name, b"mcp-method") => &mut self.routing.method,
            12 if eq_ignore_case(name, b"content-type") => &mut self.content_type,
            14 if eq_ignore_case(name, b"mcp-session-id") => &mut self.session_id,
            16 if eq_ignore_case(name, b"content-encoding") => &mut self.content_encoding,
            20 if eq_ignore_case(name, b"mcp-protocol-version") => {
                &mut self.routing.protocol_version
            }
            _ => return None,
        };
        Some(field)
    }

    /// Returns the values of `Accept`, which may be in several fields.
    pub(crate) fn accept(&self) -> impl Iterator<Item = &'h str> {
        let one = match self.accept {
            HeaderLookup::One(value) => Some(value),
            _ => None,
        };
        let several = match self.accept {
            HeaderLookup::Repeated => self.headers,
            _ => None,
        };
        let several = several
            .into_iter()
            .flat_map(|headers| headers.get_all(ACCEPT))
            .filter_map(|value| value.to_str().ok());
        one.into_iter().chain(several)
    }
}

/// The header fields that are retained besides those that the transport collects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetainedFields {
    /// Those that repeat tool arguments.
    Arguments,
    /// Those that repeat tool arguments, and the trace context.
    ArgumentsAndTrace,
    All,
}

impl RetainedFields {
    /// Returns `true` if a field is retained. The name may be in any case.
    #[inline]
    pub(crate) fn includes(self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Arguments => repeats_argument(name),
            Self::ArgumentsAndTrace => repeats_argument(name) || is_trace_context(name),
        }
    }
}

/// Returns `true` if a field may repeat a tool argument.
fn repeats_argument(name: &[u8]) -> bool {
    let prefix = name.get(..PARAM_PREFIX.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM_PREFIX.as_bytes()))
}

/// Returns `true` for the fields of W3C Trace Context and W3C Baggage.
fn is_trace_context(name: &[u8]) -> bool {
    [
        meta_key::TRACEPARENT,
        meta_key::TRACESTATE,
        meta_key::BAGGAGE,
    ]
    .iter()
    .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Returns `true` if a field name equals a known name, ignoring case. Compares all bytes, because a loop with an early
/// exit is slower.
pub(crate) fn eq_ignore_case<const LENGTH: usize>(name: &[u8], known: &[u8; LENGTH]) -> bool {
    let Ok(name) = <&[u8; LENGTH]>::try_from(name) else {
        return false;
    };
    // The bit 0x20 distinguishes upper and lower case. Setting it in another character of a field name (RFC 9110,
    // section 5.6.2) does not produce a character of a known name.
    let differing = name.iter().zip(known);
    differing.fold(0, |all, (byte, known)| all | ((byte | 0x20) ^ known)) == 0
}

/// Returns the value of a field that occurs once.
pub(crate) fn single_value(value: &HeaderValue) -> HeaderLookup<'_> {
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
    fn fields_are_collected_by_name() {
        let headers = headers(&[
            ("host", b"a.test"),
            ("x-other", b"12345"),
            ("mcp-method", b"tools/call"),
            ("mcp-name", b"one"),
            ("mcp-name", b"two"),
            ("mcp-protocol-version", b"\xFF"),
        ]);
        let head = RequestHeaders::of(&headers);
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
    fn retained_fields_are_those_that_are_needed() {
        let fields = [
            "Mcp-Param-City",
            "Traceparent",
            "tracestate",
            "BAGGAGE",
            "cookie",
        ];
        let check = |retained: RetainedFields, expected: &[&str]| {
            let included = fields
                .iter()
                .filter(|name| retained.includes(name.as_bytes()));
            let included: Vec<&str> = included.copied().collect();
            assert_eq!(included, expected, "{retained:?}");
        };
        check(RetainedFields::Arguments, &fields[..1]);
        check(RetainedFields::ArgumentsAndTrace, &fields[..4]);
        check(RetainedFields::All, &fields);
    }

    #[test]
    fn names_are_compared_ignoring_case() {
        for known in [
            "host",
            "origin",
            "content-type",
            "content-encoding",
            "accept",
            "mcp-session-id",
            "mcp-protocol-version",
            "mcp-method",
            "mcp-name",
        ] {
            for spelled in [known.to_owned(), known.to_uppercase()] {
                let mut head = RequestHeaders::EMPTY;
                assert!(head.add(spelled.as_bytes(), b"").is_some(), "{spelled}");
            }
            let other = known.replace('o', "0");
            if other != known {
                let mut head = RequestHeaders::EMPTY;
                assert!(head.add(other.as_bytes(), b"").is_none(), "{other}");
            }
        }
    }

    #[test]
    fn accept_values_of_several_fields_are_returned() {
        let values = |fields: &[(&'static str, &[u8])]| -> Vec<String> {
            let headers = headers(fields);
            RequestHeaders::of(&headers)
                .accept()
                .map(str::to_owned)
                .collect()
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
