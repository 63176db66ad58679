//! A gateway for the Model Context Protocol: many servers behind one address, with rules, limits, pins and an audit log.
//!
//! * [`GatewayConfig`] is a TOML file. An unknown key is an error that names the line and a similar key.
//! * [`pins`] detect tools, prompts and instructions that changed after the operator approved them.

mod config;
pub mod pins;
mod private_file;
#[cfg(test)]
mod scratch;

pub use config::{
    AuditConfig, AuthConfig, CallLimit, CommandUpstream, ConfigError, DEFAULT_LISTEN,
    GatewayConfig, HttpUpstream, LimitKey, LimitsConfig, MAX_FILE_BYTES, MAX_NAME_LENGTH,
    MAX_UPSTREAMS, OnFull, UpstreamConfig, UpstreamCredentials, UpstreamTransport,
};
