//! The revisions before 2026-07-28: sessions, streams that can be resumed, batches, and the transport of 2024-11-05.
//!
//! All of it stands beside the stateless way and none of it inside: [`post`](crate::transport::http::post) decides which of the two a
//! request takes.

pub(super) mod batch;
pub(super) mod expiry;
pub(super) mod http_with_sse;
pub(super) mod live_session;
mod log_events;
pub(super) mod open_streams;
pub(super) mod push;
pub(super) mod requests;
pub(super) mod standing;
pub(super) mod stream_control;
pub(super) mod streams;
