//! Subscriptions to resources of an upstream server.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::relay::UpstreamStatus;
use toolwire_tests::peer::{Peer, cancel, modern, notification};

use crate::raw_upstream::RawConnection;
use crate::source::{UpstreamEra, acknowledge, listed, mounted};

/// A resource that the upstream servers of these tests reject.
const REJECTED: &str = "x://rejected/t";

/// Subscribes a client to resources.
async fn listen(client: &mut Peer, id: &str, uris: &[&str]) {
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    client
        .send(modern(id, "subscriptions/listen", filter))
        .await;
    let acknowledged = client.receive().await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
}

/// Sends an update of `x://a` on the stream of a `subscriptions/listen` request.
async fn update(upstream: &RawConnection, listen: &Value) {
    let meta = json!({"io.modelcontextprotocol/subscriptionId": listen["id"]});
    let params = json!({"uri": "x://a", "_meta": meta});
    let updated = notification("notifications/resources/updated", params);
    upstream.send(updated).await;
}

async fn expect_update(client: &mut Peer) {
    let updated = client.receive().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "x://a");
}

fn uris_of(listen: &Value) -> Vec<&str> {
    let uris = &listen["params"]["notifications"]["resourceSubscriptions"];
    let uris = uris.as_array().map(Vec::as_slice).unwrap_or_default();
    uris.iter().filter_map(Value::as_str).collect()
}

#[tokio::test]
async fn subscriptions_are_forwarded_and_updates_come_back() {
    let mut mounted = mounted(UpstreamEra::Legacy).await;
    let mut client = Peer::connect(&mounted.server);
    listen(&mut client, "l", &["x://a"]).await;
    let subscribe = mounted.upstream.receive().await;
    assert_eq!(subscribe["method"], "resources/subscribe");
    assert_eq!(subscribe["params"]["uri"], "x://a");
    mounted.upstream.respond(&subscribe, "{}").await;
    let updated = notification("notifications/resources/updated", json!({"uri": "x://a"}));
    mounted.upstream.send(updated).await;
    expect_update(&mut client).await;
    client.send(cancel("l")).await;
    let unsubscribe = mounted.upstream.receive().await;
    assert_eq!(unsubscribe["method"], "resources/unsubscribe");
}

#[tokio::test(start_paused = true)]
async fn resource_that_a_legacy_server_rejects_does_not_end_other_subscriptions() {
    let mut mounted = mounted(UpstreamEra::Legacy).await;
    let mut client = Peer::connect(&mounted.server);
    listen(&mut client, "l", &["x://a", REJECTED]).await;
    let mut is_subscribed = false;
    let quiet = Duration::from_secs(5);
    while let Ok(request) = tokio::time::timeout(quiet, mounted.upstream.next()).await {
        let request = request.expect("the connection is open");
        if request["params"]["uri"] == REJECTED {
            let error = r#"{"code":-32002,"message":"no such resource"}"#;
            mounted.upstream.reject(&request, error).await;
        } else {
            mounted.upstream.respond(&request, "{}").await;
            is_subscribed = request["method"] == "resources/subscribe";
        }
    }
    assert!(is_subscribed);
    let updated = notification("notifications/resources/updated", json!({"uri": "x://a"}));
    mounted.upstream.send(updated).await;
    expect_update(&mut client).await;
    assert_eq!(mounted.source.state().status, UpstreamStatus::Connected);
}

#[tokio::test]
async fn stream_that_a_modern_server_rejects_is_divided() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let mut client = Peer::connect(&mounted.server);
    let uris = ["x://a", "x://b/t", "x://c/t", REJECTED];
    listen(&mut client, "l", &uris).await;
    let mut followed: Vec<String> = Vec::new();
    let mut of_update = None;
    let mut is_rejected = false;
    while followed.len() < 3 || !is_rejected {
        let request = mounted.upstream.receive().await;
        let uris = uris_of(&request);
        // The changes of lists have a stream of their own.
        assert_eq!(
            request["params"]["notifications"]
                .as_object()
                .map(|filter| filter.len()),
            Some(1)
        );
        if uris.contains(&REJECTED) {
            let error = r#"{"code":-32602,"message":"no such resource"}"#;
            mounted.upstream.reject(&request, error).await;
            is_rejected |= uris.len() == 1;
            continue;
        }
        followed.extend(uris.iter().map(|uri| (*uri).to_owned()));
        acknowledge(&mounted.upstream, &request).await;
        if uris.contains(&"x://a") {
            of_update = Some(request);
        }
    }
    followed.sort();
    assert_eq!(followed, ["x://a", "x://b/t", "x://c/t"]);
    let of_update = of_update.expect("one stream has the resource");
    update(&mounted.upstream, &of_update).await;
    expect_update(&mut client).await;
    let tools = listed(&mut client, "tools/list").await;
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(start_paused = true)]
async fn ended_stream_is_opened_again_and_its_resources_count_as_updated() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let mut client = Peer::connect(&mounted.server);
    listen(&mut client, "l", &["x://a"]).await;
    let first = mounted.upstream.receive().await;
    assert_eq!(uris_of(&first), ["x://a"]);
    acknowledge(&mounted.upstream, &first).await;
    let ended = r#"{"resultType":"complete"}"#;
    mounted.upstream.respond(&first, ended).await;
    let again = mounted.upstream.receive().await;
    assert_eq!(uris_of(&again), ["x://a"]);
    acknowledge(&mounted.upstream, &again).await;
    expect_update(&mut client).await;
    assert_eq!(mounted.source.state().status, UpstreamStatus::Connected);
}

#[tokio::test]
async fn changed_subscriptions_replace_their_stream_after_the_new_one_is_open() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let mut client = Peer::connect(&mounted.server);
    listen(&mut client, "one", &["x://a"]).await;
    let first = mounted.upstream.receive().await;
    acknowledge(&mounted.upstream, &first).await;
    listen(&mut client, "two", &["x://b/t"]).await;
    let second = mounted.upstream.receive().await;
    assert_eq!(uris_of(&second), ["x://a", "x://b/t"]);
    // The first stream is still open.
    update(&mounted.upstream, &first).await;
    expect_update(&mut client).await;
    acknowledge(&mounted.upstream, &second).await;
    let cancelled = mounted.upstream.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], first["id"]);
    client.send(cancel("two")).await;
    let third = mounted.upstream.receive().await;
    assert_eq!(uris_of(&third), ["x://a"]);
}
