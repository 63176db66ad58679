//! HTTP servers, as their clients see them.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]
#![expect(deprecated, reason = "deprecated features are tested, too")]

mod blocking;
mod browser_page;
mod byte_limits;
mod cancellations;
mod cluster;
mod connection_paths;
mod cors;
mod http2;
mod http_sse_client;
mod http_with_sse;
mod http_with_sse_guards;
mod invalid_hosts;
mod invalid_messages;
mod large_responses;
mod legacy;
mod legacy_batch;
mod legacy_response_streams;
mod legacy_server_streams;
mod limits;
mod listen;
mod listener;
mod mailboxes;
mod many_clients;
mod middleware;
mod mirrored_headers;
mod missing_stores;
mod modern;
mod mount_scopes;
mod mutations;
mod policy;
mod principals;
mod rejecting_authorizer;
mod rounds;
mod server_card;
mod session_messages;
mod shutdown;
mod store_changes;
mod store_deadlines;
mod store_disconnects;
mod store_faults;
mod store_streams;
mod table;
mod timeouts;
mod tls;
