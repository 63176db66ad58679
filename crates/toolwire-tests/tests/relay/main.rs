//! A relay between a client and an upstream server, both played by the test.

#![expect(deprecated, reason = "deprecated features are tested, too")]

mod cancellations;
mod connection_waits;
mod connections;
mod credentials;
mod errors;
mod event_streams;
mod floods;
mod http_upstream;
mod idle_connections;
mod input_matrix;
mod legacy_client;
mod log_levels;
mod modern_client;
mod one_start;
mod parked_calls;
mod raw_http;
mod raw_upstream;
mod required_tasks;
mod same_era;
mod sessions;
mod source;
mod streams;
mod tasks;
mod unnamed_messages;
