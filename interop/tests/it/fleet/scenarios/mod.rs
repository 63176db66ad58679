//! What clients do while a fault happens. Each operation uses several nodes.

pub(super) mod calls;
pub(super) mod changes;
pub(super) mod http_sse;
pub(super) mod questions;
pub(super) mod streams;
pub(super) mod tasks;
