//! What is secret stays between the client and the origin it is meant for.

use serde_json::json;

use super::fake::{Fake, builder};
use super::script::{Reply, Seen, event, legacy, modern};
use crate::peer::within;
use crate::traces::Traces;

const TOKEN: &str = "very-secret-token";

#[tokio::test]
async fn a_token_is_sent_and_never_shown() {
    let (traces, _writing) = Traces::write_down();
    for script in [modern as fn(&Seen) -> Reply, legacy] {
        let server = Fake::start(move |seen| match seen.method() {
            "tools/call" => match seen.nth {
                0 => Reply::events(event("junk")).cut(),
                1 => Reply::status(401),
                2 => Reply::status(500).with("broken"),
                3 => Reply::status(404),
                _ => script(seen),
            },
            _ => script(seen),
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
        for seen in server.record.all() {
            let expected = format!("Bearer {TOKEN}");
            assert_eq!(seen.header("authorization"), Some(expected.as_str()));
            assert_eq!(seen.header("x-api-key"), Some(TOKEN));
        }
        assert!(!shown.contains(TOKEN), "{shown}");
    }
    let traced = traces.text();
    // Something was traced, so this can fail.
    assert!(!traced.is_empty());
    assert!(!traced.contains(TOKEN), "{traced}");
    assert!(!traced.contains("session-1"), "{traced}");
}

#[tokio::test]
async fn a_token_that_no_header_can_carry_is_refused_without_being_shown() {
    let error = builder()
        .with_bearer_token("very-secret\ntoken")
        .unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("very-secret"), "{shown}");
}

#[tokio::test]
async fn a_url_with_a_password_is_refused_without_being_shown() {
    let error = builder()
        .connect("http://me:very-secret@127.0.0.1/mcp")
        .await;
    let error = error.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("very-secret"), "{shown}");
}

#[tokio::test]
async fn a_redirect_to_another_origin_leaks_nothing() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Fake::start(modern).await;
        let target = elsewhere.url();
        let server = Fake::start(move |_| Reply::status(status).with_header("location", &*target));
        let server = server.await;
        let builder = builder().with_bearer_token(TOKEN).unwrap();
        let error = server.connect_with(builder).await.unwrap_err();
        assert!(error.to_string().contains(&elsewhere.url()), "{error}");
        assert!(elsewhere.record.all().is_empty());
        assert_eq!(server.record.all().len(), 1);
    }
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_everything() {
    let server = Fake::start(|seen| match &*seen.target {
        "/mcp" => Reply::status(307).with_header("location", "/other"),
        _ => modern(seen),
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
        .filter(|seen| seen.target == "/other")
        .collect();
    assert_eq!(followed.len(), 2);
    for seen in followed {
        assert!(seen.header("authorization").is_some());
        assert_eq!(seen.header("mcp-method"), Some(seen.method()));
    }
}
