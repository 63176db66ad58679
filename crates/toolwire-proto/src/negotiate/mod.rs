//! Version negotiation: the response to `initialize`, the client's choice, and the client's era probe.
//!
//! `initialize` never negotiates a modern version, because modern requests name their version themselves. The [`Probe`]
//! detects the era of a server. It sends nothing itself. It returns what the caller sends next.

mod probe;

use serde_json::json;
use toolwire_types::{ErrorObject, ProtocolVersion, code};

use crate::features::{SupportedVersions, VersionFeatures};

pub use probe::{
    Channel, DetectedEra, LegacyTransport, Probe, ProbeAction, ProbeEvent, ProbeFailure,
    contradicts_era, rejects_legacy_era,
};

/// Returns the version that a server negotiates for `initialize`: the requested one, or else its newest legacy version.
///
/// # Errors
/// Returns −32022 with the supported versions if the server supports no legacy version.
pub fn negotiate_initialize(
    requested: &str,
    supported: &SupportedVersions,
) -> Result<ProtocolVersion, ErrorObject> {
    // Spec 2025-11-25, basic/lifecycle, "Version Negotiation".
    requested
        .parse()
        .ok()
        .filter(|version: &ProtocolVersion| version.is_legacy() && supported.contains(*version))
        .or_else(|| supported.legacy().next())
        // Spec 2026-07-28, basic/versioning: a modern-only server names its versions when it rejects `initialize`.
        .ok_or_else(|| unsupported_version(requested, supported))
}

/// Returns the version of an `InitializeResult`. Returns `None` if the client does not support it and must disconnect.
#[must_use]
pub fn accept_initialized(offered: &str, supported: &SupportedVersions) -> Option<ProtocolVersion> {
    offered
        .parse()
        .ok()
        .filter(|version: &ProtocolVersion| version.is_legacy() && supported.contains(*version))
}

/// Returns `true` if a reopened session has the same version as before. Otherwise the client cannot continue.
#[must_use]
pub fn is_same_version(offered: &str, negotiated: ProtocolVersion) -> bool {
    offered.parse() == Ok(negotiated)
}

/// Returns the newest version that both sides support. Unknown version names are ignored.
#[must_use]
pub fn newest_common<'a>(
    offered: impl IntoIterator<Item = &'a str>,
    supported: &SupportedVersions,
) -> Option<ProtocolVersion> {
    offered
        .into_iter()
        .filter_map(|name| name.parse().ok())
        .filter(|version| supported.contains(*version))
        .max()
}

/// Returns the error for an unsupported version (−32022), with all supported versions.
#[must_use]
#[cold]
pub fn unsupported_version(requested: &str, supported: &SupportedVersions) -> ErrorObject {
    let names: Vec<_> = supported.names().collect();
    ErrorObject::new(
        code::UNSUPPORTED_PROTOCOL_VERSION,
        format!(
            "unsupported protocol version; supported are {}",
            names.join(", ")
        ),
    )
    .with_data(json!({ "supported": names, "requested": requested }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(names: &str) -> SupportedVersions {
        names
            .split_whitespace()
            .map(|name| name.parse().expect("a released version"))
            .collect()
    }

    #[test]
    fn initialize_negotiates_the_requested_or_the_newest_legacy_version() {
        let all = "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28";
        let check = |requested: &str, served: &str, expected: &str| {
            let version = negotiate_initialize(requested, &versions(served));
            assert_eq!(version.map(ProtocolVersion::as_str), Ok(expected));
        };
        check("2024-11-05", all, "2024-11-05");
        check("2025-06-18", all, "2025-06-18");
        check("2025-11-25", all, "2025-11-25");
        check("2026-07-28", all, "2025-11-25");
        check("1900-01-01", all, "2025-11-25");
        check("2099-01-01", all, "2025-11-25");
        check("draft", all, "2025-11-25");
        check("", all, "2025-11-25");
        check("2025-11-25", "2025-03-26 2026-07-28", "2025-03-26");
        check("2025-03-26", "2024-11-05 2025-06-18", "2025-06-18");
    }

    #[test]
    fn modern_only_server_rejects_initialize_and_names_its_versions() {
        let error = negotiate_initialize("2025-06-18", &versions("2026-07-28"))
            .expect_err("no legacy version is served");
        assert_eq!(error.code, -32022);
        assert!(error.message.contains("2026-07-28"));
        assert_eq!(
            error.data,
            Some(json!({"supported": ["2026-07-28"], "requested": "2025-06-18"}).into())
        );
    }

    #[test]
    fn client_accepts_only_supported_legacy_versions_from_an_initialize_result() {
        let supported = versions("2025-06-18 2025-11-25 2026-07-28");
        let check = |offered: &str, expected: Option<&str>| {
            let version = accept_initialized(offered, &supported);
            assert_eq!(version.map(ProtocolVersion::as_str), expected, "{offered}");
        };
        check("2025-06-18", Some("2025-06-18"));
        check("2024-11-05", None);
        check("2026-07-28", None);
        check("1.0", None);
    }

    #[test]
    fn reopened_session_must_have_the_same_version() {
        let negotiated = ProtocolVersion::V2025_06_18;
        assert!(is_same_version("2025-06-18", negotiated));
        assert!(!is_same_version("2025-11-25", negotiated));
        assert!(!is_same_version("draft", negotiated));
    }

    #[test]
    fn newest_common_version_is_selected() {
        let check = |offered: &[&str], supported: &str, expected: Option<&str>| {
            let version = newest_common(offered.iter().copied(), &versions(supported));
            assert_eq!(version.map(ProtocolVersion::as_str), expected);
        };
        check(
            &["2025-11-25", "2099-01-01", "2026-07-28"],
            "2025-11-25 2026-07-28",
            Some("2026-07-28"),
        );
        check(
            &["2025-03-26", "2025-11-25"],
            "2025-03-26 2026-07-28",
            Some("2025-03-26"),
        );
        check(&["2099-01-01"], "2026-07-28", None);
        check(&[], "2026-07-28", None);
    }
}
