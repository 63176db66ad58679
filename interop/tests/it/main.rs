//! Toolwire and implementations that are not ours: real clients against servers of ours, and our client against real
//! servers. And the command `toolwire` against the example that the real clients meet.

mod clients;
mod command;
mod servers;
