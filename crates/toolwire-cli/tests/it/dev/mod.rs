//! `toolwire dev`: a server that changes while its clients stay connected.

mod changes_during_runs;
mod command_line;
mod crate_of_directory;
mod failed_starts;
mod inside;
mod modern_server;
mod project;
mod reload;
mod tasks;
