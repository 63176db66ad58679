//! Sessions and streams belong to the principal that opened them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolwire::store::MemorySessionStore;
use toolwire::store::contract::Faulty;
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::direct::{CompleteResponse, InProcessClient, in_session, next_chunk};
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::tool_call_with_token;
use toolwire_tests::peer::{cancel, legacy, notification, result_response};

fn service(fixture: &Fixture) -> HttpService {
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::ZERO;
    HttpService::new(
        fixture.server.clone(),
        HttpOptions::new().with_limits(limits),
    )
}

fn get(session: &str) -> Request {
    Request::get(session, "2025-11-25")
}

/// Sends every kind of request with a session id, and returns the responses.
async fn send_every_request(
    client: &InProcessClient,
    session: &str,
    event: &str,
) -> Vec<CompleteResponse> {
    let mut responses = Vec::new();
    for message in [
        legacy(1, "ping", json!({})),
        legacy(
            1,
            "tools/call",
            json!({"name": "count", "arguments": {"n": 1}}),
        ),
        notification("notifications/initialized", json!({})),
        cancel(1),
        result_response(1, json!({})),
    ] {
        responses.push(client.request(in_session(session, &message)).await);
    }
    responses.push(client.request(get(session)).await);
    responses.push(
        client
            .request(get(session).with("Last-Event-ID", event))
            .await,
    );
    responses.push(client.request(Request::delete(session, "2025-11-25")).await);
    responses
}

#[tokio::test]
async fn session_of_another_principal_looks_like_an_unknown_session() {
    let mut fixture = Fixture::new();
    let service = service(&fixture);
    let ann = InProcessClient::with_token(&service, "https://issuer", "ann");
    let session = ann.open_session().await;
    let call = in_session(&session, &tool_call_with_token(1, "wait", "t"));
    let mut body = Box::pin(ann.send(call).await.into_body());
    let first = next_chunk(&mut body).await.expect("the stream starts");
    let event = first
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an event id");
    fixture.expect(HandlerEvent::Started).await;

    for other_principal in [
        InProcessClient::new(&service),
        InProcessClient::with_token(&service, "https://issuer", "bob"),
        InProcessClient::with_token(&service, "https://other", "ann"),
    ] {
        let existing = send_every_request(&other_principal, &session, event).await;
        let unknown = send_every_request(&other_principal, &"x".repeat(session.len()), event).await;
        assert_eq!(existing, unknown, "the responses reveal the session");
        assert!(
            existing.iter().all(|response| response.status == 404),
            "{existing:?}"
        );
    }
    assert_eq!(fixture.runs(), 0);
    fixture.expect_nothing();
    assert_eq!(ann.ping(&session).await, 200);
    let second_client = InProcessClient::with_token(&service, "https://issuer", "ann");
    assert_eq!(
        second_client.ping(&session).await,
        200,
        "the same user with another client"
    );
}

/// Returns how often each method of a store was called.
fn calls(store: &Faulty<MemorySessionStore>) -> Vec<usize> {
    let methods = ["load", "load_initialized", "touch", "replace", "delete"];
    methods.map(|method| store.calls(method)).to_vec()
}

