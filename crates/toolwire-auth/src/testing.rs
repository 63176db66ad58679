//! Helpers for authorization servers in tests.

pub use crate::rules::dpop::token_hash;
pub use crate::rules::jwk_rules::thumbprint;
pub use crate::rules::{form, pkce};
