//! What a receiver gets.

use super::*;

#[tokio::test(start_paused = true)]
async fn events_are_delivered_in_order_after_a_challenge() {
    let fixture = Fixture::new();
    fixture.emit("before");
    let result = fixture.subscribe().await;
    assert!(result.cursor.is_some() && result.refresh_before.is_some());
    assert!(!result.truncated && result.delivery_status.is_none());
    for text in ["a", "b", "c"] {
        fixture.emit(text);
    }
    let requests = fixture.script.requests(4).await;
    assert_eq!(summary(&requests), ["verification", "a", "b", "c"]);
    for request in &requests {
        assert_eq!(request.url, URL);
        assert_eq!(header(request, "x-mcp-subscription-id"), result.id);
        assert!(is_signed_by(request, &secret(7)));
    }
    assert_eq!(header(&requests[1], "webhook-id"), "id-a");
    let cursor = body(&requests[3])["cursor"].clone();
    let repeated = fixture.subscribe().await;
    assert_eq!(repeated.id, result.id);
    assert_eq!(json!(repeated.cursor), cursor);
    let status = repeated.delivery_status.unwrap();
    assert!(status.active && status.last_delivery_at.is_some() && status.last_error.is_none());
}

#[tokio::test(start_paused = true)]
async fn receiver_that_fails_for_a_minute_gets_every_event() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    fixture.script.respond([503, 500, 404]);
    for text in ["a", "b", "c"] {
        fixture.emit(text);
    }
    let requests = fixture.script.requests(7).await;
    let expected = ["verification", "a", "a", "a", "a", "b", "c"];
    assert_eq!(summary(&requests), expected);
    assert_eq!(fixture.script.seconds()[1..], [0, 5, 30, 120, 120, 120]);
    let ids: Vec<&str> = requests
        .iter()
        .map(|one| header(one, "webhook-id"))
        .collect();
    assert_eq!(ids[1..], ["id-a", "id-a", "id-a", "id-a", "id-b", "id-c"]);
}

#[tokio::test(start_paused = true)]
async fn failing_delivery_is_reported_with_its_reason() {
    let fixture = Fixture::new();
    let first = fixture.subscribe().await;
    lock(&fixture.script.results).push_back(Err(CallbackFailure::TlsError));
    fixture.emit("a");
    fixture.script.requests(2).await;
    sleep(Duration::from_secs(1)).await;
    let repeated = fixture.subscribe().await;
    assert_eq!(repeated.cursor, first.cursor, "the event is in flight");
    let status = repeated.delivery_status.unwrap();
    assert!(status.active);
    assert_eq!(status.last_error, Some(CallbackFailure::TlsError));
    assert_eq!(status.retry_after_ms, Some(4000));
    assert!(status.failed_since.is_some());
}

#[tokio::test(start_paused = true)]
async fn event_that_is_given_up_is_followed_by_a_gap() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    fixture.script.respond([500; 5]);
    fixture.emit("a");
    let requests = fixture.script.requests(6).await;
    assert_eq!(summary(&requests[1..]), ["a"; 5]);
    fixture.emit("b");
    let requests = fixture.script.requests(8).await;
    assert_eq!(summary(&requests[6..]), ["gap", "b"]);
    assert_eq!(fixture.script.seconds()[5], 720);
    assert!(body(&requests[6])["cursor"].is_string());
}

#[tokio::test(start_paused = true)]
async fn event_of_a_truncated_page_is_given_up_like_others() {
    let fixture = Fixture::new();
    fixture.server.add_event("log.rotated", Rotated).unwrap();
    let rotated = params_for("log.rotated", URL);
    // The gap is accepted, and the event never.
    fixture.script.respond([204, 500, 500, 500, 500, 500]);
    let result = fixture.try_subscribe("ann", rotated).await.unwrap();
    assert_eq!(result.cursor.as_deref(), Some("start"));
    let requests = fixture.script.requests(8).await;
    let expected = ["verification", "gap", "a", "a", "a", "a", "a", "gap"];
    assert_eq!(summary(&requests), expected);
}

