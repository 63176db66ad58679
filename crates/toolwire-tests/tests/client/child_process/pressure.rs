//! Dropped calls, and children that do not read their input.

use serde_json::json;
use toolwire_tests::peer::within;

use super::child::Behavior;
use super::{SHORT, connect};

#[tokio::test]
async fn dropping_a_call_sends_a_cancellation_to_the_child() {
    for behavior in [Behavior::Modern, Behavior::Rejects(-32601)] {
        let (client, mut stderr) = connect(behavior).await;
        let call = tokio::spawn(client.call_tool("wait", json!({})).into_future());
        stderr.wait_for("got tools/call").await;
        call.abort();
        let id = stderr.wait_for("got notifications/cancelled").await;
        // The first call after `server/discover`, or after that and `initialize`.
        let expected = if behavior == Behavior::Modern {
            "2"
        } else {
            "3"
        };
        assert_eq!(id, expected, "{behavior:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn calls_to_a_child_that_does_not_read_time_out() {
    let (client, mut stderr) = connect(Behavior::StopsReading).await;
    stderr.wait_for("stopped reading").await;
    let calls: Vec<_> = (0..300)
        .map(|_| {
            let call = client.call_tool("wait", json!({"ballast": "x".repeat(4096)}));
            tokio::spawn(call.with_timeout(SHORT).into_future())
        })
        .collect();
    for call in calls {
        let error = within(call).await.unwrap().unwrap_err();
        assert!(error.is_timeout(), "{error}");
    }
    assert_eq!(client.pending_operations(), 0);
    let pending = tokio::spawn(client.call_tool("wait", json!({})).into_future());
    tokio::task::yield_now().await;
    within(client.close()).await;
    assert!(within(pending).await.unwrap().unwrap_err().is_closed());
}
