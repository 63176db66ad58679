//! The stream of events to one page.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Either;
use hyper::StatusCode;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendError;

use crate::inspect::events::InspectEvent;
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
    send.send(state(inspector)).await?;
    loop {
        newest.mark_unchanged();
        let entries = inspector.log.after(after, LOG_PART);
        if let Some(last) = entries.last() {
            after = last.seq;
            let data = serde_json::to_string(&entries).unwrap_or_else(|_| "[]".to_owned());
            send.send(event("log", &data)).await?;
        }
        let next = if entries.is_empty() {
            tokio::select! {
                received = events.recv() => Some(received),
                changed = newest.changed() => match changed {
                    Ok(()) => None,
                    Err(_) => return Ok(()),
                },
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    send.send(Bytes::from_static(b":\n\n")).await?;
                    None
                }
                () = send.closed() => return Ok(()),
            }
        } else {
            waiting(&mut events)
        };
        // A growing log does not delay the events, and many events do not delay the log.
        let others = std::iter::from_fn(|| waiting(&mut events)).take(LOG_PART);
        let received: Vec<_> = next.into_iter().chain(others).collect();
        for one in received {
            match one {
                Ok(one) => send.send(event(one.name, &one.data)).await?,
                Err(RecvError::Lagged(_)) => {
                    // The state contains also what the skipped events report.
                    events = inspector.events.receive();
                    send.send(event("reset", "{}")).await?;
                    send.send(state(inspector)).await?;
                    break;
                }
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    }
}

/// Returns the next event, if one waits.
fn waiting(events: &mut Receiver<InspectEvent>) -> Option<Result<InspectEvent, RecvError>> {
    match events.try_recv() {
        Ok(received) => Some(Ok(received)),
        Err(TryRecvError::Lagged(missed)) => Some(Err(RecvError::Lagged(missed))),
        Err(TryRecvError::Closed) => Some(Err(RecvError::Closed)),
        Err(TryRecvError::Empty) => None,
    }
}

fn state(inspector: &Inspector) -> Bytes {
    event("state", &inspector.state().to_string())
}

/// Writes an event. JSON contains no line breaks.
fn event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::events::MAX_WAITING;
    use crate::inspect::tests::inspector_without_server;

    /// A stream, as the names of its events.
    struct Stream(mpsc::Receiver<Bytes>);

    impl Stream {
        /// Opens a stream that waits before each event until the one before is read.
        fn open(inspector: &Arc<Inspector>) -> Self {
            let (send, receive) = mpsc::channel(1);
            let inspector = Arc::clone(inspector);
            tokio::spawn(async move { write(&inspector, 0, &send).await.is_err() });
            Self(receive)
        }

        async fn names(&mut self, count: usize) -> Vec<String> {
            let mut names = Vec::new();
            while names.len() < count {
                let chunk = self.0.recv().await.expect("an event");
                let text = String::from_utf8_lossy(&chunk);
                let line = text.lines().next().expect("a line");
                names.push(line.trim_start_matches("event: ").to_owned());
            }
            names
        }
    }

    #[tokio::test]
    async fn long_log_does_not_delay_the_events() {
        let inspector = inspector_without_server();
        for _ in 0..3 * LOG_PART {
            inspector.note("entry");
        }
        let mut stream = Stream::open(&inspector);
        assert_eq!(stream.names(1).await, ["state"]);
        inspector.events.send("call", &1);
        assert_eq!(stream.names(4).await, ["log", "call", "log", "log"]);
    }

    #[tokio::test]
    async fn page_that_missed_events_gets_the_state_again() {
        let inspector = inspector_without_server();
        let mut stream = Stream::open(&inspector);
        assert_eq!(stream.names(1).await, ["state"]);
        tokio::task::yield_now().await;
        for number in 0..2 * MAX_WAITING {
            inspector.events.send("call", &number);
        }
        assert_eq!(stream.names(2).await, ["reset", "state"]);
        inspector.events.send("call", &1);
        assert_eq!(stream.names(1).await, ["call"]);
    }
}
