//! The method `events/stream`: a request whose notifications are the events.
//!
//! The stream asks the source for pages and sends their events. It sends nothing while the client does not read, so a
//! slow client costs one page of memory. Heartbeats are sent while the source works. The request ends when the type is
//! removed or the caller loses its right, which is announced with `notifications/events/terminated`. It also ends when the
//! server shuts down or the token expires; the client then opens another stream. A client ends it by cancelling the
//! request, which drops the future here.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::time::Instant;
use toolwire_proto::events::unknown_event;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::stamp::stamp_error;
use toolwire_types::events::{
    DeliveryMode, EventErrorNotificationParams, StreamActiveNotificationParams, StreamEventsParams,
    StreamEventsResult, StreamHeartbeatNotificationParams,
};
use toolwire_types::{ErrorObject, Meta, RawJson};

use crate::engine::{
    BoxFuture, Cancellation, Outcome, OutgoingNotification, TransportContext, deadline_after,
    since_epoch,
};
use crate::server::RequestContext;
use crate::server::events::context::EventContext;
use crate::server::events::entry::EventEntry;
use crate::server::events::erased::EncodedPage;
use crate::server::events::lookup::find;
use crate::server::events::signal::NewEvents;
use crate::server::events::source::{Since, earliest};
use crate::server::events::state::PAGE_EVENTS;
use crate::server::request::Exchange;

/// How long a stream waits before it looks again whether a client has read: at first, and for a client that does not
/// read.
const FULL_QUEUE_PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// How long a stream waits before it asks a source again that failed: at first, and after repeated failures.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(15)];

/// Serves `events/stream` until the subscription ends.
pub(super) async fn stream(exchange: &Exchange) -> Outcome {
    let params: StreamEventsParams = exchange.decode_params()?;
    let snapshot = exchange.snapshot();
    let state = &snapshot.events.state;
    let context = &exchange.context;
    let entry = find(snapshot, context, &params.name)?;
    entry.check_mode(&DeliveryMode::Push, false)?;
    let ctx = EventContext::new(context.auth().clone());
    let arguments = params.arguments.unwrap_or_else(RawJson::empty_object);
    entry.admit(&ctx, &arguments).await?;
    let _permit = state.open_stream()?;
    let _subscription = entry.subscribe(&ctx, &arguments).await?;
    let mut running = OpenStream {
        entry,
        ctx: &ctx,
        arguments: &arguments,
        sender: StreamSender {
            meta: Meta::for_subscription(context.request_id()),
            context,
            last_sent: Instant::now(),
        },
        not_before: earliest(params.cursor.as_deref(), params.max_age_ms),
        heartbeat: state.limits.heartbeat(),
        ended: Box::pin(ended(context)),
    };
    match running.run(params.cursor).await {
        // An error before the first message is the response.
        EventStreamEnd::Rejected(error) => return Err(error),
        EventStreamEnd::Terminated(error) => running.sender.terminated(error),
        EventStreamEnd::Closed => {}
    }
    snapshot.finish(
        StreamEventsResult::new(context.request_id()),
        context.version(),
    )
}

/// Waits until the server shuts down or the token of the caller expires.
async fn ended(context: &RequestContext) {
    let shutdown: Cancellation = context.server().shutdown_signal().clone();
    let expires_at = context.auth().expires_at;
    let expiry = async move {
        let Some(end) = expires_at else {
            return std::future::pending().await;
        };
        let end = end.duration_since(SystemTime::UNIX_EPOCH);
        let left = end.unwrap_or_default().saturating_sub(since_epoch());
        tokio::time::sleep_until(deadline_after(Instant::now(), left)).await;
    };
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = expiry => {}
    }
}

/// An open stream.
struct OpenStream<'a> {
    entry: &'a Arc<EventEntry>,
    ctx: &'a EventContext,
    arguments: &'a RawJson,
    sender: StreamSender<'a>,
    /// The limit of the client for the first pages. Later events are never too old.
    not_before: Option<SystemTime>,
    heartbeat: Duration,
    /// Completes when the stream has to end without an error.
    ended: std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
}

/// How a stream ends.
enum EventStreamEnd {
    /// It could not be opened.
    Rejected(ErrorObject),
    /// The subscription ended.
    Terminated(ErrorObject),
    /// The server shuts down, or the token expired.
    Closed,
}

