//! The rules of the Model Context Protocol, as pure functions and small state machines.
//!
//! Nothing here waits, spawns, locks, reads a clock or draws random bytes: time and randomness are passed in. This is the
//! only crate that compares protocol versions; everything above asks a question and gets an answer.

pub mod admit;
pub mod auth;
pub mod cache;
pub mod elicit_answer;
pub mod elicit_url;
pub mod envelope;
pub mod event_id;
pub mod features;
pub mod framing;
pub mod header_value;
pub mod http;
pub mod journal;
pub mod lifecycle;
pub mod logging;
pub mod meta_keys;
pub mod methods;
pub mod mirrored_headers;
pub mod negotiate;
pub mod outbox;
pub mod pages;
pub mod param_headers;
pub mod param_members;
pub mod progress;
pub mod request_meta;
pub mod request_state;
pub mod requests;
pub mod result_kind;
pub mod rounds;
pub mod sampling_rules;
pub mod sse;
pub mod stamp;
pub mod strict_json;
pub mod subscriptions;
pub mod trace_context;
pub mod uri_template;
