//! The warning about dynamic client registration, which MCP 2026-07-28 deprecates.

use std::sync::atomic::{AtomicBool, Ordering};

use toolwire_proto::deprecations::DeprecatedFeature;

static WARNED: AtomicBool = AtomicBool::new(false);

/// Warns that a client was registered dynamically, once per process.
pub(crate) fn warn_about_registration() {
    if !WARNED.swap(true, Ordering::Relaxed) {
        let feature = DeprecatedFeature::DynamicClientRegistration;
        tracing::warn!("{}", feature.deprecation());
    }
}
