//! The event type of a request.

use std::sync::Arc;

use toolwire_proto::events::unknown_event;
use toolwire_types::ErrorObject;

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
