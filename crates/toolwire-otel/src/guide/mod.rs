//! The guide to telemetry.

#[doc = include_str!("links.md")]
#[doc = include_str!("telemetry.md")]
pub mod telemetry {}
