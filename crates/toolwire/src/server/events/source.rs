//! The trait of event sources.

use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolwire_proto::events::not_before;
use toolwire_types::ErrorObject;
use toolwire_types::events::DeliveryMode;

use crate::engine::since_epoch;
use crate::server::events::context::EventContext;
use crate::server::events::event::EventPage;
use crate::server::events::signal::EventSignal;
use crate::server::events::state::PAGE_EVENTS;

/// The interval at which a source without a signal is asked for new events.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A source of events of one type. [`Server::event`](crate::Server::event) registers it under a name.
///
/// One method serves all deliveries: [`after`](Self::after) returns the events after a position. For events that your
/// program does not store, use an [`Emitter`](crate::events::Emitter).
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use toolwire::events::{Event, EventContext, EventPage, EventSource, Since};
/// use toolwire::{ErrorObject, JsonSchema, Server};
///
/// struct Mails(Vec<Mail>);
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Filter { from: Option<String> }
///
/// /// A mail arrived.
/// #[derive(Clone, Serialize, JsonSchema)]
/// struct Mail { number: u64, from: String }
///
/// impl EventSource for Mails {
///     type Arguments = Filter;
///     type Payload = Mail;
///
///     async fn after(
///         &self,
///         _: &EventContext,
///         filter: &Filter,
///         since: Since<'_>,
///     ) -> Result<EventPage<Mail>, ErrorObject> {
///         let last = self.0.last().map_or(0, |mail| mail.number);
///         let Some(cursor) = since.cursor() else {
///             return Ok(EventPage::empty(last.to_string()));
///         };
///         let Ok(seen) = cursor.parse::<u64>() else {
///             return Ok(EventPage::empty(last.to_string()).truncated());
///         };
///         let is_wanted = |mail: &&Mail| {
///             mail.number > seen && filter.from.as_ref().is_none_or(|from| *from == mail.from)
///         };
///         let mut mails = self.0.iter().filter(is_wanted);
///         let events: Vec<_> = mails
///             .by_ref()
///             .take(since.limit())
///             .map(|mail| {
///                 let number = mail.number.to_string();
///                 Event::new(mail.clone()).with_id(format!("mail-{number}")).with_cursor(number)
///             })
///             .collect();
///         // The next page starts with the first mail that this one does not have.
///         Ok(match mails.next() {
///             Some(next) => EventPage::new(events, (next.number - 1).to_string()).with_more(),
///             None => EventPage::new(events, last.to_string()),
///         })
///     }
/// }
///
/// # #[cfg(feature = "client")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolwire::Error> {
/// # let mails = (1..=250).map(|number| Mail { number, from: "ann".to_owned() });
/// # let mails = Mails(mails.collect());
/// let server = Server::new("mails", "1.0.0").event("mail.received", mails);
/// # let client = toolwire::Client::in_process(&server).await?;
/// # let all = client.subscribe_events("mail.received", serde_json::json!({})).with_cursor("0");
/// # let mut all = all.await?;
/// # for number in 1..=250 {
/// #     let Some(toolwire::events::EventItem::Event(mail)) = all.next().await? else { panic!() };
/// #     assert_eq!(mail.event_id, format!("mail-{number}"));
/// # }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "client"))]
/// # fn main() {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of events",
    note = "implement `toolwire::events::EventSource`, or use a `toolwire::events::Emitter`"
)]
pub trait EventSource: Send + Sync + 'static {
    /// The arguments with which a client selects events. The input schema of the type is its schema.
    type Arguments: DeserializeOwned + JsonSchema + Send + Sync;

    /// The data of an event. The payload schema of the type is its schema.
    type Payload: Serialize + JsonSchema + Send + Sync;

    /// Whether [`subscribed`](Self::subscribed) and [`unsubscribed`](Self::unsubscribed) are called.
    const TRACKS_SUBSCRIPTIONS: bool = false;

    /// Returns the events after a position, oldest first.
    ///
    /// Without a cursor, the page has no events and the current position: a subscription starts now. An unknown cursor
    /// is not an error; the page then is [`truncated`](EventPage::truncated). The cursor is untrusted: return only
    /// events that this caller may see.
    ///
    /// # Errors
    /// A poll fails with the error. A stream reports it and continues.
    fn after(
        &self,
        ctx: &EventContext,
        arguments: &Self::Arguments,
        since: Since<'_>,
    ) -> impl Future<Output = Result<EventPage<Self::Payload>, ErrorObject>> + Send;

    /// Decides whether the caller may receive the events that these arguments select. It is called when a subscription
    /// starts and again before each delivery. Default: every caller may.
    ///
    /// # Errors
    /// A subscription fails or ends with the error, for example [`forbidden`](crate::events::forbidden).
    fn authorize(
        &self,
        ctx: &EventContext,
        arguments: &Self::Arguments,
    ) -> impl Future<Output = Result<(), ErrorObject>> + Send {
        let _ = (ctx, arguments);
        async { Ok(()) }
    }

    /// Returns the description that clients see. Default: the documentation of the payload type.
    fn description(&self) -> Option<String> {
        None
    }

    /// Returns the scopes that an access token must grant to receive the events over HTTP. Default: none.
    fn required_scopes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns how clients can get the events. A server without webhooks never offers that mode. Default: poll, push and
    /// webhook.
    fn delivery(&self) -> Vec<DeliveryMode> {
        vec![
            DeliveryMode::Poll,
            DeliveryMode::Push,
            DeliveryMode::Webhook,
        ]
    }

    /// Returns the interval at which clients should poll, and at which deliveries ask a source without a signal.
    /// Default: 5 s.
    fn poll_interval(&self) -> Duration {
        POLL_INTERVAL
    }

    /// Returns the signal that announces new events. Default: none.
    fn signal(&self) -> Option<EventSignal> {
        None
    }

    /// Runs when a caller begins to receive the events of these arguments, for example to subscribe to another service.
    /// Further subscriptions of the same caller with the same arguments do not run it again. A poll counts as a
    /// subscription for 5 minutes.
    ///
    /// # Errors
    /// The subscription fails with the error.
    fn subscribed(
        &self,
        ctx: &EventContext,
        arguments: &Self::Arguments,
    ) -> impl Future<Output = Result<(), ErrorObject>> + Send {
        let _ = (ctx, arguments);
        async { Ok(()) }
    }

    /// Runs when the last subscription of a caller with these arguments ended.
    fn unsubscribed(
        &self,
        ctx: &EventContext,
        arguments: &Self::Arguments,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, arguments);
        async {}
    }
}

