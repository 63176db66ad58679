use proptest::prelude::*;

use super::*;
use crate::http::HostPolicy;

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// A server that listens on 192.0.2.7.
struct Case {
    public_hosts: &'static [&'static str],
    any_host: bool,
    allowed: &'static [&'static str],
}

const PLAIN: Case = Case {
    public_hosts: &["mcp.example.com", "one.example.com:8443"],
    any_host: false,
    allowed: &[],
};

impl Case {
    fn is_allowed(&self, origin: &str, host: &str) -> bool {
        let hosts = HostPolicy::new(&strings(self.public_hosts), self.any_host)
            .expect("the hosts are well formed");
        let host = hosts
            .check(host, "192.0.2.7".parse().ok())
            .expect("the host is served");
        let origins =
            OriginPolicy::new(&strings(self.allowed)).expect("the origins are well formed");
        origins.check(origin, &host).is_ok()
    }

    #[track_caller]
    fn check(&self, origin: &str, host: &str, expected: bool) {
        assert_eq!(
            self.is_allowed(origin, host),
            expected,
            "{origin:?} at {host:?}"
        );
    }
}

#[test]
fn local_pages_may_call_a_local_server() {
    for origin in [
        "http://localhost",
        "http://localhost:6274",
        "https://LOCALHOST:6274",
        "HTTP://127.0.0.1:1",
        "http://127.1.2.3",
        "http://[::1]:3000",
    ] {
        for host in ["localhost:3000", "127.0.0.1:3000", "[::1]"] {
            PLAIN.check(origin, host, true);
        }
        PLAIN.check(origin, "mcp.example.com", false);
        PLAIN.check(origin, "192.0.2.7", false);
    }
    PLAIN.check("http://localhost.evil.test", "localhost", false);
    PLAIN.check("http://127.0.0.1.nip.io", "127.0.0.1", false);
    PLAIN.check("ws://localhost", "localhost", false);
    PLAIN.check("ftp://localhost", "localhost", false);
}

#[test]
fn without_loopback_only_the_own_origin_may_call_the_server() {
    let check = |origin: &str, host: &str, expected: bool| {
        let hosts = HostPolicy::new(&[], false).unwrap();
        let host = hosts.check(host, None).unwrap();
        let origins = OriginPolicy::new(&strings(&["http://localhost:6274"])).unwrap();
        let origins = origins.without_loopback();
        assert_eq!(origins.check(origin, &host).is_ok(), expected, "{origin}");
    };
    check("http://localhost:3000", "localhost:3000", true);
    check("http://127.0.0.1:3000", "127.0.0.1:3000", true);
    // A listed origin.
    check("http://localhost:6274", "localhost:3000", true);
    // Another port, and another name of the same machine.
    check("http://localhost:5173", "localhost:3000", false);
    check("http://localhost", "localhost:3000", false);
    check("http://127.0.0.1:3000", "localhost:3000", false);
    check("http://[::1]:3000", "localhost:3000", false);
}

#[test]
fn pages_of_the_server_may_call_it() {
    PLAIN.check("https://mcp.example.com", "mcp.example.com", true);
    PLAIN.check("https://mcp.example.com", "MCP.example.com:443", true);
    PLAIN.check("https://mcp.example.com:443", "mcp.example.com", true);
    PLAIN.check("http://mcp.example.com", "mcp.example.com:80", true);
    PLAIN.check("http://mcp.example.com:80", "mcp.example.com", true);
    PLAIN.check("https://mcp.example.com:8443", "mcp.example.com:8443", true);
    PLAIN.check("http://192.0.2.7:3000", "192.0.2.7:3000", true);

    PLAIN.check("https://mcp.example.com", "mcp.example.com:8443", false);
    PLAIN.check("https://mcp.example.com:8443", "mcp.example.com", false);
    PLAIN.check("https://mcp.example.com", "mcp.example.com:80", false);
    PLAIN.check("http://mcp.example.com:443", "mcp.example.com", false);
    PLAIN.check("http://192.0.2.7:3001", "192.0.2.7:3000", false);
    PLAIN.check("http://192.0.2.8:3000", "192.0.2.7:3000", false);
    PLAIN.check("https://one.example.com:8443", "mcp.example.com", false);
    PLAIN.check("https://example.com", "mcp.example.com", false);
    PLAIN.check("https://a.mcp.example.com", "mcp.example.com", false);
    PLAIN.check("ws://mcp.example.com", "mcp.example.com", false);
}

