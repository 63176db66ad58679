//! Sources of events without the types of their arguments and payloads.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::task_rules::time_text;
use toolwire_types::events::EventOccurrence;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::BoxFuture;
use crate::engine::schema_check::SchemaCheck;
use crate::engine::schema_pool::{CHECK_TIMEOUT, QuickCheck, SchemaPool};
use crate::server::events::context::EventContext;
use crate::server::events::event::{Event, EventData, EventPage};
use crate::server::events::signal::EventSignal;
use crate::server::events::source::{EventSource, Since};
use crate::server::events::state::MAX_PAGE_BYTES;

/// The maximum bytes of the arguments of a subscription.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 16 * 1024;

/// A source of events. The arguments of all methods but [`check`](Self::check) were checked before.
pub(crate) trait ErasedSource: Send + Sync {
    /// Rejects arguments that violate the input schema, with −32602.
    fn check<'a>(&'a self, arguments: &'a RawJson) -> BoxFuture<'a, Result<(), ErrorObject>>;

    /// Rejects a caller that may not receive the events of these arguments.
    fn authorize<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
    ) -> BoxFuture<'a, Result<(), ErrorObject>>;

    /// Returns the events after a position.
    fn page<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
        since: Since<'a>,
    ) -> BoxFuture<'a, Result<EncodedPage, ErrorObject>>;

    /// Returns the signal that announces new events, if the source has one.
    fn signal(&self) -> Option<EventSignal>;

    /// Returns the interval at which a source without a signal is asked.
    fn poll_interval(&self) -> Duration;

    /// Returns `true` if the source has the two hooks below.
    fn tracks_subscriptions(&self) -> bool;

    /// Runs the hook for the first subscription of a caller with these arguments.
    fn subscribed<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
    ) -> BoxFuture<'a, Result<(), ErrorObject>>;

    /// Runs the hook after the last subscription of a caller with these arguments.
    fn unsubscribed<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
    ) -> BoxFuture<'a, ()>;
}

/// The events after a position, as they are sent.
#[derive(Debug, Default)]
pub(crate) struct EncodedPage {
    /// The events, oldest first. The last one has the cursor of the page.
    pub(crate) events: Vec<EventOccurrence>,
    /// The position after the events.
    pub(crate) cursor: String,
    /// Whether events were skipped.
    pub(crate) truncated: bool,
    /// Whether more events are ready.
    pub(crate) has_more: bool,
}

/// A source with its types.
pub(super) struct TypedSource<S> {
    pub(super) name: Arc<str>,
    pub(super) source: S,
    /// The check of what serde does not check.
    pub(super) schema: Option<Arc<SchemaCheck>>,
    pub(super) pool: SchemaPool,
}

impl<S: EventSource> TypedSource<S> {
    fn decode<A: DeserializeOwned>(&self, arguments: &RawJson) -> Result<A, ErrorObject> {
        let mut deserializer = serde_json::Deserializer::from_str(arguments.get());
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let message = decode_message(error.inner());
            self.invalid(&match error.path().to_string() {
                root if root == "." => format!("arguments: {message}"),
                path => format!("arguments.{path}: {message}"),
            })
        })
    }

    fn invalid(&self, violations: &str) -> ErrorObject {
        ErrorObject::invalid_params(format!(
            "invalid arguments for event type `{}`: {violations}",
            self.name
        ))
    }

    async fn check_arguments(&self, arguments: &RawJson) -> Result<(), ErrorObject> {
        if !arguments.is_object() {
            return Err(self.invalid("arguments: expected an object"));
        }
        let bytes = arguments.get().len();
        if bytes > MAX_ARGUMENT_BYTES {
            return Err(self.invalid(&format!(
                "they have {bytes} bytes; the limit is {MAX_ARGUMENT_BYTES}"
            )));
        }
        if let Some(schema) = &self.schema {
            let checked = match schema.check_arguments_quickly(arguments.as_raw_value()) {
                QuickCheck::Done(checked) => checked,
                QuickCheck::Large => {
                    let (schema, arguments) = (Arc::clone(schema), arguments.clone());
                    let check = move || schema.check_arguments(arguments.as_raw_value());
                    let run = self.pool.run(CHECK_TIMEOUT, check).await;
                    run.unwrap_or_else(|problem| Err(problem.to_string()))
                }
            };
            checked.map_err(|violations| self.invalid(&violations))?;
        }
        self.decode::<S::Arguments>(arguments).map(drop)
    }

    fn encode(
        &self,
        page: EventPage<S::Payload>,
        limit: usize,
    ) -> Result<EncodedPage, ErrorObject> {
        let EventPage {
            mut events,
            mut cursor,
            truncated,
            mut has_more,
        } = page;
        if let Some(last) = events.last_mut() {
            last.cursor = Some(cursor.clone());
        }
        let mut encoded = Vec::with_capacity(events.len());
        let mut bytes = 0;
        // A source may return more than requested. The page ends at the last position within the limits, or at the first
        // one after them, and the rest is sent later.
        let mut end = 0;
        for event in &events {
            let occurrence = self.occurrence(event)?;
            bytes += occurrence.data.get().len() + occurrence.event_id.len();
            bytes += occurrence.cursor.as_ref().map_or(0, String::len);
            encoded.push(occurrence);
            let is_within_limits = encoded.len() <= limit && bytes <= MAX_PAGE_BYTES;
            if !is_within_limits && end > 0 {
                break;
            }
            if event.cursor.is_some() {
                end = encoded.len();
            }
        }
        encoded.truncate(end);
        if end < events.len()
            && let Some(after) = encoded.last().and_then(|last| last.cursor.clone())
        {
            cursor = after;
            has_more = true;
        }
        Ok(EncodedPage {
            events: encoded,
            cursor,
            truncated,
            has_more,
        })
    }

    fn occurrence(
        &self,
        event: &Event<EventData<S::Payload>>,
    ) -> Result<EventOccurrence, ErrorObject> {
        let data = event.data.encode().map_err(|error| {
            ErrorObject::internal(format!(
                "an event of type `{}` could not be written as JSON: {error}",
                self.name
            ))
        })?;
        // The position after an event is as stable as an id.
        let Some(id) = event.id.as_deref().or(event.cursor.as_deref()) else {
            return Err(ErrorObject::internal(format!(
                "an event of type `{}` has no id; set it with `Event::with_id`",
                self.name
            )));
        };
        let time = time_text(epoch_ms(event.time));
        let mut occurrence = EventOccurrence::new(id, &*self.name, time, (*data).clone());
        occurrence.cursor.clone_from(&event.cursor);
        Ok(occurrence)
    }
}

