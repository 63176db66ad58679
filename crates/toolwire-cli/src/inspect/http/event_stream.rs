//! The stream of events to one page.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Either;
use hyper::StatusCode;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendError;

use crate::inspect::http::event_body::EventBody;
use crate::inspect::http::response::{PageResponse, response};
use crate::inspect::inspector::Inspector;

/// The number of chunks that wait for a slow page. The log and the events have limits of their own.
const MAX_CHUNKS: usize = 4;

/// The number of log entries in one event.
const LOG_PART: usize = 1000;

/// The interval of comments, by which a lost connection is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Returns a stream of all events from now on, and of the log after the entry with this number.
pub(super) fn open(inspector: &Arc<Inspector>, after: u64) -> PageResponse {
    let (send, receive) = mpsc::channel(MAX_CHUNKS);
    let inspector = Arc::clone(inspector);
    tokio::spawn(async move {
        // The stream ends when the page closes it.
        let _ = write(&inspector, after, &send).await;
    });
    let body = Either::Right(EventBody(receive));
    response(StatusCode::OK, "text/event-stream", body)
}

async fn write(
    inspector: &Inspector,
    mut after: u64,
    send: &mpsc::Sender<Bytes>,
) -> Result<(), SendError<Bytes>> {
    let mut events = inspector.events.receive();
    let mut newest = inspector.log.newest();
    // The state contains everything before the first event that `events` receives.
    send.send(event("state", &inspector.state().to_string()))
        .await?;
    loop {
        newest.mark_unchanged();
        let entries = inspector.log.after(after, LOG_PART);
        if let Some(last) = entries.last() {
            after = last.seq;
            let data = serde_json::to_string(&entries).unwrap_or_else(|_| "[]".to_owned());
            send.send(event("log", &data)).await?;
            continue;
        }
        let chunk = tokio::select! {
            received = events.recv() => match received {
                Ok(received) => event(received.name, &received.data),
                Err(RecvError::Lagged(_)) => event("reset", "{}"),
                Err(RecvError::Closed) => return Ok(()),
            },
            changed = newest.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return Ok(()),
            },
            () = tokio::time::sleep(KEEP_ALIVE) => Bytes::from_static(b":\n\n"),
            () = send.closed() => return Ok(()),
        };
        send.send(chunk).await?;
    }
}

/// Writes an event. JSON contains no line breaks.
fn event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
