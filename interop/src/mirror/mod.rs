//! A server and a client without any SDK, for what a proxy must not change.
//!
//! The server ([`serve_lines`], [`serve_http`]) uses every optional member of its revision, and two unknown members on
//! every object. It repeats what it received, so a changed request shows in the response. The client ([`run_script`])
//! sends one script of all methods, and records every message that it receives as text.

mod http_message;
mod http_server;
mod objects;
mod recording;
mod results;
mod revision;
mod script;
mod server;
mod server_requests;
mod structure;
mod wire;
mod written;

pub use http_server::serve_http;
pub use recording::{Recording, differences};
pub use revision::Revision;
pub use script::{run_script, run_script_with};
pub use server::serve_lines;
pub use structure::member_differences;
pub use wire::{HttpWire, ScriptWire, StdioWire};
