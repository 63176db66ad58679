//! Servers, as their clients see them. The messages are exchanged in the same process.

#![expect(deprecated, reason = "deprecated features are tested, too")]

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
mod limits_of_middleware;
mod listen;
mod logging;
mod macro_metadata;
mod macros;
mod meta_keys;
mod middleware;
mod mount_changes;
mod mount_declarations;
mod mount_replacement;
mod mounts;
mod notifications;
mod own_transport;
mod pages;
mod policy;
mod policy_uris;
mod progress;
mod prompts;
mod raw_entries;
mod resources;
mod server_blocks;
mod skill_directory;
mod skill_faults;
mod skills;
#[cfg(unix)]
mod start_message;
mod task_attribute;
mod tools;
mod view_files;
mod views;
