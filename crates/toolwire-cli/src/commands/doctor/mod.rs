//! `toolwire doctor`: checks a server step by step, or what a service depends on.

mod address;
mod authorization;
mod command;
mod lists;
mod redis;
mod server;
mod steps;

pub(crate) use command::find_program;
pub(crate) use redis::check_redis;
pub(crate) use server::check_server;
