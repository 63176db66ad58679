//! The warning about dynamic client registration. It has its own test program, because a process warns once.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use toolwire::transport::http_client::HttpClient as _;
use toolwire_tests::traces::Traces;

use fake_servers::{FakeServers, call};

#[expect(dead_code, reason = "this program needs a part of the fake servers")]
#[path = "auth/client/fake_servers.rs"]
mod fake_servers;

#[tokio::test]
async fn dynamic_registration_warns_once_per_process() {
    let (traces, _guard) = Traces::record();
    for registrations in 1..=2 {
        let servers = FakeServers::default();
        let client = servers.client(servers.oauth());
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
        assert_eq!(servers.request_count("POST /register"), 1);
        let text = traces.text();
        let warnings = text
            .matches("dynamic client registration: deprecated")
            .count();
        assert_eq!(warnings, 1, "after {registrations} registrations: {text}");
        assert!(text.contains("MCP 2026-07-28 (PR 2858)"), "{text}");
        assert!(text.contains("client ID metadata documents"), "{text}");
    }
}
