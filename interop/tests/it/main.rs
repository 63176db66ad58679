//! Toolwire and implementations that are not ours: real clients against `toolwire demo`, and our client against real
//! servers.

mod clients;
mod servers;
