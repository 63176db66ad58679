//! Calls whose response is a stream. The connection is cut several times, and the stream is resumed on other nodes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{cancel, legacy};

use crate::fleet::events::Events;
use crate::fleet::ledger::Failure;
use crate::fleet::node_client::{
    LEGACY, NodeClient, expect_equal, in_session, is_response, result_in, text_of,
};

/// The number of progress notifications of a call.
const STEPS: u64 = 9;

/// The number of messages that are read from a connection before it is cut.
const MESSAGES_PER_CONNECTION: usize = 3;

/// The delay before a stream whose connection broke is resumed.
const RESUME_DELAY: Duration = Duration::from_millis(100);

fn countdown(from: u64, delay_ms: u64) -> Value {
    let params = json!({
        "name": "countdown",
        "arguments": {"from": from, "delay_ms": delay_ms},
        "_meta": {"progressToken": "t"},
    });
    legacy(1, "tools/call", params)
}

/// Reads all progress and the result of a call. No message may be missing or sent twice.
pub(crate) async fn resumed_call(client: &NodeClient) -> Result<(), Failure> {
    let session = client.open_session().await?;
    let node = client.next_node();
    let call = in_session(&session, &countdown(STEPS, 20));
    let mut events = client.open(&node, &call).await?;
    let mut done = 0;
    let mut read = 0;
    loop {
        let next = events.next().await;
        let is_broken = match next {
            Ok(Some(event)) => {
                let message = event.message();
                if is_response(&message) {
                    let result = result_in(message)?;
                    expect_equal(done, STEPS)?;
                    return expect_equal(text_of(&result), "counted down from 9");
                }
                if let Some(progress) = message["params"]["progress"].as_u64() {
                    expect_equal(progress, done + 1)?;
                    done = progress;
                    read += 1;
                }
                false
            }
            Ok(None) | Err(Failure::Unavailable(_)) => {
                sleep(RESUME_DELAY).await;
                true
            }
            Err(failure) => return Err(failure),
        };
        if is_broken || read == MESSAGES_PER_CONNECTION {
            events = resume(client, &session, events).await?;
            read = 0;
        }
    }
}

/// Resumes a stream on another node.
async fn resume(client: &NodeClient, session: &str, events: Events) -> Result<Events, Failure> {
    let last = events.last_id.clone();
    drop(events);
    let last = last.ok_or_else(|| Failure::Unavailable("the stream had no event".to_owned()))?;
    let resume = Request::get(session, LEGACY).with("Last-Event-ID", last.clone());
    let mut resumed = client.open_when_available(&resume).await?;
    // A connection without events can be resumed from the same event.
    resumed.last_id = Some(last);
    Ok(resumed)
}

/// How long a client waits for the end of a call that it has cancelled at another node. The engine passes a cancellation
/// on at most once, so a fault can lose one.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(15);

/// Cancels a call on another node. Its stream ends without a result.
pub(crate) async fn cancelled_call(client: &NodeClient) -> Result<(), Failure> {
    let lost = || Failure::Unavailable(format!("no effect within {CANCEL_TIMEOUT:?}"));
    let ended = timeout(CANCEL_TIMEOUT, call_and_cancel(client)).await;
    ended.unwrap_or_else(|_| Err(lost()))
}

async fn call_and_cancel(client: &NodeClient) -> Result<(), Failure> {
    let session = client.open_session().await?;
    let first = client.next_node();
    // It runs for minutes unless it is cancelled.
    let call = in_session(&session, &countdown(10_000, 50));
    let mut events = client.open(&first, &call).await?;
    let mut is_cancelled = false;
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            // A fault has ended the stream. If it has also lost the session, the client is told so when it resumes.
            Ok(None) | Err(Failure::Unavailable(_)) if !is_cancelled => {
                sleep(RESUME_DELAY).await;
                events = resume(client, &session, events).await?;
                continue;
            }
            Ok(None) => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let message = event.message();
        if is_response(&message) {
            result_in(message)?;
            return Err(Failure::Wrong("the cancelled call has a result".to_owned()));
        }
        if !is_cancelled && message["params"]["progress"].is_u64() {
            let cancel = in_session(&session, &cancel(1));
            let second = client.other_node(&first);
            client.send(&second, &cancel).await?;
            is_cancelled = true;
        }
    }
}
