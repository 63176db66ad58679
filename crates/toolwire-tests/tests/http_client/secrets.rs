//! Secrets are sent only to their origin, and do not appear in errors, logs or debug output.

use serde_json::json;
use toolwire_tests::http_client_stack::raw::RawServer;
use toolwire_tests::peer::within;
use toolwire_tests::traces::Traces;

use super::fake::{Fake, builder};
use super::script::{RecordedRequest, Reply, event, legacy, modern};

const TOKEN: &str = "very-secret-token";

#[tokio::test]
async fn token_is_sent_and_never_shown() {
    let (traces, _guard) = Traces::record();
    for script in [modern as fn(&RecordedRequest) -> Reply, legacy] {
        let server = Fake::start(move |request| match request.method() {
            "tools/call" => match request.nth {
                0 => Reply::events(event("junk")).cut(),
                1 => Reply::status(401),
                2 => Reply::status(500).with("broken"),
                3 => Reply::status(404),
                _ => script(request),
            },
            _ => script(request),
        });
        let server = server.await;
        let builder = builder().with_bearer_token(TOKEN).unwrap();
        let builder = builder.with_header("X-Api-Key", TOKEN).unwrap();
        let mut shown = format!("{builder:?}");
        let client = server.connect_with(builder).await.unwrap();
        for _ in 0..6 {
            let call = client.call_tool("act", json!({}));
            shown.push_str(&format!("{call:?}"));
            if let Err(error) = within(call.into_future()).await {
                shown.push_str(&format!("{error} {error:?}"));
            }
        }
        shown.push_str(&format!("{client:?}"));
        client.close().await;
        for request in server.record.all() {
            let expected = format!("Bearer {TOKEN}");
            assert_eq!(request.header("authorization"), Some(expected.as_str()));
            assert_eq!(request.header("x-api-key"), Some(TOKEN));
        }
        assert!(!shown.contains(TOKEN), "{shown}");
    }
    let traced = traces.text();
    // There are traces, so the next assertions are meaningful.
    assert!(!traced.is_empty());
    assert!(!traced.contains(TOKEN), "{traced}");
    assert!(!traced.contains("session-1"), "{traced}");
}

#[tokio::test]
async fn later_token_replaces_an_earlier_one() {
    let server = RawServer::bind().await;
    let builder = builder()
        .with_header("Authorization", "Basic Zmlyc3Q=")
        .unwrap()
        .with_header("X-Api-Key", "key")
        .unwrap()
        .with_bearer_token("second")
        .unwrap();
    let unavailable = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let (connected, (request, _connection)) = tokio::join!(
        builder.connect(server.url("/mcp")),
        server.respond_once(unavailable)
    );
    assert_eq!(connected.unwrap_err().http_status(), Some(503));
    let sent: Vec<_> = request
        .lines()
        .filter(|line| line.starts_with("authorization: ") || line.starts_with("x-api-key: "))
        .collect();
    assert_eq!(sent.len(), 2, "{request}");
    assert!(sent.contains(&"authorization: Bearer second"), "{request}");
}

#[tokio::test]
async fn error_for_an_invalid_token_does_not_show_it() {
    let error = builder()
        .with_bearer_token("very-secret\ntoken")
        .unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("very-secret"), "{shown}");
}

#[tokio::test]
async fn error_for_a_url_with_a_password_does_not_show_it() {
    let error = builder()
        .connect("http://me:very-secret@127.0.0.1/mcp")
        .await;
    let error = error.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("very-secret"), "{shown}");
}

#[tokio::test]
async fn redirect_to_another_origin_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other_server = Fake::start(modern).await;
        let target = other_server.url();
        let server = Fake::start(move |_| Reply::status(status).with_header("location", &*target));
        let server = server.await;
        let builder = builder().with_bearer_token(TOKEN).unwrap();
        let error = server.connect_with(builder).await.unwrap_err();
        assert!(error.to_string().contains(&other_server.url()), "{error}");
        assert!(other_server.record.all().is_empty());
        assert_eq!(server.record.all().len(), 1);
    }
}

#[tokio::test]
async fn redirect_within_the_origin_is_followed_with_all_headers() {
    let server = Fake::start(|request| match &*request.target {
        "/mcp" => Reply::status(307).with_header("location", "/other"),
        _ => modern(request),
    });
    let server = server.await;
    let builder = builder().with_bearer_token(TOKEN).unwrap();
    let client = server.connect_with(builder).await.unwrap();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    let followed: Vec<_> = server
        .record
        .all()
        .into_iter()
        .filter(|request| request.target == "/other")
        .collect();
    assert_eq!(followed.len(), 2);
    for request in followed {
        assert!(request.header("authorization").is_some());
        assert_eq!(request.header("mcp-method"), Some(request.method()));
    }
}
