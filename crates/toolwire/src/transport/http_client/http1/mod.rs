//! HTTP/1.1 as a client speaks it (RFC 9112): one request, one answer, and the connection is free again.
//!
//! Whoever waits for an answer reads it from the socket: there is no task and no channel in between. What other
//! implementations might read in another way is refused and not repaired: repeated or conflicting lengths, codings that
//! nobody asked for, folded lines, chunks with crooked sizes. A connection is used again only after an answer that left
//! no doubt where it ends.

mod answer_head;
mod body;
mod broken;
mod chunked;
mod connection;
mod framing;
mod request_head;

pub(super) use broken::Broken;
pub(super) use connection::Http1;
