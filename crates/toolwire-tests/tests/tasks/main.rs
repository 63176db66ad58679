//! Tasks, as clients of both designs see them.

#![expect(
    clippy::unwrap_used,
    reason = "tests may panic, also in helper functions"
)]

mod asking;
mod calls;
mod cancelling;
mod core_design;
mod every_revision;
mod external;
mod handler_outages;
mod lifetimes;
mod limits;
mod listening;
mod nodes;
mod outages;
mod peer;
mod principals;
mod progress;
mod shutdown;
mod starting;
mod status_notifications;
mod stores;
mod switchable_store;
mod workers;
