//! The content security policy and the permissions of a view's frame.
//!
//! The origins come from an untrusted server and end up in a header, so only unambiguous ones are used.

use toolwire_types::apps::{Csp, Permissions};

use crate::apps::InvalidView;

/// The maximum length of an origin in bytes.
const MAX_ORIGIN_BYTES: usize = 256;

/// The maximum number of origins per directive. Further ones are ignored.
const MAX_ORIGINS: usize = 64;

/// Checks the origins that an author declares for a view.
///
/// # Errors
/// Returns an error that names the first value that is not an origin.
pub fn check_csp(csp: &Csp) -> Result<(), InvalidView> {
    for (member, origins) in members(csp) {
        if let Some(invalid) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(InvalidView::new(format!(
                "{member}: {invalid:?} is not an origin; write a scheme and a host, as in `https://api.example.com` or \
                 `https://*.example.com`"
            )));
        }
        if origins.len() > MAX_ORIGINS {
            return Err(InvalidView::new(format!(
                "{member} has more than {MAX_ORIGINS} origins"
            )));
        }
    }
    Ok(())
}

/// Returns the values in the metadata of a view that [`content_security_policy`] ignores, for a warning.
#[must_use]
pub fn ignored_origins(csp: &Csp) -> Vec<&str> {
    let origins = members(csp).into_iter().flat_map(|(_, origins)| origins);
    let ignored = origins.filter(|origin| !is_origin(origin));
    ignored.map(String::as_str).collect()
}

/// Returns the content security policy of a view's document, for the header `Content-Security-Policy`.
///
/// Without declared origins, the view can use nothing but itself. Values that are not origins are ignored.
///
/// ```
/// use toolwire_proto::apps::policy::content_security_policy;
/// use toolwire_types::apps::Csp;
///
/// let policy = content_security_policy(&Csp::new().connect("https://api.example.com"));
/// assert!(policy.contains("; connect-src https://api.example.com;"));
/// ```
#[must_use]
pub fn content_security_policy(csp: &Csp) -> String {
    let connect = valid(&csp.connect_domains);
    let resource = valid(&csp.resource_domains);
    let frame = valid(&csp.frame_domains);
    let base_uri = valid(&csp.base_uri_domains);
    let mut directives = vec![
        "default-src 'none'".to_owned(),
        directive("script-src 'self' 'unsafe-inline'", &resource),
        directive("style-src 'self' 'unsafe-inline'", &resource),
        directive("img-src 'self' data:", &resource),
        directive("media-src 'self' data:", &resource),
    ];
    if !resource.is_empty() {
        directives.push(directive("font-src 'self'", &resource));
    }
    directives.push(instead_of("'none'", "connect-src", &connect));
    directives.push("object-src 'none'".to_owned());
    directives.push(instead_of("'none'", "frame-src", &frame));
    directives.push(instead_of("'self'", "base-uri", &base_uri));
    directives.push("form-action 'none'".to_owned());
    directives.join("; ")
}

/// Returns the attribute `allow` of a view's frame: the permissions that the view asks for and that the extension
/// defines. It is empty without permissions.
#[must_use]
pub fn frame_permissions(permissions: &Permissions) -> String {
    let asked = [
        (permissions.camera.is_some(), "camera *"),
        (permissions.microphone.is_some(), "microphone *"),
        (permissions.geolocation.is_some(), "geolocation *"),
        (permissions.clipboard_write.is_some(), "clipboard-write *"),
    ];
    let asked = asked.iter().filter(|(is_asked, _)| *is_asked);
    let asked: Vec<&str> = asked.map(|(_, feature)| *feature).collect();
    asked.join("; ")
}

fn members(csp: &Csp) -> [(&'static str, &[String]); 4] {
    [
        ("connectDomains", &csp.connect_domains),
        ("resourceDomains", &csp.resource_domains),
        ("frameDomains", &csp.frame_domains),
        ("baseUriDomains", &csp.base_uri_domains),
    ]
}

fn valid(origins: &[String]) -> Vec<&str> {
    let valid = origins.iter().filter(|origin| is_origin(origin));
    valid.take(MAX_ORIGINS).map(String::as_str).collect()
}

fn directive(start: &str, origins: &[&str]) -> String {
    let mut text = start.to_owned();
    for origin in origins {
        text.push(' ');
        text.push_str(origin);
    }
    text
}

fn instead_of(default: &str, name: &str, origins: &[&str]) -> String {
    if origins.is_empty() {
        format!("{name} {default}")
    } else {
        directive(name, origins)
    }
}

/// Returns `true` for a scheme, a host with an optional `*.` at the front, and an optional port.
///
/// The schemes are `https` and `wss`, and also `http` and `ws` for the local machine.
fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else {
        return false;
    };
    let (host, port) = match authority.rsplit_once(':') {
        // The last colon of an address in brackets is not that of a port.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_port = |port: &str| {
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        is_number && port.parse::<u16>().is_ok_and(|number| number > 0)
    };
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let has_host = match host.strip_prefix("*.") {
        Some(domain) => domain.contains('.') && is_domain(domain),
        None => is_local || is_domain(host),
    };
    let has_scheme = match scheme {
        "https" | "wss" => true,
        "http" | "ws" => is_local,
        _ => false,
    };
    text.len() <= MAX_ORIGIN_BYTES && has_scheme && has_host && port.is_none_or(is_port)
}

