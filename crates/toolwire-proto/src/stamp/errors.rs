//! Error codes, which differ between revisions.

use serde::Deserialize;
use serde_json::json;
#[cfg(feature = "events")]
use toolwire_types::events::code as event_code;
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson, ResponseId, code};

use crate::features::VersionFeatures;

/// The codes that 2026-07-28 reserves. Of these, only the defined ones may be sent.
const RESERVED: std::ops::RangeInclusive<i64> = -32099..=-32020;

/// Sets the code that the error has in this revision.
///
/// ```
/// use toolwire_proto::stamp::stamp_error;
/// use toolwire_types::{ErrorObject, ProtocolVersion, code};
///
/// let error = ErrorObject::new(code::RESOURCE_NOT_FOUND, "Resource not found");
/// assert_eq!(stamp_error(error, ProtocolVersion::V2026_07_28).code, code::INVALID_PARAMS);
/// ```
#[must_use]
pub fn stamp_error(mut error: ErrorObject, version: ProtocolVersion) -> ErrorObject {
    error.code = if version.is_modern() {
        modern_code(error.code)
    } else {
        legacy_code(&error, version)
    };
    error
}

fn modern_code(given: i64) -> i64 {
    match given {
        code::RESOURCE_NOT_FOUND => code::INVALID_PARAMS,
        code::HEADER_MISMATCH
        | code::MISSING_REQUIRED_CLIENT_CAPABILITY
        | code::UNSUPPORTED_PROTOCOL_VERSION => given,
        #[cfg(feature = "events")]
        event_code::CALLBACK_ENDPOINT_ERROR..=event_code::NOT_FOUND => given,
        // Modern revisions send a user to a URL with an input request. As an error it has no code of its own.
        code::URL_ELICITATION_REQUIRED => code::INVALID_REQUEST,
        reserved if RESERVED.contains(&reserved) => code::INTERNAL_ERROR,
        other => other,
    }
}

fn legacy_code(error: &ErrorObject, version: ProtocolVersion) -> i64 {
    match error.code {
        code::INVALID_PARAMS if names_only_a_uri(error.data.as_ref()) => code::RESOURCE_NOT_FOUND,
        // The example in the legacy lifecycle chapters has this code and the same data for an unsupported version.
        code::UNSUPPORTED_PROTOCOL_VERSION => code::INVALID_PARAMS,
        code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY => code::INVALID_REQUEST,
        code::URL_ELICITATION_REQUIRED if !version.has_url_elicitation_error() => {
            code::INVALID_REQUEST
        }
        other => other,
    }
}

/// Returns `true` if the data is `{"uri": ".."}`, which distinguishes a modern "resource not found" from other invalid
/// parameters.
fn names_only_a_uri(data: Option<&RawJson>) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NotFound {
        #[serde(rename = "uri")]
        _uri: String,
    }

    data.is_some_and(|data| data.is_object() && data.parse::<NotFound>().is_ok())
}

/// Returns the error for a resource that does not exist, in the form of this revision.
#[must_use]
pub fn resource_not_found(uri: &str, version: ProtocolVersion) -> ErrorObject {
    ErrorObject::new(version.resource_not_found_code(), "Resource not found")
        .with_data(json!({ "uri": uri }))
}

/// Returns the `id` member of an error whose request id is unknown.
///
/// It is absent from 2025-11-25 on, and before a version is known. It is `null` in older revisions, whose schemas
/// require an id.
#[must_use]
pub fn unreadable_id(version: Option<ProtocolVersion>) -> ResponseId {
    match version {
        Some(version) if version.null_id_for_unreadable() => ResponseId::Null,
        _ => ResponseId::Absent,
    }
}

#[cfg(test)]
mod tests {
    use ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

    use super::*;

    #[test]
    fn codes_follow_the_revision() {
        // In the order of the revisions, oldest first.
        let check = |given: i64, expected: [i64; 5]| {
            let stamped = ProtocolVersion::ALL
                .map(|version| stamp_error(ErrorObject::new(given, "m"), version).code);
            assert_eq!(stamped, expected, "{given}");
        };
        check(-32002, [-32002, -32002, -32002, -32002, -32602]);
        check(-32020, [-32600, -32600, -32600, -32600, -32020]);
        check(-32021, [-32600, -32600, -32600, -32600, -32021]);
        check(-32022, [-32602, -32602, -32602, -32602, -32022]);
        check(-32042, [-32600, -32600, -32600, -32042, -32600]);
        check(-32050, [-32050, -32050, -32050, -32050, -32603]);
        let event = if cfg!(feature = "events") {
            -32024
        } else {
            -32603
        };
        check(-32024, [-32024, -32024, -32024, -32024, event]);
        check(-32099, [-32099, -32099, -32099, -32099, -32603]);
        for plain in [
            -32700,
            -32600,
            -32601,
            -32602,
            -32603,
            -1,
            -32000,
            -32100,
            7,
            i64::MIN,
        ] {
            check(plain, [plain; 5]);
        }
    }

    #[test]
    fn missing_resource_error_follows_the_revision() {
        for (version, code) in [
            (V2024_11_05, -32002),
            (V2025_03_26, -32002),
            (V2025_06_18, -32002),
            (V2025_11_25, -32002),
            (V2026_07_28, -32602),
        ] {
            let error = resource_not_found("file:///a", version);
            assert_eq!(error.code, code);
            assert_eq!(error.data, Some(json!({"uri": "file:///a"}).into()));
            for other in ProtocolVersion::ALL {
                let moved = stamp_error(error.clone(), other);
                assert_eq!(moved, resource_not_found("file:///a", other));
            }
        }
    }

    #[test]
    fn other_invalid_parameters_are_not_missing_resources() {
        for data in [
            json!({}),
            json!({"uri": 1}),
            json!({"uri": "a:b", "field": "x"}),
            json!(["a:b"]),
            json!("a:b"),
        ] {
            let error = ErrorObject::invalid_params("m").with_data(data);
            assert_eq!(stamp_error(error, V2025_11_25).code, -32602);
        }
    }

    #[test]
    fn unknown_ids_are_null_only_in_old_revisions() {
        let check = |version, expected| assert_eq!(unreadable_id(version), expected);
        check(None, ResponseId::Absent);
        check(Some(V2024_11_05), ResponseId::Null);
        check(Some(V2025_03_26), ResponseId::Null);
        check(Some(V2025_06_18), ResponseId::Null);
        check(Some(V2025_11_25), ResponseId::Absent);
        check(Some(V2026_07_28), ResponseId::Absent);
    }
}
