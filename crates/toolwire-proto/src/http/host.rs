//! The guard against DNS rebinding: a server accepts only requests for hosts that are known to be its own.
//!
//! A web page can resolve a name of its own to any address, for example to the user's machine. Its scripts are then
//! same-origin with the server that listens there. The `Host` header reveals the untrusted name. Names are compared as a
//! whole, after parsing, and never by prefix or suffix.

use std::fmt;
use std::net::IpAddr;

use crate::http::authority::{Authority, Host};
use crate::http::truncated_for_display;

/// The hosts that a server accepts in requests.
#[derive(Debug, Clone)]
pub struct HostPolicy {
    public: Vec<Authority<'static>>,
    any: bool,
}

impl HostPolicy {
    /// Creates a policy that accepts `localhost`, the server's own addresses and the listed hosts: `mcp.example.com` on
    /// every port, `mcp.example.com:8443` on one. If `any` is set, every well-formed host is accepted.
    ///
    /// # Errors
    /// Returns an error if an entry is not a host with an optional port.
    pub fn new(public_hosts: &[String], any: bool) -> Result<Self, InvalidHost> {
        let public = public_hosts.iter().map(|entry| {
            Authority::parse(entry)
                .map(Authority::into_owned)
                .ok_or_else(|| InvalidHost {
                    entry: entry.clone(),
                })
        });
        Ok(Self {
            public: public.collect::<Result<_, _>>()?,
            any,
        })
    }

    /// Checks the value of a `Host` header. `local_ip` is the server's address of the connection.
    ///
    /// # Errors
    /// Returns an error if the value is malformed or the server is not known under that host.
    pub fn check<'a>(
        &'a self,
        host_header: &'a str,
        local_ip: Option<IpAddr>,
    ) -> Result<ServedHost<'a>, HostError> {
        let rejected = |host| HostError {
            header: truncated_for_display(host_header),
            host,
        };
        let authority = Authority::parse(host_header).ok_or_else(|| rejected(None))?;
        let is_served = self.any
            || authority.host.is_loopback()
            || is_local(&authority.host, local_ip)
            || self.lists(&authority.host, authority.port);
        if !is_served {
            return Err(rejected(Some(truncated_for_display(
                &authority.host.to_string(),
            ))));
        }
        Ok(ServedHost {
            authority,
            policy: self,
        })
    }

    /// Returns `true` if the host is listed, for this port or for every port.
    fn lists(&self, host: &Host<'_>, port: Option<u16>) -> bool {
        self.public
            .iter()
            .any(|entry| entry.host == *host && (entry.port.is_none() || entry.port == port))
    }
}

/// Returns `true` if the host is the local address of the connection. A page loaded from an address cannot use a forged
/// name. The unspecified address never matches.
fn is_local(host: &Host<'_>, local_ip: Option<IpAddr>) -> bool {
    match (host, local_ip) {
        (Host::Address(address), Some(local)) => {
            !local.is_unspecified() && *address == local.to_canonical()
        }
        _ => false,
    }
}

/// The host of a request after [`HostPolicy::check`], with which an origin is compared.
#[derive(Debug, Clone)]
pub struct ServedHost<'a> {
    authority: Authority<'a>,
    policy: &'a HostPolicy,
}

impl ServedHost<'_> {
    pub(super) fn is_loopback(&self) -> bool {
        self.authority.host.is_loopback()
    }

    /// Returns `true` if a page of this host and port is a page of the server itself.
    ///
    /// Without a port in the `Host` header, the default port of the page's scheme applies, because the scheme of the
    /// request is unknown behind a proxy. If every host is accepted, the host of the request proves nothing, and only
    /// listed hosts are the server's own.
    pub(super) fn is_origin_of(&self, host: &Host<'_>, port: u16, default_port: u16) -> bool {
        if self.policy.any {
            return self.policy.lists(host, Some(port));
        }
        self.authority.host == *host && self.authority.port.unwrap_or(default_port) == port
    }
}

/// An entry of the list of public hosts that is not a valid host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidHost {
    entry: String,
}

impl fmt::Display for InvalidHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no host: write a name (international ones as xn--…) or an address, IPv6 in brackets, and perhaps \
             a port, without scheme, path or wildcard",
            self.entry
        )
    }
}

impl std::error::Error for InvalidHost {}

/// A request for a host under which the server is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    header: String,
    /// The host to list. `None` if the header is malformed.
    host: Option<String>,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {:?} is rejected: ", self.header)?;
        match &self.host {
            Some(host) => write!(
                f,
                "if it is a public name of this server, add HttpOptions::with_public_hosts([{host:?}])"
            ),
            None => f.write_str(
                "it is not a name or an address with an optional port, as HttpOptions::with_public_hosts lists them",
            ),
        }
    }
}

