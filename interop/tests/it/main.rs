//! Runs toolwire with independent implementations: independent clients with toolwire servers, toolwire's client with
//! independent servers, both with tasks, with several nodes, and with older releases and programs, the command `toolwire`
//! with an example, the programs that its page copies, `toolwire proxy` with a server and a client without any SDK, clients and
//! servers of different SDKs through the proxy and the gateway, and both sides with an independent authorization server.

#![expect(deprecated, reason = "deprecated features are tested, too")]

mod authorization;
mod clients;
mod command;
mod crossed;
#[cfg(unix)]
mod fleet;
mod mirror;
mod releases;
mod servers;
mod snippets;
mod tasks;
