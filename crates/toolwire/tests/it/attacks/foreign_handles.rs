//! Handles of somebody else: sessions, events, streams. They look as if they did not exist, and their owner notices nothing.

use serde_json::{Value, json};

use super::house::House;
use super::routers::{Handles, ROUTERS, VERSION};
use super::ways::next_chunk;
use crate::http::request::Request;
use crate::http::session::initialize_request;
use crate::peer::{call, legacy};

#[tokio::test]
async fn a_handle_of_somebody_else_gets_the_bytes_of_an_invented_one() {
    for router in ROUTERS {
        let house = House::open(router).await;
        let invented = house.ann.invented();
        for entrance in house.entrances().filter(|one| one.needs_handle) {
            let what = format!("{}: {}", router.name, entrance.name);
            let foreign = house.by("bob", (entrance.request)(&house.ann));
            let unknown = house.by("bob", (entrance.request)(&invented));
            let (foreign, unknown) = (house.ask(&foreign).await, house.ask(&unknown).await);
            assert_eq!(foreign.status, 404, "{what}: {}", foreign.text);
            assert_eq!(foreign.shape(), unknown.shape(), "{what}");
            // A handle is no token.
            let alone = house.ask(&(entrance.request)(&house.ann)).await;
            assert_eq!(alone.status, 401, "{what}: {}", alone.text);
        }
        assert_eq!(house.runs(), 0, "{}", router.name);
        // It is still hers.
        for entrance in house.entrances().filter(|one| one.needs_handle) {
            let own = house.by("ann", (entrance.request)(&house.ann));
            let reply = house.ask(&own).await;
            assert!(
                reply.status.is_success(),
                "{}: {}",
                entrance.name,
                reply.text
            );
        }
    }
}

#[tokio::test]
async fn events_that_are_foreign_unknown_or_malformed_get_the_same_bytes() {
    for router in ROUTERS {
        let house = House::open(router).await;
        if !house.has("stream that is resumed") {
            continue;
        }
        let bob = house.settle("bob").await;
        let (stream, _) = house.ann.event.split_once('.').unwrap();
        let own = bob.event.split_once('.').unwrap().0;
        let invented = house.ann.invented().event;
        let mut shapes = Vec::new();
        for event in [
            &house.ann.event,
            &format!("{stream}.0"),
            &invented,
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
            let reply = house.ask(&house.by("bob", resume)).await;
            assert_eq!(
                reply.status, 400,
                "{}: {event}: {}",
                router.name, reply.text
            );
            let (status, headers, text) = reply.shape();
            shapes.push((status, headers, text.to_owned()));
        }
        shapes.dedup();
        assert_eq!(shapes.len(), 1, "{}: {shapes:?}", router.name);
    }
}

#[tokio::test]
async fn the_id_of_a_session_is_never_the_choice_of_its_client() {
    let chosen = "c".repeat(43);
    for router in ROUTERS {
        let house = House::open(router).await;
        if house.has("stream of a session") {
            let fixed = initialize_request(VERSION).with("Mcp-Session-Id", &*chosen);
            let reply = house.ask(&house.by("ann", fixed)).await;
            let given = reply.header("mcp-session-id");
            assert!(given != Some(&*chosen), "{}: {given:?}", router.name);
            assert!(given.is_none_or(|id| id.len() >= 43), "{given:?}");
            let ping = Request::post(&legacy(1, "ping", json!({}))).in_session(&chosen, VERSION);
            let reply = house.ask(&house.by("ann", ping)).await;
            assert_eq!(reply.status, 404, "{}", router.name);
        }
        if house.has("old stream") {
            let open = Request::new("GET")
                .with_target(format!("/sse?sessionId={chosen}"))
                .with("Accept", "text/event-stream");
            let opened = house.send(&house.by("ann", open)).await;
            let address = format!("/message?sessionId={chosen}");
            let ping = Request::post(&legacy(1, "ping", json!({}))).with_target(address);
            let reply = house.ask(&house.by("ann", ping)).await;
            assert_eq!(reply.status, 404, "{}", router.name);
            drop(opened);
        }
    }
}

#[tokio::test]
async fn nobody_takes_over_a_stream_by_opening_another() {
    for router in ROUTERS {
        let house = House::open(router).await;
        if !house.has("stream of a session") {
            continue;
        }
        let get = |handles: &Handles| Request::get(&handles.session, VERSION);
        let first = house.send(&house.by("ann", get(&house.ann))).await;
        let mut first = Box::pin(first.into_body());
        next_chunk(&mut first).await.unwrap();
        let stolen = house.ask(&house.by("bob", get(&house.ann))).await;
        assert_eq!(stolen.status, 404, "{}", router.name);
        let second = house.send(&house.by("ann", get(&house.ann))).await;
        assert_eq!(second.status(), 200, "{}", router.name);
        drop(second);
        house.endpoint.server.tools_changed();
        let mut text = String::new();
        while !text.contains("list_changed") {
            let chunk = next_chunk(&mut first).await;
            text += &chunk.unwrap_or_else(|| panic!("{}: the stream is gone", router.name));
        }
    }
}

#[tokio::test]
async fn the_state_of_somebody_else_does_not_open() {
    for router in ROUTERS {
        let house = House::open(router).await;
        let keep = async |who: &str, state: Option<&str>| -> Value {
            let mut message = call(7, "keep", json!({}));
            if let Some(state) = state {
                message["params"]["requestState"] = json!(state);
            }
            let reply = house.ask(&house.by(who, Request::modern(&message))).await;
            serde_json::from_str(&reply.text).unwrap()
        };
        let mut kept = keep("ann", None).await;
        let state = kept["result"]["requestState"].take();
        let state = state.as_str().unwrap();
        let invented = "x".repeat(state.len());
        let foreign = keep("bob", Some(state)).await;
        assert_eq!(foreign["error"]["code"], -32602, "{}", router.name);
        assert_eq!(foreign, keep("bob", Some(&invented)).await);
        let own = keep("ann", Some(state)).await;
        assert!(own["result"].is_object(), "{}: {own}", router.name);
    }
}
