//! One exchange over HTTP: from a parsed message to the response that owns its handler.
//!
//! Requests of legacy sessions continue in `session`.

pub(crate) mod context;
pub(crate) mod message;
pub(crate) mod modern;
pub(crate) mod running;
pub(crate) mod token_expiry;
