//! Handles of other users: sessions, events and streams. The responses are those for unknown handles, and the owner is
//! not affected.

use serde_json::{Value, json};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::{call, legacy};

use super::entry_points::next_chunk;
use super::fixture::AttackFixture;
use super::routers::{Handles, ROUTERS, VERSION};

#[tokio::test]
async fn handle_of_another_user_gets_the_response_for_an_unknown_handle() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        let unknown_handles = fixture.ann.unknown();
        for operation in fixture
            .operations()
            .filter(|operation| operation.needs_handle)
        {
            let context = format!("{}: {}", router.name, operation.name);
            let of_other_user = fixture.with_token_of("bob", (operation.request)(&fixture.ann));
            let unknown = fixture.with_token_of("bob", (operation.request)(&unknown_handles));
            let (of_other_user, unknown) = (
                fixture.response_to(&of_other_user).await,
                fixture.response_to(&unknown).await,
            );
            assert_eq!(
                of_other_user.status, 404,
                "{context}: {}",
                of_other_user.text
            );
            assert_eq!(of_other_user.shape(), unknown.shape(), "{context}");
            // A handle does not replace the token.
            let without_token = fixture
                .response_to(&(operation.request)(&fixture.ann))
                .await;
            assert_eq!(
                without_token.status, 401,
                "{context}: {}",
                without_token.text
            );
        }
        assert_eq!(fixture.runs(), 0, "{}", router.name);
        // The owner can still use the handle.
        for operation in fixture
            .operations()
            .filter(|operation| operation.needs_handle)
        {
            let own = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            let response = fixture.response_to(&own).await;
            assert!(
                response.status.is_success(),
                "{}: {}",
                operation.name,
                response.text
            );
        }
    }
}

#[tokio::test]
async fn event_ids_of_another_user_get_the_response_for_unknown_and_malformed_ids() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        if !fixture.has("resumed stream") {
            continue;
        }
        let bob = fixture.open_session("bob").await;
        let (stream, _) = fixture.ann.event.split_once('.').unwrap();
        let own = bob.event.split_once('.').unwrap().0;
        let unknown = fixture.ann.unknown().event;
        let mut shapes = Vec::new();
        for event in [
            &fixture.ann.event,
            &format!("{stream}.0"),
            &unknown,
            &format!("{own}.99999999999999999999999"),
            &format!("{own}.-1"),
            &format!("{own}.1.1"),
            own,
            ".1",
            "1",
            "../../etc/passwd",
            "%00",
        ] {
            let resume = Request::get(&bob.session, VERSION).with("Last-Event-ID", event);
            let response = fixture
                .response_to(&fixture.with_token_of("bob", resume))
                .await;
            assert_eq!(
                response.status, 400,
                "{}: {event}: {}",
                router.name, response.text
            );
            let (status, headers, text) = response.shape();
            shapes.push((status, headers, text.to_owned()));
        }
        shapes.dedup();
        assert_eq!(shapes.len(), 1, "{}: {shapes:?}", router.name);
    }
}

#[tokio::test]
async fn client_cannot_choose_a_session_id() {
    let chosen = "c".repeat(43);
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        if fixture.has("stream of a session") {
            let fixed = initialize_request(VERSION).with("Mcp-Session-Id", &*chosen);
            let response = fixture
                .response_to(&fixture.with_token_of("ann", fixed))
                .await;
            let given = response.header("mcp-session-id");
            assert!(given != Some(&*chosen), "{}: {given:?}", router.name);
            assert!(given.is_none_or(|id| id.len() >= 43), "{given:?}");
            let ping = Request::post(&legacy(1, "ping", json!({}))).in_session(&chosen, VERSION);
            let response = fixture
                .response_to(&fixture.with_token_of("ann", ping))
                .await;
            assert_eq!(response.status, 404, "{}", router.name);
        }
        if fixture.has("HTTP+SSE stream") {
            let open = Request::new("GET")
                .with_target(format!("/sse?sessionId={chosen}"))
                .with("Accept", "text/event-stream");
            let opened = fixture.send(&fixture.with_token_of("ann", open)).await;
            let address = format!("/message?sessionId={chosen}");
            let ping = Request::post(&legacy(1, "ping", json!({}))).with_target(address);
            let response = fixture
                .response_to(&fixture.with_token_of("ann", ping))
                .await;
            assert_eq!(response.status, 404, "{}", router.name);
            drop(opened);
        }
    }
}

#[tokio::test]
async fn second_stream_does_not_take_over_the_first() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        if !fixture.has("stream of a session") {
            continue;
        }
        let get = |handles: &Handles| Request::get(&handles.session, VERSION);
        let first = fixture
            .send(&fixture.with_token_of("ann", get(&fixture.ann)))
            .await;
        let mut first = Box::pin(first.into_body());
        next_chunk(&mut first).await.unwrap();
        let stolen = fixture
            .response_to(&fixture.with_token_of("bob", get(&fixture.ann)))
            .await;
        assert_eq!(stolen.status, 404, "{}", router.name);
        let second = fixture
            .send(&fixture.with_token_of("ann", get(&fixture.ann)))
            .await;
        assert_eq!(second.status(), 200, "{}", router.name);
        drop(second);
        fixture.endpoint.server.tools_changed();
        let mut text = String::new();
        while !text.contains("list_changed") {
            let chunk = next_chunk(&mut first).await;
            text += &chunk.unwrap_or_else(|| panic!("{}: the stream ended", router.name));
        }
    }
}

#[tokio::test]
async fn request_state_of_another_user_is_rejected() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        let call_keep = async |user: &str, state: Option<&str>| -> Value {
            let mut message = call(7, "keep", json!({}));
            if let Some(state) = state {
                message["params"]["requestState"] = json!(state);
            }
            let response = fixture
                .response_to(&fixture.with_token_of(user, Request::modern(&message)))
                .await;
            serde_json::from_str(&response.text).unwrap()
        };
        let mut response = call_keep("ann", None).await;
        let state = response["result"]["requestState"].take();
        let state = state.as_str().unwrap();
        let unknown = "x".repeat(state.len());
        let of_other_user = call_keep("bob", Some(state)).await;
        assert_eq!(of_other_user["error"]["code"], -32602, "{}", router.name);
        assert_eq!(of_other_user, call_keep("bob", Some(&unknown)).await);
        let own = call_keep("ann", Some(state)).await;
        assert!(own["result"].is_object(), "{}: {own}", router.name);
    }
}
