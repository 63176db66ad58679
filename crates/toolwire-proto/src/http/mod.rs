//! The checks of HTTP headers before a message is parsed: permitted hosts and origins, media types, well-formed ids.
//! [`addresses`] classifies the addresses that a request is sent to.
//!
//! The functions work on header values as text. The transport decides which headers a request has, and with which
//! status it is rejected.

mod accept;
pub mod addresses;
pub(crate) mod authority;
mod content_type;
mod etag;
mod forwarded;
mod host;
mod network;
mod origin;
mod quoted;
mod session_id;

pub use self::accept::{accepts, accepts_both, lists_media_type};
pub use self::content_type::{is_event_stream, is_json};
pub use self::etag::etag_matches;
pub use self::forwarded::forwarded_client;
pub use self::host::{HostError, HostPolicy, InvalidHost, ServedHost};
pub use self::network::client_network;
pub use self::origin::{InvalidOrigin, OriginError, OriginPolicy};
pub use self::session_id::{is_session_id, is_session_lost};

/// The maximum number of characters of untrusted text that an error repeats.
const LONGEST_SHOWN: usize = 100;

/// Returns the start of an untrusted text, for quotation in an error: at most 100 characters.
#[must_use]
pub fn truncated_for_display(text: &str) -> String {
    let mut rest = text.chars();
    let mut start: String = rest.by_ref().take(LONGEST_SHOWN).collect();
    if rest.next().is_some() {
        start.push('…');
    }
    start
}
