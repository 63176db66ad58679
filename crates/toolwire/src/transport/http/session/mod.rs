//! Sessions of the revisions before 2026-07-28: session lookup, resumable streams, batches, GET and DELETE.
//!
//! Modern requests do not use this module. [`exchange::message`](crate::transport::http::exchange::message) routes
//! requests.

pub(crate) mod active;
pub(crate) mod batch;
pub(crate) mod channel;
pub(crate) mod early_cancellations;
pub(crate) mod expiry;
pub(crate) mod get_delete;
pub(crate) mod key;
pub(crate) mod local_events;
pub(crate) mod log_reader;
pub(crate) mod lookup;
pub(crate) mod messages;
pub(crate) mod push;
pub(crate) mod record;
pub(crate) mod reload;
pub(crate) mod renewal;
pub(crate) mod requests;
pub(crate) mod response_stream;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;
pub(crate) mod writer_state;
