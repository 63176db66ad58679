//! Which subscriptions are accepted, and how they end.

use super::*;

#[tokio::test(start_paused = true)]
async fn subscription_needs_a_caller_a_url_and_a_secret() {
    let fixture = Fixture::new();
    let check = async |subject: &str, params: SubscribeEventsParams, code: i64| {
        let error = fixture.try_subscribe(subject, params).await.unwrap_err();
        assert_eq!(error.code, code, "{error:?}");
    };
    check("", params(), -32024).await;
    for url in [
        "http://app.example/",
        "app.example",
        "ftp://app.example/",
        "https://a.example/#x",
    ] {
        check("ann", params_for("mail.received", url), -32602).await;
    }
    for secret in ["", "whsec_AAAA", "secret"] {
        let delivery = WebhookDelivery::new(URL, secret);
        check(
            "ann",
            SubscribeEventsParams::new("mail.received", delivery),
            -32602,
        )
        .await;
    }
    let arguments = RawJson::from_value(&json!([1]));
    check("ann", params().with_arguments(arguments), -32602).await;
    assert_eq!(fixture.script.count(), 0, "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn url_is_verified_once_per_caller() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    let deleted = || params_for("mail.deleted", URL);
    fixture.try_subscribe("ann", deleted()).await.unwrap();
    assert_eq!(fixture.script.count(), 1);
    fixture.try_subscribe("bob", deleted()).await.unwrap();
    assert_eq!(fixture.script.count(), 2);
    let other_url = params_for("mail.deleted", "https://app.example/other");
    fixture.try_subscribe("ann", other_url).await.unwrap();
    assert_eq!(fixture.script.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn receiver_without_the_challenge_is_not_subscribed() {
    let script = Script {
        fails_challenges: true,
        ..Script::default()
    };
    let fixture = Fixture::with_options(WebhookOptions::new(), script);
    let error = fixture.try_subscribe("ann", params()).await.unwrap_err();
    assert_eq!(error.code, -32027);
    let unknown = fixture.unsubscribe("ann", URL).await.unwrap_err();
    assert_eq!(unknown.code, -32023);
}

#[tokio::test(start_paused = true)]
async fn trusted_url_gets_no_challenge() {
    let options = WebhookOptions::new().with_trusted_url("https://app.example/");
    let fixture = Fixture::with_options(options, Script::default());
    fixture.subscribe().await;
    fixture.emit("a");
    assert_eq!(summary(&fixture.script.requests(1).await), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn replaced_secret_signs_for_15_more_minutes() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    let delivery = WebhookDelivery::new(URL, secret(8).expose());
    let rotated = SubscribeEventsParams::new("mail.received", delivery);
    fixture.try_subscribe("ann", rotated).await.unwrap();
    let check = async |text: &str, count: usize, old_signs: bool| {
        fixture.emit(text);
        let requests = fixture.script.requests(count).await;
        let request = &requests[count - 1];
        assert!(is_signed_by(request, &secret(8)), "{text}");
        assert_eq!(is_signed_by(request, &secret(7)), old_signs, "{text}");
    };
    check("a", 2, true).await;
    sleep(Duration::from_secs(15 * 60 - 1)).await;
    check("b", 3, true).await;
    sleep(Duration::from_secs(2)).await;
    check("c", 4, false).await;
}

#[tokio::test(start_paused = true)]
async fn number_of_subscriptions_equals_the_limits() {
    let options = WebhookOptions::new().with_max_subscriptions(3, 2);
    let fixture = Fixture::with_options(options, Script::default());
    let url = |number: u32| format!("https://app.example/{number}");
    let check = async |subject: &str, number: u32, limit: Option<&str>| {
        let params = params_for("mail.received", &url(number));
        let outcome = fixture.try_subscribe(subject, params).await;
        match (outcome, limit) {
            (Ok(_), None) => {}
            (Err(error), Some(limit)) => {
                assert_eq!(error.code, -32025);
                assert!(error.data.unwrap().get().contains(limit));
            }
            (outcome, limit) => panic!("{subject} {number} {limit:?}: {outcome:?}"),
        }
    };
    check("ann", 1, None).await;
    check("ann", 2, None).await;
    check("ann", 3, Some("\"subscriptionsPerPrincipal\",\"max\":2")).await;
    check("ann", 2, None).await;
    check("bob", 1, None).await;
    check("bob", 2, Some("\"subscriptions\",\"max\":3")).await;
    fixture.unsubscribe("ann", &url(1)).await.unwrap();
    check("bob", 2, None).await;
}

#[tokio::test(start_paused = true)]
async fn unsubscribe_stops_delivery_and_needs_the_same_caller() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    for (subject, code) in [("bob", -32023), ("", -32024)] {
        let error = fixture.unsubscribe(subject, URL).await.unwrap_err();
        assert_eq!(error.code, code, "{subject}");
    }
    fixture.unsubscribe("ann", URL).await.unwrap();
    fixture.emit("a");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(fixture.script.count(), 1, "only the challenge");
    let error = fixture.unsubscribe("ann", URL).await.unwrap_err();
    assert_eq!(error.code, -32023);
}

#[tokio::test(start_paused = true)]
async fn subscription_ends_with_its_ttl_unless_it_is_repeated() {
    let fixture = Fixture::new();
    let mut short = params();
    short.ttl_ms = Some(Some(1));
    let minute = Duration::from_secs(60);
    fixture.try_subscribe("ann", short.clone()).await.unwrap();
    sleep(minute - Duration::from_secs(1)).await;
    fixture.try_subscribe("ann", short).await.unwrap();
    sleep(minute - Duration::from_secs(1)).await;
    fixture.emit("a");
    let requests = fixture.script.requests(2).await;
    assert_eq!(summary(&requests), ["verification", "a"]);
    sleep(Duration::from_secs(2)).await;
    fixture.emit("b");
    sleep(minute).await;
    assert_eq!(fixture.script.count(), 2);
    let error = fixture.unsubscribe("ann", URL).await.unwrap_err();
    assert_eq!(error.code, -32023);
}

#[tokio::test(start_paused = true)]
async fn subscription_that_ends_is_replaced_and_not_refreshed() {
    let fixture = Fixture::new();
    fixture.subscribe().await;
    // The receiver does not accept the end, so it is sent again after 5 s.
    fixture.script.respond([503]);
    assert!(fixture.server.remove_event("mail.received"));
    let requests = fixture.script.requests(2).await;
    assert_eq!(summary(&requests), ["verification", "terminated"]);
    let mails = fixture.mails.clone();
    fixture.server.add_event("mail.received", mails).unwrap();
    let again = fixture.subscribe().await;
    assert!(again.delivery_status.is_none(), "it is a new subscription");
    sleep(Duration::from_secs(60)).await;
    fixture.emit("a");
    let requests = fixture.script.requests(3).await;
    assert_eq!(
        summary(&requests),
        ["verification", "terminated", "a"],
        "the end of the first one is not sent again"
    );
}

#[tokio::test(start_paused = true)]
async fn subscription_at_the_limit_can_replace_one_that_ends() {
    let options = WebhookOptions::new().with_max_subscriptions(1, 1);
    let fixture = Fixture::with_options(options, Script::default());
    fixture.subscribe().await;
    fixture.script.respond([503]);
    assert!(fixture.server.remove_event("mail.received"));
    fixture.script.requests(2).await;
    let mails = fixture.mails.clone();
    fixture.server.add_event("mail.received", mails).unwrap();
    fixture.subscribe().await;
}

#[tokio::test(start_paused = true)]
async fn subscription_in_a_durable_store_continues_after_a_restart() {
    let store = Durable::default();
    let options = || WebhookOptions::new().with_store(store.clone());
    let first = Fixture::with_options(options(), Script::default());
    let mut unlimited = params();
    unlimited.ttl_ms = Some(None);
    let subscribed = first.try_subscribe("ann", unlimited.clone()).await.unwrap();
    assert_eq!(subscribed.refresh_before, None);
    drop(first);
    let second = Fixture::with_options(options(), Script::default());
    // The cursor of an emitter is unknown after a restart, so the client learns about a gap.
    let requests = second.script.requests(1).await;
    assert_eq!(summary(&requests), ["gap"]);
    second.emit("a");
    let requests = second.script.requests(2).await;
    assert_eq!(summary(&requests[1..]), ["a"]);
    assert_eq!(header(&requests[1], "x-mcp-subscription-id"), subscribed.id);
    // The subscription exists, so there is no other challenge.
    let repeated = second
        .try_subscribe("ann", unlimited.clone())
        .await
        .unwrap();
    assert_eq!(repeated.id, subscribed.id);
    second.unsubscribe("ann", URL).await.unwrap();
    drop(second);
    let third = Fixture::with_options(options(), Script::default());
    let error = third.unsubscribe("ann", URL).await.unwrap_err();
    assert_eq!(error.code, -32023);
}

#[tokio::test(start_paused = true)]
async fn subscription_in_memory_always_expires() {
    let fixture = Fixture::new();
    let mut unlimited = params();
    unlimited.ttl_ms = Some(None);
    let result = fixture.try_subscribe("ann", unlimited).await.unwrap();
    assert!(result.refresh_before.is_some());
}

#[test]
fn types_offer_webhooks_only_on_a_server_with_webhooks() {
    let server = || Server::new("mails", "1.0.0").event("a", Emitter::<NoArguments, Mail>::new());
    let check = |server: &Server, expected: bool| {
        let snapshot = server.snapshot();
        let entry = &snapshot.events.by_name["a"];
        let listed = entry.listed(snapshot.events.has_webhooks()).unwrap();
        assert_eq!(listed.offers(&DeliveryMode::Webhook), expected);
    };
    check(&server(), false);
    let sender = Arc::new(Script::default());
    check(
        &server().install_webhooks(WebhookOptions::new(), sender),
        true,
    );
}

/// A store whose records survive the server.
#[derive(Debug, Clone, Default)]
struct Durable(Arc<MemorySubscriptionStore>);

impl SubscriptionStore for Durable {
    fn is_durable(&self) -> bool {
        true
    }

    fn put(&self, record: SubscriptionRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.put(record)
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.remove(id)
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<SubscriptionRecord>, StoreError>> {
        self.0.load()
    }
}
