//! The guide for services on several nodes.

#[doc = include_str!("links.md")]
#[doc = include_str!("many_nodes.md")]
pub mod many_nodes {}
