//! Sessions and streams belong to whoever opened them (X15, X16, X17, X34, X35).

use serde_json::json;
use std::time::Duration;
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};

use crate::http::direct::{Direct, Whole, in_session, next_chunk};
use crate::http::request::Request;
use crate::http::session::tool_call_with_token;
use crate::http::stage::{Happening, Stage};
use crate::peer::{answer, cancel, legacy, notification};

fn service(stage: &Stage) -> HttpService {
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::ZERO;
    HttpService::new(stage.server.clone(), HttpOptions::new().with_limits(limits))
}

fn get(session: &str) -> Request {
    Request::get(session, "2025-11-25")
}

/// Everything one can do with a session id.
async fn everything(client: &Direct, session: &str, event: &str) -> Vec<Whole> {
    let mut answers = Vec::new();
    for message in [
        legacy(1, "ping", json!({})),
        legacy(
            1,
            "tools/call",
            json!({"name": "count", "arguments": {"n": 1}}),
        ),
        notification("notifications/initialized", json!({})),
        cancel(1),
        answer(1, json!({})),
    ] {
        answers.push(client.ask(in_session(session, &message)).await);
    }
    answers.push(client.ask(get(session)).await);
    answers.push(client.ask(get(session).with("Last-Event-ID", event)).await);
    answers.push(client.ask(Request::delete(session, "2025-11-25")).await);
    answers
}

#[tokio::test]
async fn the_session_of_somebody_else_looks_like_none() {
    let mut stage = Stage::new();
    let service = service(&stage);
    let ann = Direct::of(&service, "https://issuer", "ann");
    let session = ann.open_session().await;
    let call = in_session(&session, &tool_call_with_token(1, "wait", "t"));
    let mut body = Box::pin(ann.send(call).await.into_body());
    let first = next_chunk(&mut body).await.expect("the stream begins");
    let event = first
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an id to come back with");
    stage.expect(Happening::Started).await;

    for stranger in [
        Direct::new(&service),
        Direct::of(&service, "https://issuer", "bob"),
        Direct::of(&service, "https://other", "ann"),
    ] {
        let foreign = everything(&stranger, &session, event).await;
        let invented = everything(&stranger, &"x".repeat(session.len()), event).await;
        assert_eq!(foreign, invented, "X15");
        assert!(
            foreign.iter().all(|answer| answer.status == 404),
            "{foreign:?}"
        );
    }
    assert_eq!(stage.runs(), 0);
    stage.expect_nothing();
    assert_eq!(ann.ping(&session).await, 200);
    let elsewhere = Direct::of(&service, "https://issuer", "ann");
    assert_eq!(
        elsewhere.ping(&session).await,
        200,
        "the same user from elsewhere"
    );
}

#[tokio::test]
async fn events_of_others_invented_and_malformed_ones_look_alike() {
    let mut stage = Stage::new();
    let service = service(&stage);
    let ann = Direct::of(&service, "https://issuer", "ann");
    let bob = Direct::of(&service, "https://issuer", "bob");
    let of_ann = ann.open_session().await;
    let also_of_ann = ann.open_session().await;
    let of_bob = bob.open_session().await;
    let call = in_session(&of_ann, &tool_call_with_token(1, "wait", "t"));
    let mut body = Box::pin(ann.send(call).await.into_body());
    let first = next_chunk(&mut body).await.expect("the stream begins");
    stage.expect(Happening::Started).await;
    let event = first
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an id to come back with");
    let (stream, _) = event.split_once('.').expect("a stream and a number");

    let mut refusals = vec![
        ann.ask(get(&also_of_ann).with("Last-Event-ID", event))
            .await,
        bob.ask(get(&of_bob).with("Last-Event-ID", event)).await,
    ];
    let long = "x".repeat(2000);
    let future = format!("{stream}.99");
    let overflow = format!("{stream}.99999999999999999999999");
    let invented = format!("{}.0", "x".repeat(stream.len()));
    for id in [
        "",
        "0",
        "1",
        "-1",
        ".",
        "a.b",
        "../../etc/passwd",
        "kXw3-0nq_Yb81LzA.42",
        &invented,
        &future,
        &overflow,
        &long,
    ] {
        refusals.push(ann.ask(get(&of_ann).with("Last-Event-ID", id)).await);
    }
    let twice = get(&of_ann)
        .with("Last-Event-ID", event)
        .with("Last-Event-ID", event);
    refusals.push(ann.ask(twice).await);
    for refusal in &refusals {
        assert_eq!(*refusal, refusals[0], "X34");
    }
    assert_eq!(refusals[0].status, 400);
    assert_eq!(refusals[0].session, None);

    // The one who may gets it.
    let resumed = ann.send(get(&of_ann).with("Last-Event-ID", event)).await;
    assert_eq!(resumed.status(), 200);
    assert_eq!(ann.ping(&of_ann).await, 200);
    assert_eq!(bob.ping(&of_bob).await, 200);
}

#[tokio::test]
async fn nobody_cancels_across_sessions() {
    let mut stage = Stage::new();
    let service = service(&stage);
    let client = Direct::new(&service);
    let (mine, other) = (client.open_session().await, client.open_session().await);
    let call = in_session(&mine, &tool_call_with_token(1, "wait", "t"));
    let _body = client.send(call).await.into_body();
    stage.expect(Happening::Started).await;
    assert_eq!(client.ask(in_session(&other, &cancel(1))).await.status, 202);
    assert_eq!(
        client.ask(in_session(&mine, &cancel("1"))).await.status,
        202
    );
    stage.expect_nothing();
    assert_eq!(service.load().requests, 1, "X35");
    assert_eq!(client.ask(in_session(&mine, &cancel(1))).await.status, 202);
    stage.expect(Happening::Dropped).await;
}

#[tokio::test]
async fn nobody_chooses_the_name_of_a_session() {
    let stage = Stage::new();
    let service = service(&stage);
    let victim = Direct::of(&service, "https://issuer", "victim");
    let attacker = Direct::of(&service, "https://issuer", "attacker");
    let planted = attacker.open_session().await;
    for id in [planted.as_str(), "made-up"] {
        // X16: the victim gets a session of its own, or none; never the planted one.
        let initialize = crate::http::session::initialize_request("2025-11-25");
        let opened = victim.ask(initialize.with("Mcp-Session-Id", id)).await;
        assert_ne!(opened.session.as_deref(), Some(id));
        assert_eq!(victim.ping(id).await, 404);
    }
    assert_eq!(attacker.ping(&planted).await, 200);
}

#[tokio::test]
async fn the_token_of_every_request_counts() {
    let stage = Stage::new();
    let service = service(&stage);
    let session = Direct::of(&service, "https://issuer", "ann")
        .open_session()
        .await;
    let message = legacy(1, "ping", json!({}));
    let results: Vec<u16> = {
        let mut results = Vec::new();
        for subject in ["ann", "bob", "ann", "ann2", "ANN", "ann"] {
            let client = Direct::of(&service, "https://issuer", subject);
            results.push(client.ask(in_session(&session, &message)).await.status);
        }
        results
    };
    assert_eq!(results, [200, 404, 200, 404, 404, 200]);
}