#[test]
fn listed_origins_may_call_the_server() {
    let case = Case {
        allowed: &[
            "https://App.example.com",
            "http://plain.test:80",
            "https://[2001:db8::1]:8443",
            "vscode-webview://abc123",
            "tauri://localhost",
        ],
        ..PLAIN
    };
    for host in ["mcp.example.com", "localhost:3000"] {
        case.check("https://app.example.com", host, true);
        case.check("https://APP.example.com:443", host, true);
        case.check("http://plain.test", host, true);
        case.check("https://[2001:db8:0::1]:8443", host, true);
        case.check("vscode-webview://abc123", host, true);
        case.check("tauri://localhost", host, true);

        case.check("http://app.example.com", host, false);
        case.check("http://app.example.com:443", host, false);
        case.check("https://app.example.com:8443", host, false);
        case.check("https://app.example.com.evil.test", host, false);
        case.check("https://plain.test", host, false);
        case.check("https://[2001:db8::1]", host, false);
        case.check("vscode-webview://abc1234", host, false);
        case.check("vscode-webview://ABC123", host, false);
        case.check("chrome-extension://abc123", host, false);
        case.check("tauri://evil.test", host, false);
    }
}

#[test]
fn malformed_and_opaque_origins_are_rejected() {
    for origin in [
        "",
        "null",
        "NULL",
        "*",
        "evil",
        "localhost",
        "localhost:3000",
        "//localhost",
        "http:localhost",
        "http:/localhost",
        "http://",
        "https://:443",
        "file://",
        "http://localhost/",
        "http://localhost/path",
        "http://localhost?a",
        "http://localhost#a",
        "http://user@localhost",
        "http://user:password@localhost",
        "http://localhost:",
        "http://localhost:x",
        "http://localhost:99999",
        " http://localhost",
        "http://localhost ",
        "http://localhost http://localhost",
        "http://localhost, http://localhost",
        "http://2130706433",
        "http://0x7f.1",
        "http://ｌocalhost",
        "data:text/html,x",
        "javascript://localhost",
        "1http://localhost",
    ] {
        PLAIN.check(origin, "localhost", false);
    }
}

#[test]
fn policy_for_any_host_ignores_the_host_of_the_request() {
    let case = Case {
        any_host: true,
        allowed: &["https://app.example.com"],
        ..PLAIN
    };
    // A rebound name looks like this.
    case.check("http://evil.test:3000", "evil.test:3000", false);
    case.check("http://203.0.113.9", "203.0.113.9", false);
    case.check("http://localhost:1", "evil.test", false);
    case.check("http://evil.test", "localhost", false);
    case.check("http://localhost:1", "localhost:3000", true);
    case.check("https://app.example.com", "evil.test", true);
    // A proxy may send requests under its own name.
    case.check("https://mcp.example.com", "backend:3000", true);
    case.check("https://one.example.com:8443", "backend:3000", true);
    case.check("https://one.example.com", "backend:3000", false);
}

#[test]
fn error_names_the_invalid_entry() {
    for entry in [
        "",
        "*",
        "null",
        "app.example.com",
        "https://*.example.com",
        "https://app.example.com/",
        "https://app.example.com/path",
        "https://user@app.example.com",
        "tauri://a/b",
        "tauri://a@b",
    ] {
        let error =
            OriginPolicy::new(&strings(&["https://ok.test", entry])).expect_err("it is no origin");
        assert!(
            error.to_string().starts_with(&format!("{entry:?} is no")),
            "{error}"
        );
    }
}

#[test]
fn rejection_names_the_origin_and_the_remedy() {
    let hosts = HostPolicy::new(&[], false).expect("nothing is listed");
    let host = hosts.check("localhost", None).expect("it is loopback");
    let origins = OriginPolicy::new(&[]).expect("nothing is listed");
    let check = |origin: &str, expected: &str| {
        let rejected = origins.check(origin, &host).expect_err("not allowed");
        assert_eq!(rejected.to_string(), expected);
    };
    check(
        "https://evil.test",
        "origin \"https://evil.test\" is rejected: to allow it, add \
         HttpOptions::with_allowed_origins([\"https://evil.test\"])",
    );
    let malformed =
        "is rejected: it names no page that HttpOptions::with_allowed_origins could allow";
    check("null", &format!("origin \"null\" {malformed}"));
    check("\r\n", &format!("origin \"\\r\\n\" {malformed}"));
    check(
        &"x".repeat(101),
        &format!("origin \"{}…\" {malformed}", "x".repeat(100)),
    );
}

proptest! {
    #[test]
    fn untrusted_names_never_call_a_local_server(origin in "https?://[a-z0-9.@:/-]{0,20}") {
        if PLAIN.is_allowed(&origin, "localhost:3000") {
            let rest = origin.split("://").nth(1).unwrap_or_default();
            let host = rest.split(':').next().unwrap_or_default();
            let is_loopback = host
                .parse()
                .is_ok_and(|address: std::net::IpAddr| address.is_loopback());
            prop_assert!(is_loopback || host == "localhost" || host == "localhost.");
        }
    }

    #[test]
    fn checking_any_text_does_not_panic(origin in any::<String>()) {
        PLAIN.is_allowed(&origin, "localhost");
    }
}
