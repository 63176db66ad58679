//! The extensions: the revisions that may declare them, and the checks of their declarations.
//!
//! The table names the extensions of the specification. All other ids belong to third parties, which may declare their
//! extensions from 2025-11-25 on: the schema of that revision has no `extensions`, but its peers negotiate them in
//! `initialize`.

use std::fmt;

use serde_json::json;
use toolwire_types::apps::EXTENSION_ID as UI;
use toolwire_types::skills::EXTENSION_ID as SKILLS;
use toolwire_types::tasks::extension::EXTENSION_ID as TASKS;
use toolwire_types::{
    ClientCapabilities, ErrorObject, ProtocolVersion, RawJson, ServerCapabilities, code,
};

use crate::meta_keys::is_valid_extension_id;
use crate::methods::Capability;

/// The first revision in which peers declare extensions.
const FIRST: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// The extensions of the specification with the first revision that may declare each, sorted by id.
static TABLE: [(&str, ProtocolVersion); 4] = [
    // A literal, because the types of this draft are optional.
    ("io.modelcontextprotocol/events", MODERN),
    (SKILLS, FIRST),
    // 2025-11-25 has the core capability `tasks` instead.
    (TASKS, MODERN),
    (UI, FIRST),
];

/// Returns the first revision that may declare an extension.
#[must_use]
pub fn first_revision(id: &str) -> ProtocolVersion {
    let known = TABLE.iter().find(|(known, _)| *known == id);
    known.map_or(FIRST, |(_, since)| *since)
}

/// Returns `true` if a revision may declare an extension.
#[must_use]
pub fn may_declare(version: ProtocolVersion, id: &str) -> bool {
    is_in_force(first_revision(id), version)
}

/// Returns `true` if an extension that exists since one revision exists in another one.
#[must_use]
pub fn is_in_force(since: ProtocolVersion, version: ProtocolVersion) -> bool {
    since <= version
}

/// A declaration that no revision permits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a declaration is an id, settings and a first revision"
)]
pub enum InvalidDeclaration {
    /// The id is not a prefix and a name.
    Id(String),
    /// The settings of this extension are not a JSON object.
    Settings(String),
    /// The extension exists since a revision that cannot declare it.
    TooEarly(String),
}

impl fmt::Display for InvalidDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(
                f,
                "extension id {id:?}: use a prefix and a name, as in `com.example/feature`"
            ),
            Self::Settings(id) => {
                write!(f, "extension `{id}`: the settings must be a JSON object")
            }
            Self::TooEarly(id) => write!(
                f,
                "extension `{id}`: revisions before {} cannot declare it",
                first_revision(id)
            ),
        }
    }
}

impl std::error::Error for InvalidDeclaration {}

/// Checks the id and the settings of an extension, before they are declared.
///
/// Spec 2026-07-28, basic/versioning: ids have the grammar of `_meta` keys, with a mandatory prefix.
///
/// # Errors
/// Returns an error if the id has no prefix or is malformed, or if the settings are not an object.
pub fn check_declaration(id: &str, settings: &RawJson) -> Result<(), InvalidDeclaration> {
    if !is_valid_extension_id(id) {
        return Err(InvalidDeclaration::Id(id.to_owned()));
    }
    if !settings.is_object() {
        return Err(InvalidDeclaration::Settings(id.to_owned()));
    }
    Ok(())
}

/// Checks the first revision that an author chose for an extension.
///
/// # Errors
/// Returns an error if that revision cannot declare the extension.
pub fn check_since(id: &str, since: ProtocolVersion) -> Result<(), InvalidDeclaration> {
    if may_declare(since, id) {
        Ok(())
    } else {
        Err(InvalidDeclaration::TooEarly(id.to_owned()))
    }
}

/// Checks that a client declared an extension.
///
/// # Errors
/// Returns −32021, which names the extension, if the client did not declare it.
pub fn check_declared(id: &str, client: &ClientCapabilities) -> Result<(), ErrorObject> {
    let settings = client.extension(id);
    if settings.is_some_and(|settings| !settings.is_null()) {
        Ok(())
    } else {
        Err(undeclared(id))
    }
}

/// Returns the same error as [`MissingCapability`](crate::rounds::MissingCapability), without the code that writes all
/// capabilities, which a small server does not need.
#[cold]
fn undeclared(id: &str) -> ErrorObject {
    let message =
        format!("the request requires extension `{id}`, which the client did not declare");
    ErrorObject::new(code::MISSING_REQUIRED_CLIENT_CAPABILITY, message)
        .with_data(json!({ "requiredCapabilities": { "extensions": { id: {} } } }))
}

