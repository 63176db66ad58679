//! Runs toolwire with independent implementations: independent clients with toolwire servers, toolwire's client with
//! independent servers, both with tasks, with several nodes, and with older releases and programs, the command `toolwire` with an example,
//! `toolwire proxy` with a server and a client without any SDK, and both sides with an independent authorization server.

mod authorization;
mod clients;
mod command;
#[cfg(unix)]
mod fleet;
mod mirror;
mod releases;
mod servers;
mod snippets;
mod tasks;
