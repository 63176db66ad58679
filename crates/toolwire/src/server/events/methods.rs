//! The methods `events/list` and `events/poll`, and the routes of the others.

use std::sync::Arc;

use serde::Deserialize;
use toolwire_types::RawJson;
use toolwire_types::events::{
    DeliveryMode, ListEventsParams, ListEventsResult, PollEventsParams, PollEventsResult,
};

use crate::engine::Outcome;
use crate::server::events::context::EventContext;
use crate::server::events::entry::EventEntry;
use crate::server::events::lookup::find;
use crate::server::events::source::{Since, earliest};
use crate::server::events::stream::stream;
use crate::server::events::webhook_methods::{subscribe, unsubscribe};
use crate::server::optional_methods::OptionalMethods;
use crate::server::pagination::page;
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;

/// The methods of a server with events.
pub(crate) static EVENTS: OptionalMethods = OptionalMethods {
    name: "events",
    respond: |snapshot, exchange| match exchange.route().name() {
        "events/list" => Some(list(snapshot, exchange)),
        _ => None,
    },
    start: |method, exchange| match method.name {
        "events/poll" => Some(Box::pin(poll(exchange))),
        "events/stream" => Some(Box::pin(stream(exchange))),
        "events/subscribe" => Some(Box::pin(subscribe(exchange))),
        "events/unsubscribe" => Some(Box::pin(unsubscribe(exchange))),
        _ => None,
    },
    scopes: |snapshot, request, _| match request.method.name() {
        "events/poll" | "events/stream" | "events/subscribe" => {
            #[derive(Deserialize)]
            struct Named {
                name: String,
            }

            let named: Named = serde_json::from_str(request.params()?.get()).ok()?;
            let entry = snapshot.events.by_name.get(&named.name)?;
            Some(entry.access().scopes.clone())
        }
        _ => None,
    },
};

fn list(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let params: ListEventsParams = exchange.decode_params()?;
    let entries = &snapshot.events.by_name;
    let key_at = |index: usize| {
        entries
            .get_index(index)
            .map_or("", |(name, _)| name.as_str())
    };
    let position_of = |name: &str| entries.get_index_of(name);
    let cursor = params.cursor.as_deref();
    let page_size = snapshot.options.page_size;
    let page = page(entries.len(), page_size, cursor, key_at, position_of)?;
    let shown = entries
        .values()
        .skip(page.start)
        .take(page.end - page.start);
    let may_use = |entry: &&Arc<EventEntry>| {
        !snapshot.options.filter_by_scope || exchange.context.may_use(entry.access())
    };
    let listed = shown.filter(may_use);
    let listed = listed.filter_map(|entry| entry.listed(snapshot.events.has_webhooks()));
    let mut result = ListEventsResult::new(listed.collect());
    result.next_cursor = page.next_cursor;
    snapshot.finish(result, exchange.context.version())
}

async fn poll(exchange: &Exchange) -> Outcome {
    let params: PollEventsParams = exchange.decode_params()?;
    let snapshot = exchange.snapshot();
    let state = &snapshot.events.state;
    let entry = find(snapshot, &exchange.context, &params.name)?;
    entry.check_mode(&DeliveryMode::Poll, false)?;
    let ctx = EventContext::new(exchange.context.auth().clone());
    let arguments = params.arguments.unwrap_or_else(RawJson::empty_object);
    entry.admit(&ctx, &arguments).await?;
    entry.lease(&ctx, &arguments).await?;
    let cursor = params.cursor.as_deref();
    let since = Since {
        cursor,
        not_before: earliest(cursor, params.max_age_ms),
        limit: state.limits.page(params.max_events),
    };
    let page = entry.source.page(&ctx, &arguments, since).await?;
    let interval = entry.source.poll_interval().as_millis();
    let interval = u64::try_from(interval).unwrap_or(u64::MAX);
    let mut result = PollEventsResult::new(page.events, Some(page.cursor), interval);
    result.truncated = page.truncated;
    result.has_more = page.has_more;
    if result.has_more {
        result.next_poll_ms = 0;
    }
    snapshot.finish(result, exchange.context.version())
}
