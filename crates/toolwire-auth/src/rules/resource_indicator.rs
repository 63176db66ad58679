//! Resource indicators (RFC 8707): the server that a token is requested for, and the check of a token's audience.
//!
//! Spec 2026-07-28, authorization, "Canonical Server URI". Two URIs are the same resource if they differ only in the
//! case of scheme and host, in a default port, or in the slash of an empty path. Every other difference matters: a
//! token for `/a` is not valid for `/a/` or `/`.

use std::fmt;

use toolwire_proto::web_url::{InvalidUrl, InvalidUrlKind, WebUrl};

/// The URI of a server that tokens are issued for.
#[derive(Debug, Clone)]
pub struct ResourceIndicator {
    written: String,
    canonical: String,
}

impl ResourceIndicator {
    /// Parses a URI and preserves its spelling.
    ///
    /// # Errors
    /// Returns an error if it is not an absolute `http` or `https` URL, or has a fragment or dot segments in its path.
    pub fn parse(text: &str) -> Result<Self, InvalidUrl> {
        let url = parse_checked(text)?;
        Ok(Self {
            written: text.to_owned(),
            canonical: canonical(&url, url.query),
        })
    }

    /// Returns the resource of an endpoint whose server names none: its URL without the query.
    ///
    /// # Errors
    /// Returns the errors of [`parse`](Self::parse).
    pub fn of_endpoint(endpoint: &str) -> Result<Self, InvalidUrl> {
        let canonical = canonical(&parse_checked(endpoint)?, None);
        Ok(Self {
            written: canonical.clone(),
            canonical,
        })
    }

    /// Returns the URI as it was written. It is sent unchanged, because authorization servers may compare it exactly.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns the canonical spelling of this resource.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Returns `true` if an audience names this resource.
    #[must_use]
    pub fn is_named_by(&self, audience: &str) -> bool {
        audience == self.written
            || parse_checked(audience).is_ok_and(|url| canonical(&url, url.query) == self.canonical)
    }

    /// Returns `true` if an endpoint is this resource or below it: it has the same origin, and its path continues this
    /// path.
    #[must_use]
    pub fn contains(&self, endpoint: &str) -> bool {
        let (Ok(resource), Ok(endpoint)) = (parse_checked(&self.written), WebUrl::parse(endpoint))
        else {
            return false;
        };
        let rest = endpoint.path.strip_prefix(resource.trimmed_path());
        resource.is_same_origin(&endpoint)
            && !endpoint.has_dot_segments()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && (resource.query.is_none() || resource.query == endpoint.query)
    }
}

/// Two indicators are equal if they name the same resource.
impl PartialEq for ResourceIndicator {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

impl Eq for ResourceIndicator {}

impl fmt::Display for ResourceIndicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

fn parse_checked(text: &str) -> Result<WebUrl<'_>, InvalidUrl> {
    let url = WebUrl::parse(text)?;
    let kind = if url.has_fragment {
        InvalidUrlKind::HasFragment
    } else if url.has_dot_segments() {
        InvalidUrlKind::HasDotSegments
    } else {
        return Ok(url);
    };
    Err(InvalidUrl::new(text, kind))
}

