//! A gateway for the Model Context Protocol: many servers behind one address, with rules, limits, pins and an audit log.
//!
//! ```no_run
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//! use toolwire_gateway::{Gateway, GatewayConfig, GatewayOptions};
//!
//! let config = GatewayConfig::load(Path::new("gateway.toml"))?;
//! let gateway = Gateway::new(config, GatewayOptions::new())?;
//! gateway.connect().await?;
//! gateway.bind(false).await?.run().await?;
//! gateway.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! * [`GatewayConfig`] is a TOML file. An unknown key is an error that names the line and a similar key.
//! * [`Gateway`] mounts each upstream on one server. Requests pass the policy, the limits and the audit log before an
//!   upstream is contacted. A token of a caller is never sent to an upstream.
//! * [`pins`] detect tools, prompts and instructions that changed after the operator approved them.
//! * The [`guide`] explains the command `toolwire gateway`, which runs this crate.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod audit;
mod caller_tokens;
mod config;
mod connect;
mod connection;
mod decision_record;
mod entries;
mod error;
mod front_auth;
mod gateway;
mod guard;
pub mod guide;
mod invisible_text;
mod limits;
mod mounted_source;
mod offered_connection;
mod pin_review;
pub mod pins;
mod private_file;
#[cfg(test)]
mod scratch;
mod source;
mod sync;
mod unknown;

pub use config::{
    AssertionProvider, AuditConfig, AuthConfig, CallLimit, CommandUpstream, ConfigError,
    DEFAULT_LISTEN, GatewayConfig, HttpUpstream, LimitKey, LimitsConfig, LoginClient,
    LoginProvider, LoginsConfig, MAX_FILE_BYTES, MAX_NAME_LENGTH, MAX_UPSTREAMS, OnFull,
    SamplingLimit, UpstreamConfig, UpstreamCredentials, UpstreamTransport,
};
pub use connection::GatewayOptions;
pub use error::GatewayError;
pub use gateway::{ConfigFile, EntryReport, Gateway, GatewayReport, UpstreamReport};
pub use pin_review::{PinnedUpstream, review_pins};
pub use toolwire_proto::invisible_characters::InvisibleCharacter;
