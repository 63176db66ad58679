//! The rules of events, the extension `io.modelcontextprotocol/events`, which is a draft.
//!
//! Servers use the errors, the ring of recent events and its cursors. Clients use the set of seen events and the times
//! after which they ask again. Time is passed in.

mod cursor;
mod errors;
mod ring;
mod seen;
mod times;
pub mod webhook;

pub use crate::canonical_json::canonical_text;
pub use cursor::CursorKey;
pub use errors::{
    callback_failed, exhausted, forbidden, is_final_rejection, unknown_event, unknown_subscription,
    unsupported_mode,
};
pub use ring::{EventRing, PageLimits, RingLimits, RingPage};
pub use seen::{MAX_SEEN_BYTES, MAX_SEEN_EVENTS, SeenEvents};
pub use times::{
    HEARTBEAT_INTERVAL, LEASE, MAX_HEARTBEAT_INTERVAL, SILENCE_LIMIT, not_before, poll_wait,
};