fn canonical(url: &WebUrl<'_>, query: Option<&str>) -> String {
    let path = if url.path == "/" { "" } else { url.path };
    let query = query.map(|query| format!("?{query}"));
    format!("{}{path}{}", url.origin(), query.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn resource_has_one_canonical_spelling() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let resource = ResourceIndicator::parse(text).unwrap();
            assert_eq!((resource.as_str(), resource.canonical()), (text, expected));
        }
        check("https://mcp.example.com/mcp", "https://mcp.example.com/mcp");
        check("https://mcp.example.com", "https://mcp.example.com");
        check("https://mcp.example.com/", "https://mcp.example.com");
        check(
            "https://mcp.example.com:8443",
            "https://mcp.example.com:8443",
        );
        check(
            "https://MCP.Example.com:443/MCP",
            "https://mcp.example.com/MCP",
        );
        check("http://localhost:80/mcp/", "http://localhost/mcp/");
        check("https://a/mcp?tenant=A", "https://a/mcp?tenant=A");
        check("https://[2001:DB8::1]/", "https://[2001:db8::1]");
    }

    #[test]
    fn endpoint_resource_is_its_url_without_the_query() {
        let check = |endpoint: &str, expected: &str| {
            let resource = ResourceIndicator::of_endpoint(endpoint).unwrap();
            assert_eq!(resource.as_str(), expected);
        };
        check(
            "https://Mcp.example.com:443/mcp?key=1",
            "https://mcp.example.com/mcp",
        );
        check("http://localhost:3000/", "http://localhost:3000");
    }

    #[test]
    fn invalid_resources_are_rejected() {
        let check = |text: &str, expected: InvalidUrlKind| {
            let error = ResourceIndicator::parse(text).unwrap_err();
            assert_eq!(error.kind, expected, "{text}");
        };
        check("mcp.example.com", InvalidUrlKind::Malformed);
        check(
            "https://mcp.example.com#fragment",
            InvalidUrlKind::HasFragment,
        );
        check("https://mcp.example.com/#", InvalidUrlKind::HasFragment);
        check(
            "https://mcp.example.com/a/../b",
            InvalidUrlKind::HasDotSegments,
        );
        check("urn:mcp:server", InvalidUrlKind::Malformed);
    }

    #[test]
    fn audiences_are_compared_as_resources() {
        let check = |resource: &str, audience: &str, expected: bool| {
            let resource = ResourceIndicator::parse(resource).unwrap();
            assert_eq!(
                resource.is_named_by(audience),
                expected,
                "{resource} {audience}"
            );
        };
        check("https://a.example/mcp", "https://a.example/mcp", true);
        check("https://a.example/mcp", "HTTPS://A.EXAMPLE:443/mcp", true);
        check("https://a.example", "https://a.example/", true);
        check("https://a.example/mcp", "https://a.example", false);
        check("https://a.example/mcp", "https://a.example/mcp/", false);
        check("https://a.example/mcp", "https://a.example/MCP", false);
        check(
            "https://a.example/mcp",
            "https://a.example/mcp-other",
            false,
        );
        check(
            "https://a.example/mcp",
            "https://a.example/mcp/../mcp",
            false,
        );
        check("https://a.example/mcp", "https://a.example/mcp#a", false);
        check("https://a.example/mcp", "http://a.example/mcp", false);
        check("https://a.example/mcp", "https://a.example:8443/mcp", false);
        check(
            "https://a.example/mcp",
            "https://a.example.evil.test/mcp",
            false,
        );
        check("https://a.example/mcp", "https://user@a.example/mcp", false);
        check("https://a.example/mcp", "a.example", false);
        check("https://a.example/mcp", "", false);
    }

    #[test]
    fn resource_contains_endpoints_below_it() {
        let check = |resource: &str, endpoint: &str, expected: bool| {
            let resource = ResourceIndicator::parse(resource).unwrap();
            assert_eq!(
                resource.contains(endpoint),
                expected,
                "{resource} {endpoint}"
            );
        };
        check("https://a.example/mcp", "https://a.example/mcp", true);
        check("https://a.example", "https://a.example/mcp", true);
        check("https://a.example/", "https://a.example/mcp", true);
        check("https://A.example:443", "https://a.example", true);
        check("https://a.example/v1/", "https://a.example/v1/mcp", true);
        check("https://a.example/mcp/", "https://a.example/mcp", true);
        check("https://a.example/mcp", "https://a.example/mcp?key=1", true);
        check(
            "https://a.example/mcp?t=1",
            "https://a.example/mcp?t=1",
            true,
        );
        check(
            "https://a.example/mcp?t=1",
            "https://a.example/mcp?t=2",
            false,
        );
        check("https://a.example/mcp?t=1", "https://a.example/mcp", false);
        check("https://a.example/mcp", "https://a.example/mcp2", false);
        check("https://a.example/mcp", "https://a.example/", false);
        check(
            "https://a.example/mcp",
            "https://a.example/mcp/../other",
            false,
        );
        check("https://evil.example/mcp", "https://a.example/mcp", false);
        check("http://a.example/mcp", "https://a.example/mcp", false);
        check("https://a.example:1/mcp", "https://a.example/mcp", false);
    }

    proptest! {
        #[test]
        fn canonical_spelling_names_the_same_resource(
            text in "(https?|HTTPS)://[aB]{1,3}(:443|:80|:8080)?(/[a-zA-Z]{0,3}){0,3}(\\?[a-z]{0,3})?"
        ) {
            let resource = ResourceIndicator::parse(&text).unwrap();
            let again = ResourceIndicator::parse(resource.canonical()).unwrap();
            prop_assert_eq!(again.canonical(), resource.canonical());
            prop_assert!(resource.is_named_by(again.as_str()) && again.is_named_by(&text));
            prop_assert!(resource.contains(&text) && resource.contains(again.as_str()));
        }

        #[test]
        fn arbitrary_audience_never_panics(audience in any::<String>()) {
            let resource = ResourceIndicator::parse("https://a.example/mcp").unwrap();
            prop_assert!(!resource.is_named_by(&audience) && !resource.contains(&audience));
        }
    }
}
