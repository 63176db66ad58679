//! Reads the server stream: the event stream for messages of a legacy server that belong to no request.

use std::sync::Weak;

use http::StatusCode;
use toolwire_proto::sse::Reconnects;

use crate::client::message_router::MessageRouter;
use crate::transport::http_client::endpoint::insert_event_id;
use crate::transport::http_client::event_reader::EventReader;
use crate::transport::http_client::response;
use crate::transport::http_client::session::LegacySession;

/// Reads the server stream until the session ends, the server does not support it, or too many attempts bring no event.
pub(super) async fn run_server_stream(session: Weak<LegacySession>, router: MessageRouter) {
    let Some(limits) = session.upgrade().map(|session| session.limits.clone()) else {
        return;
    };
    let mut reconnects = Reconnects::new(limits.reconnects);
    let mut last_event_id: Option<String> = None;
    let mut retry = None;
    loop {
        let opened = open(&session, last_event_id.as_deref()).await;
        if let Some(session) = session.upgrade() {
            session.set_server_stream_ready();
        }
        let Some(mut events) = opened else { return };
        loop {
            match events.next().await {
                Ok(Some(event)) if event.data.is_empty() => {}
                Ok(Some(event)) => {
                    reconnects.record_event();
                    let Some(session) = session.upgrade() else {
                        return;
                    };
                    route(&session, &router, event.data.as_bytes());
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "the server stream is closed");
                    break;
                }
            }
        }
        if let Some(id) = events.last_event_id() {
            last_event_id = Some(id.to_owned());
        }
        retry = events.reconnect_after().or(retry);
        let Ok(pause) = reconnects.next(retry) else {
            tracing::warn!(
                "the server stream is lost; the client receives no more change notifications"
            );
            return;
        };
        drop(events);
        tokio::time::sleep(pause).await;
    }
}

/// Routes one message of the stream.
fn route(session: &LegacySession, router: &MessageRouter, message: &[u8]) {
    let routed = router.route(message, None, &mut |response| session.deliver(response));
    if routed.is_err() {
        router
            .incoming
            .count_skipped("an event that is not a message");
    }
}

/// Opens the stream. Returns `None` if the server does not support it or cannot be reached.
async fn open(session: &Weak<LegacySession>, last_event_id: Option<&str>) -> Option<EventReader> {
    let session = session.upgrade()?;
    let mut reconnects = Reconnects::new(session.limits.reconnects);
    loop {
        let mut headers = session.headers();
        if let Some(id) = last_event_id {
            insert_event_id(&mut headers, id).ok()?;
        }
        match session.endpoint.events(headers).await {
            Ok(response) if response.status() == StatusCode::OK => {
                let is_stream = response::is_stream(&response);
                let limit = session.endpoint.message_bytes;
                return is_stream.then(|| EventReader::new(response.into_body(), limit));
            }
            // With 405 the server has no server stream. The next request detects a lost session.
            Ok(response) if !response.status().is_server_error() => {
                tracing::debug!(status = %response.status(), "the server has no server stream");
                return None;
            }
            Ok(_) | Err(_) => {}
        }
        let pause = reconnects.next(None).ok()?;
        tokio::time::sleep(pause).await;
    }
}
