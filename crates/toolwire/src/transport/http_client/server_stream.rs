//! The stream on which a legacy server sends what belongs to no request.

use std::sync::Weak;

use http::StatusCode;
use toolwire_proto::sse::Reconnects;

use crate::client::message_router::MessageRouter;
use crate::transport::http_client::endpoint::put_event_id;
use crate::transport::http_client::event_reader::EventReader;
use crate::transport::http_client::response;
use crate::transport::http_client::session::LegacySession;

/// Listens until the session ends, the server has no such stream, or it is lost too often without any news.
pub(super) async fn run_server_stream(session: Weak<LegacySession>, intake: MessageRouter) {
    let Some(limits) = session.upgrade().map(|session| session.limits.clone()) else {
        return;
    };
    let mut reconnects = Reconnects::new(limits.reconnects);
    let mut last_event_id: Option<String> = None;
    let mut wish = None;
    loop {
        let opened = open(&session, last_event_id.as_deref()).await;
        if let Some(session) = session.upgrade() {
            session.settle();
        }
        let Some(mut events) = opened else { return };
        loop {
            match events.next().await {
                Ok(Some(event)) if event.data.is_empty() => {}
                Ok(Some(event)) => {
                    reconnects.heard();
                    let Some(session) = session.upgrade() else {
                        return;
                    };
                    take(&session, &intake, event.data.as_bytes());
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "the stream of the session is closed");
                    break;
                }
            }
        }
        if let Some(id) = events.last_event_id() {
            last_event_id = Some(id.to_owned());
        }
        wish = events.reconnect_after().or(wish);
        let Ok(pause) = reconnects.next(wish) else {
            tracing::warn!("the stream of the session is lost; changes are not heard any more");
            return;
        };
        drop(events);
        tokio::time::sleep(pause).await;
    }
}

fn take(session: &LegacySession, intake: &MessageRouter, message: &[u8]) {
    let taken = intake.message(message, &mut |response| session.responded(response));
    if taken.is_err() {
        intake.inbox.skipped("an event that is no message");
    }
}

/// Opens the stream; `None` when there is none to be had.
async fn open(session: &Weak<LegacySession>, last_event_id: Option<&str>) -> Option<EventReader> {
    let session = session.upgrade()?;
    let mut reconnects = Reconnects::new(session.limits.reconnects);
    loop {
        let mut headers = session.headers();
        if let Some(id) = last_event_id {
            put_event_id(&mut headers, id).ok()?;
        }
        match session.endpoint.events(headers).await {
            Ok(response) if response.status() == StatusCode::OK => {
                let is_stream = response::is_stream(&response);
                let limit = session.endpoint.message_bytes;
                return is_stream.then(|| EventReader::new(response.into_body(), limit));
            }
            // 405 says that the server has nothing to say by itself; a lost session is found out by the next request.
            Ok(response) if !response.status().is_server_error() => {
                tracing::debug!(status = %response.status(), "no stream for the server's own messages");
                return None;
            }
            Ok(_) | Err(_) => {}
        }
        let pause = reconnects.next(None).ok()?;
        tokio::time::sleep(pause).await;
    }
}
