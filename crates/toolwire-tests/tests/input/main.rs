//! Handlers that request input from the client or its user.

#![expect(deprecated, reason = "deprecated features are tested, too")]

mod ask;
mod connected_clients;
mod input_required;
mod legacy_pending_requests;
mod legacy_rounds;
mod legacy_server_requests;
mod request_state;
mod server_requests;
