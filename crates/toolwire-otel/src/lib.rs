//! OpenTelemetry for servers and clients of `toolwire`: spans, metrics, and the trace context in `_meta`.
//!
//! ```
//! use toolwire::{Client, Server};
//! use toolwire_otel::Telemetry;
//!
//! let telemetry = Telemetry::new();
//! let server = Server::new("demo", "1.0.0").with_middleware(telemetry.clone());
//! let client = Client::builder("agent", "1.0.0").with_middleware(telemetry);
//! # drop((server, client));
//! ```
//!
//! The crate uses only the API of OpenTelemetry. The program sets the providers, and decides where the data goes. Without
//! a provider, nothing is recorded.
//!
//! * [`Telemetry`] is a middleware of servers and of clients.
//! * [`Redaction`] decides what recorded arguments and results contain. By default they are not recorded.
//! * The [`guide`] has the tables of spans, attributes and metrics.
//!
//! # Features
//!
//! | Feature | Default | Contents |
//! |---|---|---|
//! | `relay` | no | `Telemetry::observe_relay` and `observe_relays`: gauges of relays. |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod attributes;
mod client;
mod client_request;
mod conventions;
mod ending;
mod first_rounds;
pub mod guide;
mod http_sessions;
mod instruments;
mod known_names;
mod parent;
mod propagation;
mod received_request;
mod recording;
mod redaction;
#[cfg(feature = "relay")]
mod relay_gauges;
mod server;
mod side;
mod store_call;
mod stream_opening;
mod sync;
mod target;
mod telemetry;

pub use redaction::{MAX_PAYLOAD_BYTES, Redaction};
pub use telemetry::{Telemetry, TelemetryMode, tool_span};
