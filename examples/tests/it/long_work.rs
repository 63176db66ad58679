//! Examples with long work: `progress_and_cancellation`, `blocking`.

use serde_json::{Value, json};

use crate::client::{BOTH, Client, text};

fn with_progress(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}})
}

#[tokio::test]
async fn progress_arrives_before_the_result() {
    for revision in BOTH {
        let mut client = Client::start("progress_and_cancellation", revision).await;
        let arguments = json!({"parts": 3, "milliseconds_each": 0});
        let call = with_progress("download", &arguments);
        let result = client.ask("tools/call", call).await;
        assert_eq!(text(&result), "3 parts");
        let reports = client.take_notifications("notifications/progress");
        // Notifications may be merged, but the order and the last notification are preserved.
        let last = reports.last().unwrap();
        assert_eq!(last["progress"], 3.0);
        assert_eq!(last["total"], 3.0);
        assert_eq!(last["message"], "part 3");
        assert!(reports.iter().all(|report| report["progressToken"] == "p"));

        client.call("download", arguments).await;
        assert!(
            client
                .take_notifications("notifications/progress")
                .is_empty()
        );
        client.end().await;
    }
}

/// Starts endless work, cancels it once it runs, and checks that it ends without a response.
async fn check_cancellation(example: &str, call: Value, counter: &str) {
    for revision in BOTH {
        let mut client = Client::start(example, revision).await;
        let id = client.begin("tools/call", call.clone()).await;
        client.notification("notifications/progress").await;
        assert_eq!(client.call_text(counter, json!({})).await, "1");
        client.cancel(id).await;
        // The work ends soon after, but not at once. Each call waits for one round trip.
        let ended = async { while client.call_text(counter, json!({})).await != "0" {} };
        tokio::time::timeout(std::time::Duration::from_secs(60), ended)
            .await
            .expect("the work ends");
        let rest = client.end().await;
        assert!(rest.iter().all(|message| message["id"] != id), "{rest:?}");
    }
}

#[tokio::test]
async fn cancelled_download_closes_its_file() {
    let call = with_progress("download", &json!({"parts": 1_000_000}));
    check_cancellation("progress_and_cancellation", call, "open_files").await;
}

#[tokio::test]
async fn cancelled_search_stops() {
    let call = with_progress("count_primes", &json!({"below": 9_007_199_254_740_991_u64}));
    check_cancellation("blocking", call, "searching").await;
}

#[tokio::test]
async fn other_requests_are_served_while_a_thread_is_blocked() {
    for revision in BOTH {
        let mut client = Client::start("blocking", revision).await;
        assert_eq!(
            client
                .call_text("count_primes", json!({"below": 100}))
                .await,
            "25"
        );
        let call = with_progress("count_primes", &json!({"below": 9_007_199_254_740_991_u64}));
        let id = client.begin("tools/call", call).await;
        client.notification("notifications/progress").await;
        assert_eq!(
            client.call_text("count_primes", json!({"below": 10})).await,
            "4"
        );
        client.cancel(id).await;
        client.end().await;
    }
}
