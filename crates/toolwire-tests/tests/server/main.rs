//! Servers, as their clients see them. The messages are exchanged in the same process.

mod bad_input;
mod batch;
mod bursts;
mod call_log;
mod cancellation;
mod connection_end;
mod context;
mod custom_methods;
mod decode_errors;
mod discover;
mod eras;
mod extensions;
mod legacy;
mod legacy_changes;
mod legacy_results;
mod limits;
mod listen;
mod logging;
mod macro_metadata;
mod macros;
mod meta_keys;
mod notifications;
mod own_transport;
mod pages;
mod progress;
mod prompts;
mod resources;
mod server_blocks;
mod skill_directory;
mod skill_faults;
mod skills;
#[cfg(unix)]
mod start_message;
mod task_attribute;
mod tools;
mod views;
