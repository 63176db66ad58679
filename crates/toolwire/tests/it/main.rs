//! Integration tests: the behaviour of toolwire as its peers see it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "tests write JSON values in place, and a reference at every call would be noise"
)]

#[cfg(feature = "testing")]
mod ask;
mod attacks;
mod auth;
mod bad_input;
mod batch;
mod bursts;
mod cancellation;
#[cfg(feature = "testing")]
mod client;
#[cfg(feature = "client")]
mod client_cache;
#[cfg(feature = "client")]
mod client_child;
#[cfg(all(feature = "http-client", feature = "http-server"))]
mod client_http;
#[cfg(all(feature = "http-client", feature = "http-server"))]
mod client_tools;
mod connection_end;
mod context;
mod custom_methods;
mod discover;
mod eras;
#[cfg(feature = "http-server")]
mod http;
#[cfg(feature = "http-client")]
mod http_client_stack;
#[cfg(feature = "http-server")]
mod http_listener;
#[cfg(feature = "http-server")]
mod http_sse_client;
#[cfg(feature = "tls")]
mod http_tls;
#[cfg(feature = "http-server")]
mod http_with_sse;
#[cfg(feature = "http-server")]
mod http_with_sse_guards;
mod input_required;
mod legacy;
mod legacy_changes;
mod legacy_pending_requests;
mod legacy_results;
mod legacy_rounds;
mod legacy_server;
mod legacy_server_requests;
mod limits;
mod listen;
mod logging;
mod macro_errors;
mod macros;
mod oauth;
mod pages;
mod peer;
mod progress;
mod prompts;
mod proxy;
mod request_state;
mod resources;
mod server_requests;
mod tools;
#[cfg(feature = "http-client")]
mod traces;
