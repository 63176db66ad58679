//! The features that the specification deprecates: since which revision, by which proposal, and what replaces them.
//!
//! A deprecated feature still works. Its replacement is preferable in new programs, and a later revision may remove the
//! feature. The rows of [`TABLE`] follow the page "Deprecated Features" of the specification 2026-07-28. Other crates
//! use them for their warnings.

use std::fmt;

use toolwire_types::{IncludeContext, InputRequest, ProtocolVersion};

/// A feature that the specification deprecates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeprecatedFeature {
    /// Requests for the roots of a client.
    Roots,
    /// Requests to the model of a client.
    Sampling,
    /// Log messages to a client.
    Logging,
    /// Registration of OAuth clients with RFC 7591.
    DynamicClientRegistration,
    /// The values `thisServer` and `allServers` of `includeContext` in sampling requests.
    IncludeContext,
    /// The transport of 2024-11-05 with two HTTP endpoints.
    HttpWithSse,
}

/// The deprecation of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deprecation {
    /// The feature.
    pub feature: DeprecatedFeature,
    /// The name of the feature in messages.
    pub name: &'static str,
    /// The methods and notifications that belong to the feature only.
    pub methods: &'static [&'static str],
    /// The first revision that deprecates the feature.
    pub since: ProtocolVersion,
    /// The proposal that deprecates the feature.
    pub proposal: &'static str,
    /// When the feature may be removed at the earliest.
    pub earliest_removal: &'static str,
    /// What to do instead.
    pub replacement: &'static str,
}

const AFTER_ONE_YEAR: &str = "with the first revision released on or after 2027-07-28";

/// Every deprecated feature. Spec 2026-07-28, "Deprecated Features".
pub static TABLE: [Deprecation; DeprecatedFeature::COUNT] = [
    Deprecation {
        feature: DeprecatedFeature::Roots,
        name: "roots",
        methods: &["roots/list", "notifications/roots/list_changed"],
        since: ProtocolVersion::V2026_07_28,
        proposal: "SEP-2577",
        earliest_removal: AFTER_ONE_YEAR,
        replacement: "pass directories and files as tool arguments, resource URIs or server configuration",
    },
    Deprecation {
        feature: DeprecatedFeature::Sampling,
        name: "sampling",
        methods: &["sampling/createMessage"],
        since: ProtocolVersion::V2026_07_28,
        proposal: "SEP-2577",
        earliest_removal: AFTER_ONE_YEAR,
        replacement: "call the API of a model provider from the server",
    },
    Deprecation {
        feature: DeprecatedFeature::Logging,
        name: "logging",
        methods: &["logging/setLevel", "notifications/message"],
        since: ProtocolVersion::V2026_07_28,
        proposal: "SEP-2577",
        earliest_removal: AFTER_ONE_YEAR,
        replacement: "write to standard error, or use OpenTelemetry",
    },
    Deprecation {
        feature: DeprecatedFeature::DynamicClientRegistration,
        name: "dynamic client registration",
        methods: &[],
        since: ProtocolVersion::V2026_07_28,
        proposal: "PR 2858",
        earliest_removal: AFTER_ONE_YEAR,
        replacement: "identify clients by client ID metadata documents",
    },
    Deprecation {
        feature: DeprecatedFeature::IncludeContext,
        name: "`includeContext` with `thisServer` or `allServers`",
        methods: &[],
        since: ProtocolVersion::V2025_11_25,
        proposal: "SEP-2596",
        earliest_removal: AFTER_ONE_YEAR,
        replacement: "omit `includeContext`, or use `none`",
    },
    Deprecation {
        feature: DeprecatedFeature::HttpWithSse,
        name: "the HTTP+SSE transport",
        methods: &[],
        since: ProtocolVersion::V2025_03_26,
        proposal: "SEP-2596",
        earliest_removal: "three months after SEP-2596 became final",
        replacement: "use Streamable HTTP",
    },
];

impl DeprecatedFeature {
    /// The number of deprecated features.
    pub const COUNT: usize = 6;