/// Returns the names of the required server capabilities that a server does not offer, such as `resources.subscribe`.
/// Settings of extensions are not compared, only their presence.
#[must_use]
pub fn missing_from_server(
    required: &ServerCapabilities,
    offered: &ServerCapabilities,
) -> Vec<String> {
    let capabilities = Capability::ALL.into_iter().filter(|capability| {
        capability.is_advertised(required) && !capability.is_advertised(offered)
    });
    let capabilities = capabilities.map(|capability| format!("capability `{}`", capability.name()));
    let ids = required.extensions.iter().flat_map(|map| map.keys());
    let ids = ids.filter(|id| offered.extension(id).is_none());
    let extensions = ids.map(|id| format!("extension `{id}`"));
    capabilities.chain(extensions).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn extensions_may_be_declared_from_their_first_revision_on() {
        let check = |id: &str, expected: &str| {
            let revisions = ProtocolVersion::ALL.into_iter();
            let revisions: String = revisions
                .map(|version| if may_declare(version, id) { 'x' } else { '-' })
                .collect();
            assert_eq!(revisions, expected, "{id}");
        };
        check("io.modelcontextprotocol/tasks", "----x");
        check("io.modelcontextprotocol/events", "----x");
        check("io.modelcontextprotocol/skills", "---xx");
        check("io.modelcontextprotocol/ui", "---xx");
        check("com.example/own", "---xx");
        assert!(TABLE.is_sorted());
    }

    #[test]
    fn invalid_declarations_are_named() {
        let check = |id: &str, settings: Value, expected: &str| {
            let outcome = check_declaration(id, &settings.into());
            let message = outcome.err().map(|error| error.to_string());
            assert_eq!(message.unwrap_or_default(), expected);
        };
        check("com.example/a", json!({"b": [null]}), "");
        check(
            "com.example/a",
            json!(true),
            "extension `com.example/a`: the settings must be a JSON object",
        );
        check(
            "example",
            json!({}),
            "extension id \"example\": use a prefix and a name, as in `com.example/feature`",
        );
    }

    #[test]
    fn first_revision_of_an_author_is_not_before_that_of_the_table() {
        let check = |id: &str, since: ProtocolVersion, accepted: bool| {
            assert_eq!(check_since(id, since).is_ok(), accepted, "{id} {since}");
        };
        check("com.example/a", ProtocolVersion::V2026_07_28, true);
        check("com.example/a", ProtocolVersion::V2025_11_25, true);
        check("com.example/a", ProtocolVersion::V2025_06_18, false);
        check(TASKS, ProtocolVersion::V2025_11_25, false);
        assert_eq!(
            InvalidDeclaration::TooEarly(TASKS.to_owned()).to_string(),
            "extension `io.modelcontextprotocol/tasks`: revisions before 2026-07-28 cannot declare it"
        );
    }

    #[test]
    fn only_a_declared_extension_is_accepted() {
        let check = |declared: Value, accepted: bool| {
            let client: ClientCapabilities = serde_json::from_value(declared).expect("valid");
            let Err(error) = check_declared(TASKS, &client) else {
                assert!(accepted);
                return;
            };
            assert!(!accepted);
            assert_eq!(error.code, -32021);
            let data = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
            assert_eq!(error.data, Some(data.into()));
        };
        check(json!({"extensions": {TASKS: {}}}), true);
        check(json!({"extensions": {TASKS: {"later": 1}}}), true);
        check(json!({"extensions": {TASKS: null}}), false);
        check(json!({"extensions": {"com.example/a": {}}}), false);
        check(json!({"tasks": {"requests": {}}}), false);
        check(json!({}), false);
    }

    #[test]
    fn missing_requirements_of_a_server_are_named() {
        let check = |required: Value, offered: Value, expected: &[&str]| {
            let [required, offered] = [required, offered].map(|capabilities| {
                serde_json::from_value::<ServerCapabilities>(capabilities).expect("valid")
            });
            assert_eq!(missing_from_server(&required, &offered), expected);
        };
        check(json!({}), json!({}), &[]);
        check(
            json!({"tools": {}}),
            json!({"tools": {"listChanged": true}}),
            &[],
        );
        check(
            json!({"tools": {}, "resources": {"subscribe": true}, "extensions": {"a.b/c": {}}}),
            json!({"resources": {}}),
            &[
                "capability `tools`",
                "capability `resources.subscribe`",
                "extension `a.b/c`",
            ],
        );
        check(
            json!({"extensions": {"a.b/c": {"x": 1}}}),
            json!({"extensions": {"a.b/c": {}}}),
            &[],
        );
    }
}
