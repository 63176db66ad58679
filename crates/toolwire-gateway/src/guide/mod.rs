//! Guides of the gateway.

#[doc = include_str!("links.md")]
#[doc = include_str!("gateway.md")]
pub mod gateway {}

#[doc = include_str!("links.md")]
#[doc = include_str!("moving.md")]
pub mod moving {}