impl std::error::Error for HostError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(hosts: &[&str], any: bool) -> HostPolicy {
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        HostPolicy::new(&hosts, any).expect("the hosts are well formed")
    }

    #[track_caller]
    fn check(hosts: &[&str], header: &str, expected: bool) {
        let policy = policy(hosts, false);
        let local = "192.0.2.7".parse().ok();
        assert_eq!(policy.check(header, local).is_ok(), expected, "{header:?}");
    }

    #[test]
    fn loopback_and_the_local_address_need_no_listing() {
        for header in [
            "localhost",
            "LocalHost:8080",
            "localhost.",
            "127.0.0.1",
            "127.0.0.1:3000",
            "127.255.255.254",
            "[::1]",
            "[::1]:3000",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]:3000",
            "192.0.2.7",
            "192.0.2.7:3000",
            "[::ffff:192.0.2.7]",
        ] {
            check(&[], header, true);
        }
    }

    #[test]
    fn names_similar_to_own_hosts_are_rejected() {
        for header in [
            "",
            " ",
            "evil.test",
            "localhost.evil.test",
            "evil.localhost",
            "notlocalhost",
            "127.0.0.1.nip.io",
            "127-0-0-1.nip.io",
            "192.0.2.7.nip.io",
            "192.0.2.8",
            "0.0.0.0",
            "[::]",
            "[::127.0.0.1]",
            "128.0.0.1",
            "evil@localhost",
            "localhost@evil.test",
            "localhost:abc",
            "localhost:",
            "localhost evil.test",
            "localhost, evil.test",
            "localhost\0.evil.test",
            "localhost/evil.test",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "１２７.0.0.1",
            "http://localhost",
        ] {
            check(&[], header, false);
        }
    }

    #[test]
    fn listed_hosts_are_accepted_on_their_ports() {
        let hosts = &[
            "MCP.example.com",
            "api.example.com:8443",
            "dotted.test.",
            "[2001:db8::1]:80",
        ];
        check(hosts, "mcp.example.com", true);
        check(hosts, "mcp.EXAMPLE.com:1", true);
        check(hosts, "mcp.example.com.:443", true);
        check(hosts, "api.example.com:8443", true);
        check(hosts, "dotted.test", true);
        check(hosts, "[2001:db8:0::1]:80", true);
        check(hosts, "api.example.com", false);
        check(hosts, "api.example.com:443", false);
        check(hosts, "a.mcp.example.com", false);
        check(hosts, "mcp.example.com.evil.test", false);
        check(hosts, "mcp.example.co", false);
        check(hosts, "example.com", false);
        check(hosts, "[2001:db8::1]", false);
    }

    #[test]
    fn unknown_or_unspecified_local_address_permits_no_address() {
        let policy = policy(&[], false);
        assert!(policy.check("192.0.2.7", None).is_err());
        let unspecified = "0.0.0.0".parse().ok();
        assert!(policy.check("0.0.0.0", unspecified).is_err());
        let mapped = "::ffff:192.0.2.7".parse().ok();
        assert!(policy.check("192.0.2.7", mapped).is_ok());
    }

    #[test]
    fn any_host_must_be_well_formed() {
        let policy = policy(&[], true);
        assert!(policy.check("evil.test:99", None).is_ok());
        assert!(policy.check("203.0.113.9", None).is_ok());
        assert!(policy.check("evil@localhost", None).is_err());
        assert!(policy.check("", None).is_err());
    }

    #[test]
    fn error_names_the_invalid_entry() {
        for entry in [
            "",
            "https://a.test",
            "a.test/mcp",
            "*.a.test",
            "*",
            "::1",
            "ü.test",
        ] {
            let error = HostPolicy::new(&["ok.test".to_owned(), entry.to_owned()], false)
                .expect_err("it is no host");
            assert!(
                error.to_string().starts_with(&format!("{entry:?} is no")),
                "{error}"
            );
        }
    }

    #[test]
    fn rejection_names_the_host_and_the_remedy() {
        #[track_caller]
        fn check(header: &str, expected: &str) {
            let policy = policy(&[], false);
            let rejected = policy.check(header, None).expect_err("unknown");
            assert_eq!(rejected.to_string(), expected);
        }
        check(
            "MCP.test:80",
            "host \"MCP.test:80\" is rejected: if it is a public name of this server, add \
             HttpOptions::with_public_hosts([\"MCP.test\"])",
        );
        let malformed = "is rejected: it is not a name or an address with an optional port, as \
                         HttpOptions::with_public_hosts lists them";
        check(
            "a\u{1b}[2J\n\"",
            &format!(r#"host "a\u{{1b}}[2J\n\"" {malformed}"#),
        );
        let long = "ü".repeat(5000);
        check(&long, &format!("host \"{}…\" {malformed}", "ü".repeat(100)));
    }

    proptest! {
        #[test]
        fn unlisted_names_are_rejected(header in "[a-zA-Z0-9.:@_ -]{0,20}") {
            let policy = policy(&[], false);
            if policy.check(&header, None).is_ok() {
                let host = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
                let is_loopback = host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
                prop_assert!(is_loopback || host == "localhost" || host == "localhost.");
            }
        }

        #[test]
        fn checking_any_text_does_not_panic(header in any::<String>()) {
            let policy = policy(&["a.test"], false);
            if let Err(rejected) = policy.check(&header, None) {
                prop_assert!(!rejected.to_string().contains(char::is_control));
            }
        }
    }
}
