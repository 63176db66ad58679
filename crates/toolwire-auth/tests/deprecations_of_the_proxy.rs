//! The warning of the OAuth proxy about dynamic client registration. It has its own test program, because a process warns
//! once.

use serde_json::json;
use toolwire::transport::http::HttpOptions;
use toolwire_auth::{OAuthProxyConfig, Upstream};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::server;
use toolwire_tests::traces::Traces;

#[tokio::test]
async fn first_registration_warns() {
    let (traces, _guard) = Traces::record();
    let upstream = Upstream::github("Iv1.a", "secret");
    let proxy = OAuthProxyConfig::new("https://mcp.example.com/mcp", upstream)
        .build()
        .unwrap();
    let options = HttpOptions::new()
        .with_public_hosts(["mcp.example.com"])
        .with_authorizer(proxy);
    let endpoint = Endpoint::serve_with(&server(), options).await;
    let warnings = || {
        let text = traces.text();
        text.matches("dynamic client registration: deprecated")
            .count()
    };
    assert_eq!(warnings(), 0);
    for _ in 0..2 {
        let metadata = json!({"redirect_uris": ["https://app.example.com/callback"]});
        let registration = Request::new("POST")
            .with_target("/register")
            .with("Content-Type", "application/json")
            .with_body(metadata.to_string());
        let response = endpoint.request(&registration).await;
        assert_eq!(response.status(), 201, "{}", response.text());
        assert_eq!(warnings(), 1, "{}", traces.text());
    }
}
