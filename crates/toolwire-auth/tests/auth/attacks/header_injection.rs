//! Header injection: values of a request do not appear in the headers of a response.

use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::Connection;

use super::entry_points::EntryPoint;
use super::fixture::{AttackFixture, ReceivedResponse};
use super::routers::ROUTERS;

const MARKER: &str = "injected";

#[track_caller]
fn assert_not_reflected(fixture: &AttackFixture, response: &ReceivedResponse, context: &str) {
    for (name, value) in &response.headers {
        let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        let line = format!("{name}: {value}");
        assert!(
            !line.contains(MARKER),
            "{}: {context}: {line}",
            fixture.router.name
        );
    }
}

fn replacing(request: &Request, name: &str, value: &str) -> Request {
    if request.has(name) {
        request.clone().replacing(name, value)
    } else {
        request.clone().with(name, value)
    }
}

#[tokio::test]
async fn request_values_do_not_appear_in_response_headers() {
    // Bytes that are valid in a header value, with escapes that another parser might decode.
    let value = format!("a\u{ff}\t%0d%0aX-Evil: \", error=\"{MARKER}");
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture.operations() {
            let valid = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            for name in [
                "Mcp-Session-Id",
                "Last-Event-ID",
                "MCP-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
                "Origin",
                "Authorization",
                "Content-Type",
                "Accept",
                "X-Forwarded-Host",
            ] {
                for value in [MARKER, &value] {
                    let context = format!("{}: {name}: {value:?}", operation.name);
                    let response = fixture.response_to(&replacing(&valid, name, value)).await;
                    assert_not_reflected(&fixture, &response, &context);
                }
            }
            let target = valid.target().to_owned();
            let separator = if target.contains('?') { '&' } else { '?' };
            for query in [
                format!("sessionId=x%0d%0aX-Evil:%20{MARKER}"),
                format!("{MARKER}=1"),
            ] {
                let with_query = valid
                    .clone()
                    .with_target(format!("{target}{separator}{query}"));
                assert_not_reflected(
                    &fixture,
                    &fixture.response_to(&with_query).await,
                    operation.name,
                );
            }
            let unknown_path = valid.clone().with_target(format!("/{MARKER}"));
            assert_not_reflected(
                &fixture,
                &fixture.response_to(&unknown_path).await,
                operation.name,
            );
        }
    }
}

#[tokio::test]
async fn line_break_or_nul_in_a_header_returns_400() {
    for router in ROUTERS
        .iter()
        .filter(|router| router.entry_point == EntryPoint::Http1)
    {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture.operations() {
            let valid = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            for value in ["a\rX-Evil: 1", "a\0b", "a\nX-Evil 1"] {
                for name in ["Mcp-Session-Id", "Last-Event-ID", "X-Any"] {
                    let bad = replacing(&valid, name, value);
                    let mut connection = Connection::connect(fixture.endpoint.address).await;
                    connection.send_if_possible(bad.bytes()).await;
                    let headers = connection.headers_unless_closed().await;
                    let status = headers.map(|headers| headers.status);
                    assert_eq!(status, Some(400), "{}: {name}: {value:?}", operation.name);
                }
            }
        }
        assert_eq!(fixture.runs(), 0);
    }
}
