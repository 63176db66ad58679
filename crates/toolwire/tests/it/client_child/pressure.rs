//! Calls that are given up, and children that do not read.

use serde_json::json;

use super::child::Part;
use super::{SHORT, connect};
use crate::peer::within;

#[tokio::test]
async fn dropping_a_call_tells_the_child() {
    for part in [Part::Modern, Part::Refuses(-32601)] {
        let (client, mut heard) = connect(part).await;
        let call = tokio::spawn(client.call_tool("wait", json!({})).into_future());
        heard.until("got tools/call").await;
        call.abort();
        let id = heard.until("got notifications/cancelled").await;
        // The first call after `server/discover`, or after that and `initialize`.
        let expected = if part == Part::Modern { "2" } else { "3" };
        assert_eq!(id, expected, "{part:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn a_child_that_does_not_read_costs_time_but_nothing_else() {
    let (client, mut heard) = connect(Part::Deaf).await;
    heard.until("deaf").await;
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
    let waits = tokio::spawn(client.call_tool("wait", json!({})).into_future());
    tokio::task::yield_now().await;
    within(client.close()).await;
    assert!(within(waits).await.unwrap().unwrap_err().is_closed());
}
