//! The types of all members of `server.json`, schema 2025-12-11, as a table.
//!
//! Members that the schema does not define are permitted. The [rules](super::rules) say what else must be true.

use serde_json::Value;

/// The type of a value.
#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    Flag,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// An object with members of any type.
    Any,
    Array(&'static Type),
    /// An object whose members have names of the author.
    Map(&'static Type),
    /// An object with these members. All of them are optional here.
    Object(&'static [(&'static str, Type)]),
}

use Type::{Any, Array, Flag, Map, Object, OneOf, Text};

const FORMATS: Type = OneOf(&["string", "number", "boolean", "filepath"]);

/// A value that the user sets.
const INPUT: Type = Object(&[
    ("description", Text),
    ("isRequired", Flag),
    ("isSecret", Flag),
    ("format", FORMATS),
    ("value", Text),
    ("default", Text),
    ("placeholder", Text),
    ("choices", Array(&Text)),
]);

/// An environment variable, a header or an argument.
const NAMED_INPUT: Type = Object(&[
    ("name", Text),
    ("type", Text),
    ("valueHint", Text),
    ("isRepeated", Flag),
    ("variables", Map(&INPUT)),
    ("description", Text),
    ("isRequired", Flag),
    ("isSecret", Flag),
    ("format", FORMATS),
    ("value", Text),
    ("default", Text),
    ("placeholder", Text),
    ("choices", Array(&Text)),
]);

const TRANSPORT: Type = Object(&[
    ("type", Text),
    ("url", Text),
    ("headers", Array(&NAMED_INPUT)),
    ("variables", Map(&INPUT)),
]);

const PACKAGE: Type = Object(&[
    ("registryType", Text),
    ("registryBaseUrl", Text),
    ("identifier", Text),
    ("version", Text),
    ("fileSha256", Text),
    ("runtimeHint", Text),
    ("transport", TRANSPORT),
    ("runtimeArguments", Array(&NAMED_INPUT)),
    ("packageArguments", Array(&NAMED_INPUT)),
    ("environmentVariables", Array(&NAMED_INPUT)),
]);

const DOCUMENT: Type = Object(&[
    ("$schema", Text),
    ("name", Text),
    ("title", Text),
    ("description", Text),
    ("version", Text),
    ("websiteUrl", Text),
    (
        "repository",
        Object(&[
            ("url", Text),
            ("source", Text),
            ("id", Text),
            ("subfolder", Text),
        ]),
    ),
    (
        "icons",
        Array(&Object(&[
            ("src", Text),
            ("mimeType", Text),
            ("sizes", Array(&Text)),
            ("theme", Text),
        ])),
    ),
    ("packages", Array(&PACKAGE)),
    ("remotes", Array(&TRANSPORT)),
    (
        "_meta",
        Object(&[("io.modelcontextprotocol.registry/publisher-provided", Any)]),
    ),
]);

/// Returns the path of each member with a value of another type, and what it is not.
pub(super) fn wrong_types(document: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    compare(document, &DOCUMENT, "", &mut found);
    found
}

fn compare(value: &Value, expected: &Type, path: &str, found: &mut Vec<(String, String)>) {
    let mut add = |problem: String| found.push((path.to_owned(), problem));
    match (expected, value) {
        (Text, Value::String(_)) | (Flag, Value::Bool(_)) | (Any, Value::Object(_)) => {}
        (OneOf(texts), Value::String(text)) if texts.contains(&text.as_str()) => {}
        (Array(element), Value::Array(values)) => {
            for (index, value) in values.iter().enumerate() {
                compare(value, element, &format!("{path}[{index}]"), found);
            }
        }
        (Map(member), Value::Object(members)) => {
            for (name, value) in members {
                compare(value, member, &joined(path, name), found);
            }
        }
        (Object(types), Value::Object(members)) => {
            for (name, expected) in *types {
                if let Some(value) = members.get(*name) {
                    compare(value, expected, &joined(path, name), found);
                }
            }
        }
        (Text, _) => add("is not a text".to_owned()),
        (Flag, _) => add("is not `true` or `false`".to_owned()),
        (OneOf(texts), _) => add(format!("is not one of {}", texts.join(", "))),
        (Array(_), _) => add("is not an array".to_owned()),
        (Any | Map(_) | Object(_), _) => add("is not an object".to_owned()),
    }
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_value_of_another_type_is_found() {
        fn check(document: Value, path: &str, part: &str) {
            let found = wrong_types(&document);
            let [(found_path, problem)] = &found[..] else {
                panic!("{document}: {found:?}");
            };
            assert_eq!(found_path, path);
            assert!(problem.contains(part), "{problem}");
        }
        let package = |member: &str, value: Value| json!({"packages": [{member: value}]});
        check(
            package(
                "environmentVariables",
                json!([{"name": "A", "isSecret": "yes"}]),
            ),
            "packages[0].environmentVariables[0].isSecret",
            "is not `true` or `false`",
        );
        check(
            package(
                "packageArguments",
                json!([{"type": "named", "choices": ["a", 1]}]),
            ),
            "packages[0].packageArguments[0].choices[1]",
            "is not a text",
        );
        check(
            package("runtimeArguments", json!([{"format": "path"}])),
            "packages[0].runtimeArguments[0].format",
            "is not one of string",
        );
        check(
            package("transport", json!({"headers": {}})),
            "packages[0].transport.headers",
            "is not an array",
        );
        check(
            package("version", json!(1)),
            "packages[0].version",
            "is not a text",
        );
        check(
            json!({"packages": ["a"]}),
            "packages[0]",
            "is not an object",
        );
        check(
            json!({"remotes": [{"variables": {"tenant": {"default": 1}}}]}),
            "remotes[0].variables.tenant.default",
            "is not a text",
        );
        check(
            json!({"repository": {"id": 7}}),
            "repository.id",
            "is not a text",
        );
        check(json!({"websiteUrl": null}), "websiteUrl", "is not a text");
        check(json!({"_meta": []}), "_meta", "is not an object");
        check(json!([]), "", "is not an object");
        let custom = json!({"custom": 1, "_meta": {"com.example/a": 1}});
        assert!(wrong_types(&custom).is_empty());
    }
}
