//! Toolwire and implementations that are not ours: real clients against servers of ours, and our client against real
//! servers. The command `toolwire` against the example that the real clients meet. And both of our sides at a real
//! authorization server.

mod authorization;
mod clients;
mod command;
mod servers;