impl<'a> OpenStream<'a> {
    /// Sends events until the stream ends.
    async fn run(&mut self, requested: Option<String>) -> EventStreamEnd {
        match self.try_run(requested).await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn try_run(&mut self, requested: Option<String>) -> Result<Infallible, EventStreamEnd> {
        let source = &self.entry.source;
        let mut new_events = NewEvents::new(source.signal(), source.poll_interval());
        // No heartbeat may be sent before the first message.
        let first = self.page(requested.as_deref());
        let first = self.while_open(None, first).await?;
        let first = first.map_err(EventStreamEnd::Rejected)?;
        // The client can continue at the position of this message, so no event of the page may be before it.
        let position = match requested {
            Some(requested) if !first.events.is_empty() => requested,
            _ => first.cursor.clone(),
        };
        self.sender.active(position.clone(), first.truncated);
        let mut has_more = first.has_more;
        let mut cursor = self.deliver(position, first).await?;
        let mut retry_pause = RETRY_PAUSES[0];
        loop {
            if !has_more {
                self.while_open(Some(&cursor), new_events.wait()).await?;
            }
            // Signals that are sent from now on end the next wait.
            new_events.mark_seen();
            let authorized = self.entry.source.authorize(self.ctx, self.arguments);
            let authorized = self.while_open(Some(&cursor), authorized).await?;
            authorized.map_err(EventStreamEnd::Terminated)?;
            let page = self.page(Some(&cursor));
            match self.while_open(Some(&cursor), page).await? {
                Ok(page) => {
                    retry_pause = RETRY_PAUSES[0];
                    if page.truncated {
                        if page.events.is_empty() {
                            cursor.clone_from(&page.cursor);
                        }
                        self.sender.active(cursor.clone(), true);
                    }
                    has_more = page.has_more;
                    cursor = self.deliver(cursor, page).await?;
                }
                Err(error) => {
                    self.sender.error(error);
                    let pause = tokio::time::sleep(retry_pause);
                    self.while_open(Some(&cursor), pause).await?;
                    retry_pause = (2 * retry_pause).min(RETRY_PAUSES[1]);
                    has_more = true;
                }
            }
        }
    }

    /// Returns the request for the next page.
    fn page<'b>(&self, cursor: Option<&'b str>) -> BoxFuture<'b, Result<EncodedPage, ErrorObject>>
    where
        'a: 'b,
    {
        let since = Since {
            cursor,
            not_before: self.not_before,
            limit: PAGE_EVENTS,
        };
        self.entry.source.page(self.ctx, self.arguments, since)
    }

    /// Sends the events of a page, which starts at `position`. Returns the position after them.
    async fn deliver(
        &mut self,
        mut position: String,
        page: EncodedPage,
    ) -> Result<String, EventStreamEnd> {
        if !page.has_more {
            self.not_before = None;
        }
        for mut event in page.events {
            let transport = self.sender.context.scope().transport();
            if transport.is_full() {
                self.while_open(Some(&position), wait_for_reader(&**transport))
                    .await?;
            }
            event.meta = Some(self.sender.meta.clone());
            self.sender.send("notifications/events/event", &event);
            if let Some(after) = event.cursor {
                position = after;
            }
        }
        Ok(page.cursor)
    }

    /// Runs a future, and sends heartbeats with this position meanwhile.
    ///
    /// # Errors
    /// Returns the reason if the stream has to end before the future completes.
    async fn while_open<T>(
        &mut self,
        position: Option<&str>,
        work: impl Future<Output = T>,
    ) -> Result<T, EventStreamEnd> {
        tokio::pin!(work);
        loop {
            let heartbeat =
                position.map(|position| (self.sender.last_sent + self.heartbeat, position));
            tokio::select! {
                biased;
                () = &mut self.ended => return Err(EventStreamEnd::Closed),
                () = self.entry.removed.cancelled() => {
                    let error = unknown_event(self.entry.name());
                    return Err(match position {
                        Some(_) => EventStreamEnd::Terminated(error),
                        None => EventStreamEnd::Rejected(error),
                    });
                }
                // Before the work, which may be ready all the time for events that this stream does not select.
                position = due(heartbeat) => self.sender.heartbeat(position),
                value = &mut work => return Ok(value),
            }
        }
    }
}

/// Waits for the time of a heartbeat, and returns its position. Without one, it waits for ever.
async fn due(heartbeat: Option<(Instant, &str)>) -> &str {
    match heartbeat {
        Some((at, position)) => {
            tokio::time::sleep_until(at).await;
            position
        }
        None => std::future::pending().await,
    }
}

/// Waits until the client has read enough for the next event.
async fn wait_for_reader(transport: &dyn TransportContext) {
    let mut pause = FULL_QUEUE_PAUSES[0];
    while transport.is_full() {
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(FULL_QUEUE_PAUSES[1]);
    }
}

/// Sends the notifications of a stream. Each has the subscription id.
struct StreamSender<'a> {
    context: &'a RequestContext,
    meta: Meta,
    last_sent: Instant,
}

impl StreamSender<'_> {
    fn active(&mut self, cursor: String, truncated: bool) {
        let mut params = StreamActiveNotificationParams::new(Some(cursor), truncated);
        params.meta = Some(self.meta.clone());
        self.send("notifications/events/active", &params);
    }

    /// Sends a heartbeat, unless the client does not read. It then has other messages to read, and heartbeats would
    /// accumulate.
    fn heartbeat(&mut self, cursor: &str) {
        if self.context.scope().transport().is_full() {
            self.last_sent = Instant::now();
            return;
        }
        let mut params = StreamHeartbeatNotificationParams::new(Some(cursor.to_owned()));
        params.meta = Some(self.meta.clone());
        self.send("notifications/events/heartbeat", &params);
    }

    fn error(&mut self, error: ErrorObject) {
        let error = stamp_error(error, self.context.version());
        let mut params = EventErrorNotificationParams::new(error);
        params.meta = Some(self.meta.clone());
        self.send("notifications/events/error", &params);
    }

    fn terminated(&mut self, error: ErrorObject) {
        let error = stamp_error(error, self.context.version());
        let mut params = EventErrorNotificationParams::new(error);
        params.meta = Some(self.meta.clone());
        self.send("notifications/events/terminated", &params);
    }

    fn send<P: Serialize>(&mut self, method: &'static str, params: &P) {
        self.last_sent = Instant::now();
        match OutgoingNotification::write(method, params, OutgoingKind::Other) {
            Ok(notification) => self.context.scope().send(notification),
            Err(error) => {
                tracing::warn!(method, %error, "a notification could not be written as JSON");
            }
        }
    }
}