#[tokio::test(start_paused = true)]
async fn gap_that_the_client_knows_is_not_delivered() {
    let fixture = Fixture::new();
    fixture.server.add_event("log.rotated", Rotated).unwrap();
    let rotated = params_for("log.rotated", URL).with_cursor("start");
    fixture.script.respond([503]);
    let result = fixture.try_subscribe("ann", rotated).await.unwrap();
    assert!(result.truncated);
    let requests = fixture.script.requests(3).await;
    assert_eq!(summary(&requests), ["verification", "a", "a"]);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(fixture.script.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn event_that_the_receiver_rejects_is_not_sent_again() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    fixture.script.respond([410, 413]);
    for text in ["a", "b", "c"] {
        fixture.emit(text);
    }
    let requests = fixture.script.requests(4).await;
    assert_eq!(summary(&requests), ["verification", "a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn delivery_is_suspended_until_the_client_repeats_its_subscription() {
    let fixture = Fixture::new();
    let mut long = params();
    long.ttl_ms = Some(Some(24 * 60 * 60 * 1000));
    fixture.try_subscribe("ann", long.clone()).await.unwrap();
    fixture.script.respond([500; 15]);
    for text in ["a", "b", "c", "d"] {
        fixture.emit(text);
    }
    // Five attempts of the first event, of the gap, and of the second event.
    fixture.script.requests(16).await;
    sleep(Duration::from_secs(3 * 60 * 60)).await;
    assert_eq!(fixture.script.count(), 16);
    let repeated = fixture.try_subscribe("ann", long.clone()).await.unwrap();
    let status = repeated.delivery_status.unwrap();
    assert!(status.active, "the refresh lifted the suspension");
    assert_eq!(status.last_error, Some(CallbackFailure::Http5xx));
    assert!(repeated.truncated);
    let requests = fixture.script.requests(17).await;
    assert_eq!(summary(&requests[16..17]), ["gap"]);
}

#[tokio::test(start_paused = true)]
async fn end_of_the_event_type_terminates_its_subscriptions() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    fixture.script.respond([503]);
    // The delivery of the subscription has not started yet.
    assert!(fixture.server.remove_event("mail.received"));
    let requests = fixture.script.requests(3).await;
    assert_eq!(fixture.script.seconds(), [0, 0, 5]);
    assert_eq!(
        summary(&requests),
        ["verification", "terminated", "terminated"]
    );
    let last = body(&requests[2]);
    assert_eq!(last["error"]["code"], -32023);
    let ids: Vec<&str> = requests
        .iter()
        .map(|one| header(one, "webhook-id"))
        .collect();
    assert!(ids[2].starts_with("msg_terminated_"));
    assert_eq!(ids[1], ids[2]);
    sleep(Duration::from_secs(1)).await;
    let error = fixture.unsubscribe("ann", URL).await.unwrap_err();
    assert_eq!(error.code, -32023);
}

#[tokio::test(start_paused = true)]
async fn event_beyond_256_kib_is_replaced_by_a_gap() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    fixture.emit("measure");
    let requests = fixture.script.requests(2).await;
    let rest = requests[1].body.len() - 2 * "measure".len();
    let limit = (256 * 1024 - rest) / 2;
    // The id of an event repeats its text.
    fixture.emit(&"x".repeat(limit));
    fixture.emit(&"x".repeat(limit + 1));
    fixture.emit("after");
    let requests = fixture.script.requests(5).await;
    let kinds: Vec<usize> = summary(&requests).iter().map(String::len).collect();
    assert_eq!(kinds[2..], [limit, "gap".len(), "after".len()]);
    assert!(requests[2].body.len() > 256 * 1024 - 2);
}

#[tokio::test(start_paused = true)]
async fn host_gets_no_more_requests_than_its_rate_limit() {
    let options = WebhookOptions::new().with_rate_limit(1, 2);
    let fixture = Fixture::with_options(options, Script::default());
    fixture.subscribe().await;
    for number in 0..4 {
        fixture.emit(&number.to_string());
    }
    fixture.script.requests(5).await;
    assert_eq!(fixture.script.seconds(), [0, 0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn all_ports_of_a_host_share_its_rate_limit() {
    let options = WebhookOptions::new().with_rate_limit(1, 1);
    let fixture = Fixture::with_options(options, Script::default());
    let urls = [
        "https://app.example/hook",
        "https://APP.example:8443/hook",
        "https://app.example.:9443/",
        "https://other.example/",
    ];
    for url in urls {
        let params = params_for("mail.received", url);
        fixture.try_subscribe("ann", params).await.unwrap();
    }
    assert_eq!(fixture.script.seconds(), [0, 1, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn history_is_delivered_from_the_cursor_of_the_client() {
    let fixture = Fixture::new();
    let start = fixture.subscribe().await.cursor.unwrap();
    fixture.emit("a");
    fixture.emit("b");
    let other = params_for("mail.received", "https://app.example/other");
    let replayed = other.clone().with_cursor(start.clone());
    let result = fixture.try_subscribe("ann", replayed).await.unwrap();
    assert_eq!(result.cursor, Some(start));
    let requests = fixture.script.requests(6).await;
    let to_other = requests
        .into_iter()
        .filter(|one| one.url.ends_with("other"));
    let to_other: Vec<_> = to_other.collect();
    assert_eq!(summary(&to_other), ["verification", "a", "b"]);
    fixture
        .unsubscribe("ann", &other.delivery.url)
        .await
        .unwrap();
    let unknown = other.with_cursor("unknown");
    let result = fixture.try_subscribe("ann", unknown).await.unwrap();
    assert!(result.truncated);
}

#[tokio::test(start_paused = true)]
async fn dropped_server_stops_delivery() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    let Fixture {
        server,
        script,
        mails,
    } = fixture;
    drop(server);
    let mail = Mail {
        text: "late".to_owned(),
    };
    mails.emit(Event::new(mail)).unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(script.count(), 1);
}