/// The time of a response depends on the calls of the store. A store finds a session by its id and principal together.
#[tokio::test]
async fn session_of_another_principal_causes_the_work_of_an_unknown_session() {
    let store = Arc::new(Faulty::new(Arc::<MemorySessionStore>::default()));
    let options = HttpOptions::new().with_session_store(store.clone());
    let fixture = Fixture::new();
    let service = HttpService::new(fixture.server.clone(), options);
    let ann = InProcessClient::with_token(&service, "https://issuer", "ann");
    let session = ann.open_session().await;
    let bob = InProcessClient::with_token(&service, "https://issuer", "bob");
    let mut work = Vec::new();
    for id in [&session, &"x".repeat(session.len())] {
        let before = calls(&store);
        send_every_request(&bob, id, "stream.1").await;
        let after = calls(&store).into_iter();
        work.push(
            after
                .zip(before)
                .map(|(after, before)| after - before)
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(work[0], work[1]);
    assert!(work[0].iter().sum::<usize>() > 0, "{work:?}");
}

#[tokio::test]
async fn unknown_invalid_and_unauthorized_event_ids_get_the_same_response() {
    let mut fixture = Fixture::new();
    let service = service(&fixture);
    let ann = InProcessClient::with_token(&service, "https://issuer", "ann");
    let bob = InProcessClient::with_token(&service, "https://issuer", "bob");
    let of_ann = ann.open_session().await;
    let also_of_ann = ann.open_session().await;
    let of_bob = bob.open_session().await;
    let call = in_session(&of_ann, &tool_call_with_token(1, "wait", "t"));
    let mut body = Box::pin(ann.send(call).await.into_body());
    let first = next_chunk(&mut body).await.expect("the stream starts");
    fixture.expect(HandlerEvent::Started).await;
    let event = first
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an event id");
    let (stream, _) = event.split_once('.').expect("a stream and a number");

    let mut rejections = vec![
        ann.request(get(&also_of_ann).with("Last-Event-ID", event))
            .await,
        bob.request(get(&of_bob).with("Last-Event-ID", event)).await,
    ];
    let long = "x".repeat(2000);
    let future = format!("{stream}.99");
    let overflow = format!("{stream}.99999999999999999999999");
    let unknown = format!("{}.0", "x".repeat(stream.len()));
    for id in [
        "",
        "0",
        "1",
        "-1",
        ".",
        "a.b",
        "../../etc/passwd",
        "kXw3-0nq_Yb81LzA.42",
        &unknown,
        &future,
        &overflow,
        &long,
    ] {
        rejections.push(ann.request(get(&of_ann).with("Last-Event-ID", id)).await);
    }
    let twice = get(&of_ann)
        .with("Last-Event-ID", event)
        .with("Last-Event-ID", event);
    rejections.push(ann.request(twice).await);
    for rejection in &rejections {
        assert_eq!(*rejection, rejections[0], "the responses differ");
    }
    assert_eq!(rejections[0].status, 400);
    assert_eq!(rejections[0].session, None);

    // The owner of the stream can resume it.
    let resumed = ann.send(get(&of_ann).with("Last-Event-ID", event)).await;
    assert_eq!(resumed.status(), 200);
    assert_eq!(ann.ping(&of_ann).await, 200);
    assert_eq!(bob.ping(&of_bob).await, 200);
}

#[tokio::test]
async fn cancellation_does_not_affect_other_sessions() {
    let mut fixture = Fixture::new();
    let service = service(&fixture);
    let client = InProcessClient::new(&service);
    let (mine, other) = (client.open_session().await, client.open_session().await);
    let call = in_session(&mine, &tool_call_with_token(1, "wait", "t"));
    let _body = client.send(call).await.into_body();
    fixture.expect(HandlerEvent::Started).await;
    assert_eq!(
        client.request(in_session(&other, &cancel(1))).await.status,
        202
    );
    assert_eq!(
        client.request(in_session(&mine, &cancel("1"))).await.status,
        202
    );
    fixture.expect_nothing();
    assert_eq!(service.load().requests, 1, "the request was cancelled");
    assert_eq!(
        client.request(in_session(&mine, &cancel(1))).await.status,
        202
    );
    fixture.expect(HandlerEvent::Dropped).await;
}

#[tokio::test]
async fn client_cannot_choose_the_session_id() {
    let fixture = Fixture::new();
    let service = service(&fixture);
    let victim = InProcessClient::with_token(&service, "https://issuer", "victim");
    let attacker = InProcessClient::with_token(&service, "https://issuer", "attacker");
    let planted = attacker.open_session().await;
    for id in [planted.as_str(), "made-up"] {
        // The victim gets its own session or none, but never the planted one.
        let initialize = toolwire_tests::http::session::initialize_request("2025-11-25");
        let opened = victim.request(initialize.with("Mcp-Session-Id", id)).await;
        assert_ne!(opened.session.as_deref(), Some(id));
        assert_eq!(victim.ping(id).await, 404);
    }
    assert_eq!(attacker.ping(&planted).await, 200);
}

#[tokio::test]
async fn session_access_is_checked_with_the_token_of_every_request() {
    let fixture = Fixture::new();
    let service = service(&fixture);
    let session = InProcessClient::with_token(&service, "https://issuer", "ann")
        .open_session()
        .await;
    let message = legacy(1, "ping", json!({}));
    let results: Vec<u16> = {
        let mut results = Vec::new();
        for subject in ["ann", "bob", "ann", "ann2", "ANN", "ann"] {
            let client = InProcessClient::with_token(&service, "https://issuer", subject);
            results.push(client.request(in_session(&session, &message)).await.status);
        }
        results
    };
    assert_eq!(results, [200, 404, 200, 404, 404, 200]);
}
