//! Updates an existing `server.json`. What its author added by hand stays.

use serde_json::{Map, Value};

/// The members of list elements that say which elements are the same.
const PACKAGE_KEY: [&str; 2] = ["registryType", "identifier"];
const REMOTE_KEY: [&str; 2] = ["type", "url"];
const VARIABLE_KEY: [&str; 1] = ["name"];

/// Returns a document with the members of a description and the other members that it had.
///
/// A package matches the old one with the same type and identifier. Versions in identifiers are ignored. A remote matches
/// the old one with the same type and URL. Other packages and remotes stay.
pub(super) fn merge(
    mut document: Map<String, Value>,
    description: &Map<String, Value>,
) -> Map<String, Value> {
    let old_version = text(document.get("version")).to_owned();
    let new_version = text(description.get("version")).to_owned();
    // The versions of the document may have more parts than numbers, such as `1.0.0-rc.1`.
    let compared = |identifier: &str| {
        let versions = [&old_version, &new_version].into_iter();
        let known = versions.filter(|version| !version.is_empty());
        let identifier = known.fold(identifier.to_owned(), |identifier, version| {
            identifier.replace(version.as_str(), "*")
        });
        without_versions(&identifier)
    };
    for (member, value) in description {
        let merged = match (member.as_str(), document.get(member), value) {
            ("packages", Some(Value::Array(old)), Value::Array(new)) => {
                merge_elements(old.clone(), new, &PACKAGE_KEY, compared, merge_package)
            }
            ("remotes", Some(Value::Array(old)), Value::Array(new)) => {
                merge_elements(old.clone(), new, &REMOTE_KEY, str::to_owned, merge_members)
            }
            _ => value.clone(),
        };
        document.insert(member.clone(), merged);
    }
    document
}

/// Removes the package of a crate from a document.
pub(super) fn remove_crate(document: &mut Map<String, Value>, name: &str) {
    if let Some(Value::Array(packages)) = document.get_mut("packages") {
        packages
            .retain(|package| package["registryType"] != "cargo" || package["identifier"] != name);
    }
}

/// Merges the new elements into the old ones with the same key, and appends the others. `compared` returns the
/// part of a key that is compared. An element with exactly the same key takes precedence.
fn merge_elements(
    mut elements: Vec<Value>,
    new: &[Value],
    key: &[&str],
    compared: impl Fn(&str) -> String,
    merge: impl Fn(&mut Value, &Value),
) -> Value {
    for new in new {
        let position = |is_same: &dyn Fn(&str, &str) -> bool| {
            elements.iter().position(|old| {
                key.iter()
                    .all(|member| is_same(text(old.get(member)), text(new.get(member))))
            })
        };
        let exact = position(&|old, new| old == new);
        let found = exact.or_else(|| position(&|old, new| compared(old) == compared(new)));
        match found {
            Some(index) => merge(&mut elements[index], new),
            None => elements.push(new.clone()),
        }
    }
    Value::Array(elements)
}

/// Sets the members of a package. Its transport stays, and so do variables that `Cargo.toml` does not declare.
fn merge_package(old: &mut Value, new: &Value) {
    let Some(members) = old.as_object_mut() else {
        *old = new.clone();
        return;
    };
    for (member, value) in new.as_object().into_iter().flatten() {
        let written = members.get(member).filter(|written| !written.is_null());
        let merged = match (member.as_str(), written, value) {
            ("transport", Some(written), _) => written.clone(),
            ("environmentVariables", Some(Value::Array(written)), Value::Array(new)) => {
                let written = written.clone();
                merge_elements(written, new, &VARIABLE_KEY, str::to_owned, merge_members)
            }
            _ => value.clone(),
        };
        members.insert(member.clone(), merged);
    }
}

/// Sets the members of an object, and keeps its other members.
fn merge_members(old: &mut Value, new: &Value) {
    match (old.as_object_mut(), new.as_object()) {
        (Some(old), Some(new)) => old.extend(new.clone()),
        _ => *old = new.clone(),
    }
}

