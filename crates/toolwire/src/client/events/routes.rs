//! Routes the notifications of event streams to their subscriptions.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use toolwire_proto::requests::spellings;
use toolwire_proto::subscriptions::subscription_of;
use toolwire_types::events::{
    EventErrorNotificationParams, EventOccurrence, StreamActiveNotificationParams,
    StreamHeartbeatNotificationParams,
};
use toolwire_types::{ErrorObject, RequestId};

use crate::sync::lock;

/// The maximum number of messages of one stream that wait for the application.
const MAX_QUEUED_MESSAGES: usize = 1024;

/// The maximum bytes of these messages.
const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;

/// A message of an event stream.
#[derive(Debug, PartialEq)]
pub(super) enum StreamMessage {
    Active {
        cursor: Option<String>,
        truncated: bool,
    },
    Event(EventOccurrence),
    Heartbeat {
        cursor: Option<String>,
    },
    Error(ErrorObject),
    Terminated(ErrorObject),
    /// Messages were dropped, because the application does not read.
    Overflow,
}

/// The open event streams of a connection, by the id of their request.
#[derive(Debug, Default)]
pub(crate) struct EventRoutes {
    streams: Mutex<HashMap<RequestId, Arc<StreamMessages>>>,
}

impl EventRoutes {
    /// Returns `true` if a notification belongs to an event stream.
    pub(crate) fn serves(method: &str) -> bool {
        matches!(
            method,
            "notifications/events/active"
                | "notifications/events/error"
                | "notifications/events/event"
                | "notifications/events/heartbeat"
                | "notifications/events/terminated"
        )
    }

    /// Adds a stream until the guard is dropped.
    pub(super) fn open(
        routes: &Arc<Self>,
        id: &RequestId,
    ) -> (EventRouteGuard, Arc<StreamMessages>) {
        let messages = Arc::new(StreamMessages::default());
        lock(&routes.streams).insert(id.clone(), Arc::clone(&messages));
        let guard = EventRouteGuard {
            routes: Arc::clone(routes),
            id: id.clone(),
        };
        (guard, messages)
    }

    /// Queues a notification. Returns `false` if it is malformed or belongs to no open stream.
    pub(crate) fn deliver(&self, method: &str, params: Option<&RawValue>) -> bool {
        let Some(params) = params else {
            return false;
        };
        let Some(id) = subscription_of(params) else {
            return false;
        };
        let stream = {
            let streams = lock(&self.streams);
            spellings(&id).find_map(|id| streams.get(&id).cloned())
        };
        let (Some(stream), Some(message)) = (stream, read(method, params)) else {
            return false;
        };
        stream.push(message, params.get().len());
        true
    }
}

fn read(method: &str, params: &RawValue) -> Option<StreamMessage> {
    fn parse<T: DeserializeOwned>(params: &RawValue) -> Option<T> {
        serde_json::from_str(params.get()).ok()
    }

    Some(match method {
        "notifications/events/active" => {
            let active: StreamActiveNotificationParams = parse(params)?;
            StreamMessage::Active {
                cursor: active.cursor,
                truncated: active.truncated,
            }
        }
        "notifications/events/event" => StreamMessage::Event(parse(params)?),
        "notifications/events/heartbeat" => {
            let heartbeat: StreamHeartbeatNotificationParams = parse(params)?;
            StreamMessage::Heartbeat {
                cursor: heartbeat.cursor,
            }
        }
        "notifications/events/error" => {
            let failed: EventErrorNotificationParams = parse(params)?;
            StreamMessage::Error(failed.error)
        }
        "notifications/events/terminated" => {
            let ended: EventErrorNotificationParams = parse(params)?;
            StreamMessage::Terminated(ended.error)
        }
        _ => return None,
    })
}

/// Removes a stream when it is dropped.
#[derive(Debug)]
pub(super) struct EventRouteGuard {
    routes: Arc<EventRoutes>,
    id: RequestId,
}

impl Drop for EventRouteGuard {
    fn drop(&mut self) {
        lock(&self.routes.streams).remove(&self.id);
    }
}

/// The messages of one stream that were not read yet.
#[derive(Debug, Default)]
pub(super) struct StreamMessages {
    queue: Mutex<Queued>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Queued {
    messages: VecDeque<(StreamMessage, usize)>,
    bytes: usize,
    /// Set when a message was dropped. Nothing is accepted any more.
    overflowed: bool,
}

impl StreamMessages {
    fn push(&self, message: StreamMessage, bytes: usize) {
        let mut queue = lock(&self.queue);
        if queue.overflowed {
            return;
        }
        let is_full = queue.messages.len() >= MAX_QUEUED_MESSAGES
            || (!queue.messages.is_empty() && queue.bytes + bytes > MAX_QUEUED_BYTES);
        if is_full {
            queue.overflowed = true;
        } else {
            queue.bytes += bytes;
            queue.messages.push_back((message, bytes));
        }
        drop(queue);
        self.arrived.notify_one();
    }

    /// Waits for the next message. Dropping the future loses nothing.
    pub(super) async fn next(&self) -> StreamMessage {
        loop {
            {
                let mut queue = lock(&self.queue);
                if let Some((message, bytes)) = queue.messages.pop_front() {
                    queue.bytes -= bytes;
                    return message;
                }
                if queue.overflowed {
                    return StreamMessage::Overflow;
                }
            }
            self.arrived.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::RawJson;

    use super::*;

    fn heartbeat(id: &serde_json::Value, cursor: &str) -> RawJson {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        json!({"cursor": cursor, "_meta": meta}).into()
    }

    #[tokio::test]
    async fn messages_reach_only_their_stream() {
        let routes = Arc::new(EventRoutes::default());
        let (guard, messages) = EventRoutes::open(&routes, &RequestId::from(1));
        let deliver = |id: serde_json::Value| {
            let params = heartbeat(&id, "c");
            routes.deliver(
                "notifications/events/heartbeat",
                Some(params.as_raw_value()),
            )
        };
        assert!(deliver(json!(1)));
        assert!(!deliver(json!(2)));
        assert!(!routes.deliver("notifications/events/heartbeat", None));
        let cursor = Some("c".to_owned());
        assert_eq!(messages.next().await, StreamMessage::Heartbeat { cursor });
        drop(guard);
        assert!(!deliver(json!(1)));
    }

    #[tokio::test]
    async fn full_queue_ends_the_stream_after_its_messages() {
        let check = async |cursor: String, stored: usize| {
            let messages = StreamMessages::default();
            for _ in 0..=stored {
                let cursor = Some(cursor.clone());
                let bytes = cursor.as_ref().map_or(0, String::len);
                messages.push(StreamMessage::Heartbeat { cursor }, bytes);
            }
            for _ in 0..stored {
                assert!(matches!(
                    messages.next().await,
                    StreamMessage::Heartbeat { .. }
                ));
            }
            assert_eq!(messages.next().await, StreamMessage::Overflow);
        };
        check(String::new(), MAX_QUEUED_MESSAGES).await;
        check("x".repeat(MAX_QUEUED_BYTES / 4), 4).await;
        check("x".repeat(MAX_QUEUED_BYTES + 1), 1).await;
    }
}
