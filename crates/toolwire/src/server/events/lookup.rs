//! What the methods for polls, streams and subscriptions share: the event type of a request, and the age of its events.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwire_proto::events::{not_before, unknown_event};
use toolwire_types::ErrorObject;

use crate::engine::since_epoch;
use crate::server::RequestContext;
use crate::server::events::entry::EventEntry;
use crate::server::snapshot::Snapshot;

/// Returns an event type that the caller may use.
pub(super) fn find<'s>(
    snapshot: &'s Snapshot,
    context: &RequestContext,
    name: &str,
) -> Result<&'s Arc<EventEntry>, ErrorObject> {
    let entry = snapshot.events.by_name.get(name);
    let entry = entry.ok_or_else(|| unknown_event(name))?;
    context.check_access(entry.access())?;
    Ok(entry)
}

/// Returns the time before which events are not replayed.
pub(super) fn earliest(cursor: Option<&str>, max_age_ms: Option<u64>) -> Option<SystemTime> {
    let now_ms = u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX);
    let ms = not_before(cursor, max_age_ms, now_ms)?;
    UNIX_EPOCH.checked_add(Duration::from_millis(ms))
}