/// Returns an identifier with `*` instead of each version, such as `1.0.0`.
fn without_versions(identifier: &str) -> String {
    let mut text = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, numbers) = rest.split_at(start);
        let end = numbers.find(|c: char| !c.is_ascii_digit() && c != '.');
        let version = numbers[..end.unwrap_or(numbers.len())].trim_end_matches('.');
        let is_version = version.matches('.').count() >= 2;
        text.push_str(before);
        text.push_str(if is_version { "*" } else { version });
        rest = &numbers[version.len()..];
    }
    text + rest
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(old: Value, new: Value, expected: Value) {
        let object = |value: Value| value.as_object().expect("an object").clone();
        let merged = merge(object(old), &object(new));
        assert_eq!(Value::from(merged), expected);
    }

    #[test]
    fn other_members_stay() {
        check(
            json!({"icons": [], "version": "1.0.0", "name": "a/b"}),
            json!({"version": "1.1.0", "packages": []}),
            json!({"icons": [], "version": "1.1.0", "name": "a/b", "packages": []}),
        );
    }

    #[test]
    fn package_keeps_what_its_author_wrote() {
        let transport = json!({"type": "streamable-http", "url": "http://localhost:{port}/mcp"});
        check(
            json!({"version": "1.0.0", "packages": [
                {"registryType": "npm", "identifier": "a", "version": "3.0.0"},
                {
                    "registryType": "cargo", "identifier": "a", "version": "1.0.0", "transport": transport,
                    "packageArguments": [{"type": "positional", "value": "serve"}],
                    "environmentVariables": [
                        {"name": "KEY", "isRequired": false, "placeholder": "abc"},
                        {"name": "MODE"},
                    ],
                },
            ]}),
            json!({"version": "1.1.0", "packages": [{
                "registryType": "cargo", "identifier": "a", "version": "1.1.0",
                "transport": {"type": "stdio"},
                "environmentVariables": [{"name": "KEY", "isRequired": true}],
            }]}),
            json!({"version": "1.1.0", "packages": [
                {"registryType": "npm", "identifier": "a", "version": "3.0.0"},
                {
                    "registryType": "cargo", "identifier": "a", "version": "1.1.0", "transport": transport,
                    "packageArguments": [{"type": "positional", "value": "serve"}],
                    "environmentVariables": [
                        {"name": "KEY", "isRequired": true, "placeholder": "abc"},
                        {"name": "MODE"},
                    ],
                },
            ]}),
        );
    }

    #[test]
    fn identifier_with_the_version_is_updated() {
        let bundle = |version: &str, platform: &str| {
            let url = format!("https://x/{version}/notes-{version}-{platform}.mcpb");
            json!({"registryType": "mcpb", "identifier": url})
        };
        let document =
            |version: &str, packages: Value| json!({"version": version, "packages": packages});
        check(
            document(
                "1.0.0",
                json!([bundle("1.0.0", "mac"), bundle("1.0.0", "linux")]),
            ),
            document("1.1.0", json!([bundle("1.1.0", "linux")])),
            document(
                "1.1.0",
                json!([bundle("1.0.0", "mac"), bundle("1.1.0", "linux")]),
            ),
        );
        // The next run, on the other platform, does not change the version of the document.
        check(
            document(
                "1.1.0",
                json!([bundle("1.0.0", "mac"), bundle("1.1.0", "linux")]),
            ),
            document("1.1.0", json!([bundle("1.1.0", "mac")])),
            document(
                "1.1.0",
                json!([bundle("1.1.0", "mac"), bundle("1.1.0", "linux")]),
            ),
        );
        // A prerelease.
        check(
            document("1.0.0-rc.1", json!([bundle("1.0.0-rc.1", "mac")])),
            document("1.0.0", json!([bundle("1.0.0", "mac")])),
            document("1.0.0", json!([bundle("1.0.0", "mac")])),
        );
    }

    #[test]
    fn remote_is_found_by_its_url() {
        let remote = |url: &str| json!({"type": "streamable-http", "url": url});
        let mut first = remote("https://a/mcp");
        first["headers"] = json!([{"name": "X-Key"}]);
        check(
            json!({"remotes": [first]}),
            json!({"remotes": [remote("https://a/mcp"), remote("https://b/mcp")]}),
            json!({"remotes": [first, remote("https://b/mcp")]}),
        );
    }

    #[test]
    fn crate_can_be_removed() {
        let packages = json!({"packages": [
            {"registryType": "cargo", "identifier": "a"},
            {"registryType": "npm", "identifier": "a"},
        ]});
        let mut document = packages.as_object().expect("an object").clone();
        remove_crate(&mut document, "a");
        let left = json!([{"registryType": "npm", "identifier": "a"}]);
        assert_eq!(document["packages"], left);
    }
}
