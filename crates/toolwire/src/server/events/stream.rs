//! The method `events/stream`: a request whose notifications are the events.
//!
//! The stream asks the source for pages and sends their events. It sends nothing while the client does not read, so a
//! slow client costs one page of memory. The request ends when the type is removed or the caller loses its right, which
//! is announced with `notifications/events/terminated`. It also ends when the server shuts down or the token expires;
//! the client then opens another stream. A client ends it by cancelling the request, which drops the future here.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;
use toolwire_proto::events::unknown_event;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::stamp::stamp_error;
use toolwire_types::events::{
    DeliveryMode, EventErrorNotificationParams, StreamActiveNotificationParams, StreamEventsParams,
    StreamEventsResult, StreamHeartbeatNotificationParams,
};
use toolwire_types::{ErrorObject, Meta, RawJson};

use crate::engine::{Cancellation, Outcome, OutgoingNotification, deadline_after, since_epoch};
use crate::server::RequestContext;
use crate::server::events::context::EventContext;
use crate::server::events::entry::EventEntry;
use crate::server::events::erased::EncodedPage;
use crate::server::events::lookup::find;
use crate::server::events::source::{Since, earliest};
use crate::server::events::state::PAGE_EVENTS;
use crate::server::request::Exchange;

/// How long a stream waits before it looks again whether a client has read: at first, and for a client that does not read.
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
        signal: entry.source.signal().map(|signal| signal.subscribe()),
        not_before: earliest(params.cursor.as_deref(), params.max_age_ms),
        heartbeat: state.limits.heartbeat(),
        ended: Box::pin(ended(context)),
    };
    running.run(params.cursor).await?;
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
    signal: Option<watch::Receiver<()>>,
    /// The limit of the client for the first pages. Later events are never too old.
    not_before: Option<SystemTime>,
    heartbeat: Duration,
    /// Completes when the stream has to end without an error.
    ended: std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
}

/// Why a stream does not wait any longer.
enum Wake {
    /// New events may be there.
    Look,
    /// The event type was removed.
    Removed,
    /// The server shuts down, or the token expired.
    Ended,
}

impl OpenStream<'_> {
    /// Sends events until the subscription ends.
    ///
    /// # Errors
    /// Returns an error if the stream could not be opened.
    async fn run(&mut self, requested: Option<String>) -> Result<(), ErrorObject> {
        let first = self.page(requested.as_deref()).await?;
        // The client can continue at the position of this message, so no event of the page may be before it.
        let position = match requested {
            Some(requested) if !first.events.is_empty() => requested,
            _ => first.cursor.clone(),
        };
        self.sender.active(position, first.truncated);
        let (mut cursor, mut look_at) = self.deliver(first).await;
        let mut retry_pause = RETRY_PAUSES[0];
        loop {
            match self.wait(&cursor, look_at).await {
                Wake::Look => {}
                Wake::Removed => {
                    self.sender.terminated(unknown_event(self.entry.name()));
                    return Ok(());
                }
                Wake::Ended => return Ok(()),
            }
            if let Err(error) = self.entry.source.authorize(self.ctx, self.arguments).await {
                self.sender.terminated(error);
                return Ok(());
            }
            match self.page(Some(&cursor)).await {
                Ok(page) => {
                    retry_pause = RETRY_PAUSES[0];
                    if page.truncated {
                        let position = if page.events.is_empty() {
                            page.cursor.clone()
                        } else {
                            cursor
                        };
                        self.sender.active(position, true);
                    }
                    (cursor, look_at) = self.deliver(page).await;
                }
                Err(error) => {
                    self.sender.error(error);
                    look_at = Some(Instant::now() + retry_pause);
                    retry_pause = (2 * retry_pause).min(RETRY_PAUSES[1]);
                }
            }
        }
    }

    /// Requests the next page. Signals that are sent from now on end the next wait.
    async fn page(&mut self, cursor: Option<&str>) -> Result<EncodedPage, ErrorObject> {
        if let Some(signal) = &mut self.signal {
            signal.mark_unchanged();
        }
        let since = Since {
            cursor,
            not_before: self.not_before,
            limit: PAGE_EVENTS,
        };
        let page = self
            .entry
            .source
            .page(self.ctx, self.arguments, since)
            .await?;
        if !page.has_more {
            self.not_before = None;
        }
        Ok(page)
    }

    /// Sends the events of a page. Returns the position after them, and the time of the next look if more are ready.
    async fn deliver(&mut self, page: EncodedPage) -> (String, Option<Instant>) {
        for mut event in page.events {
            self.sender.wait_for_reader().await;
            event.meta = Some(self.sender.meta.clone());
            self.sender.send("notifications/events/event", &event);
        }
        (page.cursor, page.has_more.then(Instant::now))
    }

    /// Waits until there may be new events, at most until `look_at`, and sends heartbeats meanwhile.
    async fn wait(&mut self, cursor: &str, look_at: Option<Instant>) -> Wake {
        let interval = || deadline_after(Instant::now(), self.entry.source.poll_interval());
        let next_look = look_at.or_else(|| self.signal.is_none().then(interval));
        loop {
            let heartbeat = self.sender.last_sent + self.heartbeat;
            tokio::select! {
                biased;
                () = &mut self.ended => return Wake::Ended,
                () = self.entry.removed.cancelled() => return Wake::Removed,
                // Before the signal, which may be sent all the time for events that this stream does not select.
                () = tokio::time::sleep_until(heartbeat) => self.sender.heartbeat(cursor),
                () = changed(&mut self.signal) => return Wake::Look,
                () = sleep_until(next_look) => return Wake::Look,
            }
        }
    }
}

/// Waits for a signal. Without one, it waits forever.
async fn changed(signal: &mut Option<watch::Receiver<()>>) {
    if let Some(signal) = signal
        && signal.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
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

    /// Waits until the client has read enough for the next event.
    async fn wait_for_reader(&self) {
        let context = self.context.scope().transport();
        let shutdown = self.context.server().shutdown_signal();
        let mut pause = FULL_QUEUE_PAUSES[0];
        while context.is_full() && !shutdown.is_cancelled() {
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(FULL_QUEUE_PAUSES[1]);
        }
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
