//! The rules of the Model Context Protocol, as pure functions and small state machines.
//!
//! The crate does not wait, spawn, lock, read a clock or generate random bytes. Callers pass in time and randomness.
//! Only this crate compares protocol versions. Other crates call its functions instead.
//!
//! # Features
//!
//! | Feature | Default | Contents |
//! |---|---|---|
//! | `apps` | yes | The rules of views, for servers and hosts. |
//! | `client` | yes | The rules that only clients need: `pagination`, `task_results` and `task_wait`; also `elicitation_ids`. |
//! | `events` | no | The rules of the events extension, a draft. |
//! | `input` | yes | Input requests and their responses, and sealed request state. |
//! | `mount` | no | The rules of mounts and middleware. |
//! | `relay` | no | The rules of proxies and gateways. |
//! | `skills` | no | The rules of skills, with a YAML parser. |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod admit;
#[cfg(feature = "apps")]
pub mod apps;
pub mod authored_meta;
pub mod cache;
#[cfg(any(feature = "events", feature = "relay"))]
pub mod canonical_json;
#[cfg(any(feature = "events", feature = "input"))]
pub mod date_time;
pub mod decode_message;
pub mod deprecations;
#[cfg(feature = "input")]
pub mod elicit_url;
#[cfg(feature = "input")]
pub mod elicit_validation;
#[cfg(any(feature = "client", feature = "input"))]
pub mod elicitation_ids;
pub mod envelope;
pub mod event_id;
#[cfg(feature = "events")]
pub mod events;
pub mod extensions;
pub mod features;
pub mod framing;
pub mod header_value;
pub mod http;
pub mod inspection;
pub mod invisible_characters;
#[cfg(feature = "input")]
pub mod journal;
pub mod lifecycle;
pub mod logging;
pub mod meta_keys;
pub mod methods;
pub mod mirrored_headers;
pub mod negotiate;
#[cfg(feature = "mount")]
pub mod observed;
pub mod outbox;
#[cfg(feature = "client")]
pub mod pagination;
pub mod param_headers;
pub mod param_members;
mod percent_encoding;
pub mod progress;
pub mod raw_object;
#[cfg(feature = "mount")]
pub mod relay;
pub mod request_meta;
#[cfg(feature = "input")]
pub mod request_state;
pub mod requests;
pub mod result_kind;
pub mod rounds;
#[cfg(feature = "input")]
pub mod sampling_rules;
pub mod schema_budget;
pub mod scopes;
pub mod secret_names;
pub mod server_card;
pub mod similar_names;
#[cfg(feature = "skills")]
pub mod skills;
pub mod sse;
pub mod stamp;
pub mod strict_json;
pub mod subscriptions;
#[cfg(feature = "client")]
pub mod task_results;
pub mod task_rules;
#[cfg(feature = "client")]
pub mod task_wait;
pub mod trace_context;
mod uri_scheme;
pub mod uri_template;
pub mod web_url;