    /// Returns the deprecation of the feature.
    #[must_use]
    pub fn deprecation(self) -> &'static Deprecation {
        &TABLE[self.index()]
    }

    /// Returns the position of the feature in [`TABLE`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns `true` if the feature is deprecated in a given revision.
    #[must_use]
    pub fn is_deprecated_in(self, version: ProtocolVersion) -> bool {
        version >= self.deprecation().since
    }

    /// Returns the features that an input request uses and that are deprecated in a given revision.
    pub fn in_request(
        request: &InputRequest,
        version: ProtocolVersion,
    ) -> impl Iterator<Item = Self> + use<> {
        let (feature, context) = match request {
            InputRequest::Roots(_) => (Some(Self::Roots), false),
            InputRequest::Sampling(params) => {
                let context = &params.include_context;
                let uses_context = !matches!(context, None | Some(IncludeContext::None));
                (Some(Self::Sampling), uses_context)
            }
            _ => (None, false),
        };
        let context = context.then_some(Self::IncludeContext);
        feature
            .into_iter()
            .chain(context)
            .filter(move |feature| feature.is_deprecated_in(version))
    }
}

impl fmt::Display for Deprecation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            since,
            proposal,
            earliest_removal,
            replacement,
            ..
        } = self;
        write!(
            f,
            "{name}: deprecated since MCP {since} ({proposal}), may be removed {earliest_removal}; {replacement}"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::methods;

    #[test]
    fn table_is_in_the_order_of_the_features() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.feature.index(), index, "{row}");
            assert_eq!(row.feature.deprecation(), row);
        }
    }

    #[test]
    fn rows_name_methods_of_the_protocol_and_a_proposal() {
        for row in &TABLE {
            for method in row.methods {
                assert!(methods::find(method).is_some(), "{method}");
            }
            let text = row.to_string();
            for part in [
                row.name,
                row.proposal,
                row.earliest_removal,
                row.replacement,
            ] {
                assert!(!part.is_empty() && text.contains(part), "{text}");
            }
        }
    }

    #[test]
    fn features_are_deprecated_from_one_revision_on() {
        use DeprecatedFeature::*;
        #[track_caller]
        fn check(feature: DeprecatedFeature, expected: &str) {
            let letter = |version| {
                if feature.is_deprecated_in(version) {
                    'x'
                } else {
                    '-'
                }
            };
            let revisions: String = ProtocolVersion::ALL.into_iter().map(letter).collect();
            assert_eq!(revisions, expected, "{feature:?}");
        }
        check(Roots, "----x");
        check(Sampling, "----x");
        check(Logging, "----x");
        check(DynamicClientRegistration, "----x");
        check(IncludeContext, "---xx");
        check(HttpWithSse, "-xxxx");
    }

    #[test]
    fn input_requests_use_deprecated_features() {
        use ProtocolVersion::{V2025_06_18, V2025_11_25, V2026_07_28};
        #[track_caller]
        fn check(request: Value, version: ProtocolVersion, expected: &[DeprecatedFeature]) {
            let request: InputRequest = serde_json::from_value(request).expect("an input request");
            let used: Vec<_> = DeprecatedFeature::in_request(&request, version).collect();
            assert_eq!(used, expected);
        }
        let roots = || json!({"method": "roots/list"});
        check(roots(), V2026_07_28, &[DeprecatedFeature::Roots]);
        check(roots(), V2025_11_25, &[]);
        let sampling = |context: Value| {
            let mut params = json!({"messages": [], "maxTokens": 1});
            params["includeContext"] = context;
            json!({"method": "sampling/createMessage", "params": params})
        };
        let features = [
            DeprecatedFeature::Sampling,
            DeprecatedFeature::IncludeContext,
        ];
        check(sampling(json!("none")), V2026_07_28, &features[..1]);
        check(sampling(json!("allServers")), V2026_07_28, &features);
        check(sampling(json!("thisServer")), V2025_11_25, &features[1..]);
        check(sampling(json!("thisServer")), V2025_06_18, &[]);
        let form = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {
            "type": "object", "properties": {},
        }}});
        check(form, V2026_07_28, &[]);
    }
}
