//! Tasks with independent implementations: the tasks client of the TypeScript SDK with `toolwire demo`, and
//! `toolwire::Client` with servers of rmcp and of the TypeScript SDK.
//!
//! Both directions call the tool `bake`, which each server has in the same form. rmcp as a client is a release, and runs
//! these checks with its others.

pub(crate) mod clients;
mod servers;