fn is_domain(host: &str) -> bool {
    host.split('.').all(|label| {
        let characters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(characters)
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_a_scheme_and_a_host() {
        let check = |text: &str, expected: bool| assert_eq!(is_origin(text), expected, "{text:?}");
        for text in [
            "https://api.example.com",
            "https://API.example.com:8443",
            "https://*.example.com",
            "wss://example.com",
            "https://203.0.113.7",
            "http://localhost",
            "http://localhost:3000",
            "ws://127.0.0.1:1",
            "http://[::1]:8080",
            "https://[::1]",
        ] {
            check(text, true);
        }
        for text in [
            "",
            "*",
            "https:",
            "https://",
            "https://*",
            "https://*.com",
            "https://a.*.example.com",
            "https://example.com/",
            "https://example.com/path",
            "https://example.com?x",
            "https://example.com#x",
            "https://user@example.com",
            "https://example.com:",
            "https://example.com:0",
            "https://example.com:65536",
            "https://example.com:+1",
            "https://example.com:8080:90",
            "https://exa mple.com",
            "https://example.com 'unsafe-eval'",
            "https://example.com; script-src *",
            "https://example.com,https://b.example",
            "https://example.com\r\nX: y",
            "https://'none'",
            "'unsafe-eval'",
            "data:",
            "blob:",
            "http://example.com",
            "ws://example.com",
            "javascript://example.com",
            "HTTPS://example.com",
            "https://-a.example",
            "https://a..b",
            "https://ä.example",
            "https://[::2]",
            "https://[::1",
        ] {
            check(text, false);
        }
        check(&format!("https://{}.example", "a".repeat(240)), true);
        check(&format!("https://{}.example", "a".repeat(241)), false);
    }

    #[test]
    fn policy_without_origins_permits_only_the_document() {
        assert_eq!(
            content_security_policy(&Csp::new()),
            "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
             img-src 'self' data:; media-src 'self' data:; connect-src 'none'; object-src 'none'; frame-src 'none'; \
             base-uri 'self'; form-action 'none'"
        );
    }

    #[test]
    fn policy_contains_declared_origins_in_their_directives() {
        let csp = Csp::new()
            .connect("https://a.example")
            .connect("wss://b.example")
            .resource("https://c.example")
            .frame("https://d.example")
            .base_uri("https://e.example");
        assert_eq!(
            content_security_policy(&csp),
            "default-src 'none'; script-src 'self' 'unsafe-inline' https://c.example; \
             style-src 'self' 'unsafe-inline' https://c.example; img-src 'self' data: https://c.example; \
             media-src 'self' data: https://c.example; font-src 'self' https://c.example; \
             connect-src https://a.example wss://b.example; object-src 'none'; frame-src https://d.example; \
             base-uri https://e.example; form-action 'none'"
        );
    }

    #[test]
    fn hostile_origins_do_not_reach_the_policy() {
        let hostile = [
            "*",
            "https://a.example; script-src *",
            "'unsafe-eval'",
            "x\r\ny: z",
        ];
        let csp = hostile.iter().fold(Csp::new(), |csp, origin| {
            csp.connect(*origin)
                .resource(*origin)
                .frame(*origin)
                .base_uri(*origin)
        });
        assert_eq!(
            content_security_policy(&csp),
            content_security_policy(&Csp::new())
        );
        assert_eq!(ignored_origins(&csp).len(), 4 * hostile.len());
        let many = (0..=MAX_ORIGINS).fold(Csp::new(), |csp, number| {
            csp.connect(format!("https://a{number}.example"))
        });
        let policy = content_security_policy(&many);
        assert!(policy.contains("https://a63.example;") && !policy.contains("https://a64.example"));
    }

    #[test]
    fn declared_origins_are_checked() {
        let check = |csp: Csp, expected: &str| {
            let message = check_csp(&csp).err().map(|error| error.to_string());
            assert_eq!(message.unwrap_or_default(), expected);
        };
        check(Csp::new().connect("https://a.example"), "");
        check(
            Csp::new().frame("a.example"),
            "frameDomains: \"a.example\" is not an origin; write a scheme and a host, as in `https://api.example.com` or \
             `https://*.example.com`",
        );
        let many = (0..=MAX_ORIGINS).fold(Csp::new(), |csp, _| csp.resource("https://a.example"));
        check(many, "resourceDomains has more than 64 origins");
    }

    #[test]
    fn permissions_become_the_attribute_of_the_frame() {
        assert_eq!(frame_permissions(&Permissions::new()), "");
        let all = Permissions::new()
            .with_camera()
            .with_microphone()
            .with_geolocation()
            .with_clipboard_write();
        assert_eq!(
            frame_permissions(&all),
            "camera *; microphone *; geolocation *; clipboard-write *"
        );
    }
}