/// The arguments of an event type that has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::exhaustive_structs, reason = "it never has members")]
pub struct NoArguments {}

/// The part of the history of a type that is requested.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Since<'a> {
    pub(crate) cursor: Option<&'a str>,
    pub(crate) not_before: Option<SystemTime>,
    pub(crate) limit: usize,
}

impl<'a> Since<'a> {
    /// Creates a request for events from now on, for tests of a source.
    #[must_use]
    pub fn now() -> Self {
        Self {
            cursor: None,
            not_before: None,
            limit: PAGE_EVENTS,
        }
    }

    /// Creates a request for the events after a cursor, for tests of a source.
    #[must_use]
    pub fn after(cursor: &'a str) -> Self {
        Self {
            cursor: Some(cursor),
            ..Self::now()
        }
    }

    /// Returns the position after which events are requested. Returns `None` if only the current position is requested.
    #[must_use]
    pub fn cursor(&self) -> Option<&'a str> {
        self.cursor
    }

    /// Returns the time before which events are not requested. If events are skipped for it, the page is truncated.
    #[must_use]
    pub fn not_before(&self) -> Option<SystemTime> {
        self.not_before
    }

    /// Returns the maximum number of events of the page.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }
}

/// Returns the time before which events are not replayed.
pub(crate) fn earliest(cursor: Option<&str>, max_age_ms: Option<u64>) -> Option<SystemTime> {
    let now_ms = u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX);
    let ms = not_before(cursor, max_age_ms, now_ms)?;
    UNIX_EPOCH.checked_add(Duration::from_millis(ms))
}
