//! What clients do while a fault happens. Each operation uses several nodes.

pub(super) mod calls;
pub(super) mod changes;
pub(super) mod client;
pub(super) mod http_sse;
pub(super) mod input_requests;
pub(super) mod streams;
pub(super) mod tasks;
