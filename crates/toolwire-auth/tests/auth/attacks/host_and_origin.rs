//! DNS rebinding and cross-origin requests: `Host` and `Origin` are checked before anything else.

use super::fixture::{AttackFixture, ReceivedResponse};
use super::routers::ROUTERS;

const EVIL_HOSTS: [&str; 8] = [
    "evil.test",
    "evil.test:80",
    "localhost.evil.test",
    "127.0.0.1.nip.io",
    "mcp.example.com",
    "10.0.0.1",
    "0.0.0.0",
    "[::2]",
];

#[track_caller]
fn assert_rejected(
    fixture: &AttackFixture,
    response: &ReceivedResponse,
    status: u16,
    context: &str,
) {
    let name = fixture.router.name;
    assert_eq!(
        response.status, status,
        "{name}: {context}: {}",
        response.text
    );
    for header in [
        "mcp-session-id",
        "access-control-allow-origin",
        "www-authenticate",
        "allow",
    ] {
        assert_eq!(response.header(header), None, "{name}: {context}: {header}");
    }
    assert_eq!(fixture.runs(), 0, "{name}: {context}");
}

#[tokio::test]
async fn request_with_an_unknown_host_returns_403() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture.operations() {
            let valid = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            for host in EVIL_HOSTS {
                let context = format!("{} at {host}", operation.name);
                let response = fixture
                    .response_to(&valid.clone().replacing("Host", host))
                    .await;
                assert_rejected(&fixture, &response, 403, &context);
            }
            let unknown_path = valid
                .clone()
                .replacing("Host", "evil.test")
                .with_target("/elsewhere");
            assert_rejected(
                &fixture,
                &fixture.response_to(&unknown_path).await,
                403,
                operation.name,
            );
        }
    }
}

#[tokio::test]
async fn absolute_target_with_an_unknown_host_returns_403() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture.operations() {
            let valid = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            let path = valid.target().to_owned();
            let evil = valid.with_target(format!("http://evil.test{path}"));
            assert_rejected(
                &fixture,
                &fixture.response_to(&evil).await,
                403,
                operation.name,
            );
        }
    }
}

#[tokio::test]
async fn request_with_two_hosts_returns_400() {
    for router in ROUTERS
        .iter()
        .filter(|router| router.entry_point.allows_two_hosts())
    {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture.operations() {
            let valid = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            for second in ["localhost", "evil.test"] {
                let response = fixture
                    .response_to(&valid.clone().with("Host", second))
                    .await;
                assert_rejected(&fixture, &response, 400, operation.name);
            }
        }
    }
}

#[tokio::test]
async fn cross_origin_request_with_a_valid_token_returns_403() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture.operations() {
            let valid = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            for origin in [
                "https://evil.test",
                "null",
                "",
                "http://localhost.evil.test",
                "https://mcp.example.com",
                "file://",
            ] {
                let context = format!("{} from {origin:?}", operation.name);
                let cross_origin = if valid.has("Origin") {
                    valid.clone().replacing("Origin", origin)
                } else {
                    valid.clone().with("Origin", origin)
                };
                let response = fixture.response_to(&cross_origin).await;
                // The metadata is public, so every origin may read it.
                if operation.name.starts_with("metadata") {
                    assert_eq!(response.status, 200, "{context}");
                    let allowed = response.header("access-control-allow-origin");
                    assert_eq!(allowed, Some("*"), "{context}");
                    continue;
                }
                assert_rejected(&fixture, &response, 403, &context);
            }
        }
    }
}

#[tokio::test]
async fn body_of_a_simple_cors_request_returns_415() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture.operations().filter(|operation| operation.has_body) {
            let valid = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            for content_type in [
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
                "text/plain; application/json",
                "",
            ] {
                let simple = valid.clone().replacing("Content-Type", content_type);
                let context = format!("{} as {content_type:?}", operation.name);
                assert_rejected(&fixture, &fixture.response_to(&simple).await, 415, &context);
            }
            let untyped = valid.without("Content-Type");
            assert_rejected(
                &fixture,
                &fixture.response_to(&untyped).await,
                415,
                operation.name,
            );
        }
    }
}