impl<S: EventSource> ErasedSource for TypedSource<S> {
    fn check<'a>(&'a self, arguments: &'a RawJson) -> BoxFuture<'a, Result<(), ErrorObject>> {
        Box::pin(self.check_arguments(arguments))
    }

    fn authorize<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
    ) -> BoxFuture<'a, Result<(), ErrorObject>> {
        Box::pin(async move {
            let arguments = self.decode(arguments)?;
            self.source.authorize(ctx, &arguments).await
        })
    }

    fn page<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
        since: Since<'a>,
    ) -> BoxFuture<'a, Result<EncodedPage, ErrorObject>> {
        Box::pin(async move {
            let arguments = self.decode(arguments)?;
            let page = self.source.after(ctx, &arguments, since).await?;
            self.encode(page, since.limit)
        })
    }

    fn signal(&self) -> Option<EventSignal> {
        self.source.signal()
    }

    fn poll_interval(&self) -> Duration {
        self.source.poll_interval()
    }

    fn tracks_subscriptions(&self) -> bool {
        S::TRACKS_SUBSCRIPTIONS
    }

    fn subscribed<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
    ) -> BoxFuture<'a, Result<(), ErrorObject>> {
        Box::pin(async move {
            let arguments = self.decode(arguments)?;
            self.source.subscribed(ctx, &arguments).await
        })
    }

    fn unsubscribed<'a>(
        &'a self,
        ctx: &'a EventContext,
        arguments: &'a RawJson,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(arguments) = self.decode(arguments) {
                self.source.unsubscribed(ctx, &arguments).await;
            }
        })
    }
}

/// Returns the milliseconds since 1970-01-01, or 0 for an earlier time.
pub(super) fn epoch_ms(time: SystemTime) -> u64 {
    let elapsed = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::TokenInfo;
    use crate::server::events::source::NoArguments;

    /// Events of these sizes. Only those with `true` have a position, and the last one.
    struct Sizes(Vec<(usize, bool)>);

    impl EventSource for Sizes {
        type Arguments = NoArguments;
        type Payload = String;

        async fn after(
            &self,
            _: &EventContext,
            _: &NoArguments,
            _: Since<'_>,
        ) -> Result<EventPage<String>, ErrorObject> {
            let events = self.0.iter().enumerate().map(|(at, (bytes, has_cursor))| {
                // The id has one byte, the quotes two, and the cursor three.
                let is_position = *has_cursor || at + 1 == self.0.len();
                let bytes = bytes - 3 - if is_position { 3 } else { 0 };
                let event = Event::new("x".repeat(bytes)).with_id(at.to_string());
                if *has_cursor {
                    event.with_cursor(format!("at{at}"))
                } else {
                    event
                }
            });
            Ok(EventPage::new(events, "end"))
        }
    }

    async fn page(sizes: &[(usize, bool)]) -> (usize, String, bool) {
        let source = TypedSource {
            name: "x".into(),
            source: Sizes(sizes.to_vec()),
            schema: None,
            pool: SchemaPool::default(),
        };
        let since = Since {
            limit: 4,
            ..Since::now()
        };
        let ctx = EventContext::new(TokenInfo::default());
        let page = source.page(&ctx, &RawJson::empty_object(), since).await;
        let page = page.unwrap();
        let last = page.events.last().unwrap();
        assert_eq!(last.cursor.as_deref(), Some(&*page.cursor));
        (page.events.len(), page.cursor, page.has_more)
    }

    #[tokio::test]
    async fn page_ends_at_a_position_within_its_limits() {
        const HALF: usize = MAX_PAGE_BYTES / 2;
        let check = async |sizes: &[(usize, bool)], events: usize, cursor: &str| {
            let has_more = events < sizes.len();
            let expected = (events, cursor.to_owned(), has_more);
            assert_eq!(page(sizes).await, expected, "{sizes:?}");
        };
        check(&[(6, true); 4], 4, "end").await;
        check(&[(6, true); 5], 4, "at3").await;
        check(&[(HALF, true); 2], 2, "end").await;
        check(&[(HALF, true), (HALF, true), (6, true)], 2, "at1").await;
        check(&[(HALF, true), (HALF + 1, true)], 1, "at0").await;
        check(&[(2 * HALF + 1, true), (6, true)], 1, "at0").await;
        // The first position after the limits.
        check(&[(HALF, false), (HALF + 1, true), (6, true)], 2, "at1").await;
        check(&[(6, false); 6], 6, "end").await;
        // The last position within the limits.
        check(&[(6, true), (6, false), (HALF * 2, true)], 1, "at0").await;
    }
}
