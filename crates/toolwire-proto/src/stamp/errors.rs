//! Error codes, which mean different things in different revisions.

use serde::Deserialize;
use serde_json::json;
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson, ResponseId, code};

use crate::features::VersionFeatures;

/// The codes 2026-07-28 keeps for itself; of these it may emit only those it defines.
const RESERVED: std::ops::RangeInclusive<i64> = -32099..=-32020;

/// Gives an error the code that its meaning has in this revision.
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
        // The modern way to send a user to an address is an input request; as an error it has no code of its own.
        code::URL_ELICITATION_REQUIRED => code::INVALID_REQUEST,
        reserved if RESERVED.contains(&reserved) => code::INTERNAL_ERROR,
        other => other,
    }
}

fn legacy_code(error: &ErrorObject, version: ProtocolVersion) -> i64 {
    match error.code {
        code::INVALID_PARAMS if names_only_a_uri(error.data.as_ref()) => code::RESOURCE_NOT_FOUND,
        // The example in the legacy lifecycle chapters answers a bad version with this code and the same data.
        code::UNSUPPORTED_PROTOCOL_VERSION => code::INVALID_PARAMS,
        code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY => code::INVALID_REQUEST,
        code::URL_ELICITATION_REQUIRED if !version.has_url_elicitation_error() => {
            code::INVALID_REQUEST
        }
        other => other,
    }
}

/// How a modern "resource not found" is told from other invalid parameters: its data is `{"uri": ".."}`.
fn names_only_a_uri(data: Option<&RawJson>) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NotFound {
        #[serde(rename = "uri")]
        _uri: String,
    }

    data.is_some_and(|data| data.is_object() && data.parse::<NotFound>().is_ok())
}

/// The error for a resource that does not exist, in the form of this revision.
#[must_use]
pub fn resource_not_found(uri: &str, version: ProtocolVersion) -> ErrorObject {
    ErrorObject::new(version.resource_not_found_code(), "Resource not found")
        .with_data(json!({ "uri": uri }))
}

/// How an error says that it does not know which request it answers.
///
/// Absent from 2025-11-25 on, and before any version is known; `null` in older revisions, whose schemas want an id.
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
    fn a_missing_resource_is_said_in_each_revision_s_way() {
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
    fn unreadable_ids_are_null_only_in_old_revisions() {
        let check = |version, expected| assert_eq!(unreadable_id(version), expected);
        check(None, ResponseId::Absent);
        check(Some(V2024_11_05), ResponseId::Null);
        check(Some(V2025_03_26), ResponseId::Null);
        check(Some(V2025_06_18), ResponseId::Null);
        check(Some(V2025_11_25), ResponseId::Absent);
        check(Some(V2026_07_28), ResponseId::Absent);
    }
}
