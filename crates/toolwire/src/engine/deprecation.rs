//! Warnings about the use of deprecated protocol features, once per process and feature.

use std::sync::atomic::{AtomicBool, Ordering};

use toolwire_proto::deprecations::DeprecatedFeature;
#[cfg(any(feature = "client", feature = "input"))]
use toolwire_types::InputRequest;
use toolwire_types::ProtocolVersion;

/// The features that this process has warned about, by their position in the table.
static WARNED: [AtomicBool; DeprecatedFeature::COUNT] =
    [const { AtomicBool::new(false) }; DeprecatedFeature::COUNT];

/// Warns if a feature is deprecated in the revision in which it is used.
pub(crate) fn warn_if_deprecated(feature: DeprecatedFeature, version: ProtocolVersion) {
    if feature.is_deprecated_in(version) && !WARNED[feature.index()].load(Ordering::Relaxed) {
        warn_once(feature, &WARNED[feature.index()]);
    }
}

/// Warns about a feature that is deprecated whatever revision its user speaks.
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) fn warn_deprecated(feature: DeprecatedFeature) {
    warn_if_deprecated(feature, ProtocolVersion::LATEST);
}

/// Warns about the deprecated features that an input request uses.
#[cfg(any(feature = "client", feature = "input"))]
pub(crate) fn warn_about_request(request: &InputRequest, version: ProtocolVersion) {
    for feature in DeprecatedFeature::in_request(request, version) {
        warn_if_deprecated(feature, version);
    }
}

#[cold]
fn warn_once(feature: DeprecatedFeature, warned: &AtomicBool) {
    if !warned.swap(true, Ordering::Relaxed) {
        tracing::warn!("{}", feature.deprecation());
    }
}
