//! What the HTTP edge decides before a message is read: who may ask, in which format, and which ids are well formed.
//!
//! Works on header values as text. Which headers a request has, and with which status a refusal goes out, is the
//! transport's business.

mod accept;
pub(crate) mod authority;
mod content_type;
mod host;
mod network;
mod origin;
mod quoted;
mod session_id;

pub use self::accept::{accepts, accepts_both};
pub use self::content_type::{is_event_stream, is_json};
pub use self::host::{HostError, HostPolicy, InvalidHost, ServedHost};
pub use self::network::client_network;
pub use self::origin::{InvalidOrigin, OriginError, OriginPolicy};
pub use self::session_id::{is_session_id, is_session_lost};

/// The most characters of somebody else's text that an error repeats.
const LONGEST_SHOWN: usize = 100;

/// The start of a text, to be quoted in an error.
pub(crate) fn shown(text: &str) -> String {
    let mut rest = text.chars();
    let mut shown: String = rest.by_ref().take(LONGEST_SHOWN).collect();
    if rest.next().is_some() {
        shown.push('…');
    }
    shown
}
