//! Clients of servers in the same process and of servers in child processes.

#![expect(deprecated, reason = "deprecated features are tested, too")]

mod cache;
mod child_process;
mod in_process;
mod middleware;
mod own_transport;
mod wire_messages;
