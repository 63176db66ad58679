//! Guides to authorization, one page per subject. Every example on these pages is compiled.

#[cfg(feature = "resource-server")]
#[doc = include_str!("links.md")]
#[doc = include_str!("authorization.md")]
pub mod authorization {}

#[cfg(feature = "client")]
#[doc = include_str!("links.md")]
#[doc = include_str!("logging_in.md")]
pub mod logging_in {}

#[cfg(feature = "proxy")]
#[doc = include_str!("links.md")]
#[doc = include_str!("oauth_proxy.md")]
pub mod oauth_proxy {}
