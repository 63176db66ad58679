//! The rules for `server.json`, schema 2025-12-11, and those that the registry adds.

use serde_json::Value;

use crate::commands::publish::types::wrong_types;

/// The types of packages that the registry accepts.
const PACKAGE_TYPES: [&str; 7] = ["cargo", "maven", "mcpb", "npm", "nuget", "oci", "pypi"];

/// The media types of icons.
const ICON_TYPES: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/jpg",
    "image/svg+xml",
    "image/webp",
];

/// Returns all violations, each with the path of the member.
pub(super) fn problems(document: &Value) -> Vec<String> {
    let mut problems = Problems(Vec::new());
    problems.text(document, "", "name", true, 3..=200);
    if document["name"].as_str().is_some_and(|name| !is_name(name)) {
        problems.add(
            "name",
            "is not a namespace, one slash and a name, such as io.github.you/weather",
        );
    }
    problems.text(document, "", "title", false, 1..=100);
    problems.text(document, "", "description", true, 1..=100);
    problems.text(document, "", "version", true, 1..=255);
    problems.version(document, "version");
    problems.url(document, "", "websiteUrl");
    let repository = &document["repository"];
    if !repository.is_null() {
        problems.text(repository, "repository.", "url", true, 1..=usize::MAX);
        problems.text(repository, "repository.", "source", true, 1..=usize::MAX);
        problems.url(repository, "repository.", "url");
    }
    for (path, icon) in elements(document, "", "icons", &mut problems) {
        problems.icon(icon, &path);
    }
    let packages = elements(document, "", "packages", &mut problems);
    for (path, package) in &packages {
        problems.package(package, path);
    }
    let remotes = elements(document, "", "remotes", &mut problems);
    for (path, remote) in &remotes {
        problems.transport(remote, path, &["streamable-http", "sse"]);
    }
    if packages.is_empty() && remotes.is_empty() {
        problems.add(
            "packages",
            "is empty, and so is `remotes`: there is no way to use the server",
        );
    }
    for (path, problem) in wrong_types(document) {
        problems.add_once(&path, &problem);
    }
    problems.0
}

/// The violations so far.
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, path: &str, problem: &str) {
        self.0.push(format!("server.json: `{path}` {problem}"));
    }

    /// Adds a violation, unless another one of the same member is known.
    fn add_once(&mut self, path: &str, problem: &str) {
        let start = format!("server.json: `{path}` ");
        if !self.0.iter().any(|known| known.starts_with(&start)) {
            self.add(path, problem);
        }
    }

    /// Checks a text and its length in characters.
    fn text(
        &mut self,
        parent: &Value,
        path: &str,
        member: &str,
        is_required: bool,
        length: std::ops::RangeInclusive<usize>,
    ) {
        let path = format!("{path}{member}");
        match &parent[member] {
            Value::Null if is_required => self.add(&path, "is missing"),
            Value::Null => {}
            Value::String(text) => {
                let count = text.chars().count();
                if count > *length.end() {
                    let problem =
                        format!("has {count} characters; the maximum is {}", length.end());
                    self.add(&path, &problem);
                } else if count < *length.start() {
                    let problem =
                        format!("has {count} characters; the minimum is {}", length.start());
                    self.add(&path, &problem);
                }
            }
            _ => self.add(&path, "is not a text"),
        }
    }

    /// Checks that a version is one version and not a range.
    fn version(&mut self, parent: &Value, path: &str) {
        let Some(text) = parent["version"].as_str() else {
            return;
        };
        let parts = text.split(['.', '-', '+']);
        let has_wildcard = parts.take(3).any(|part| ["x", "X", "*"].contains(&part));
        let is_range = text.starts_with(['^', '~', '>', '<', '=']) || text.contains("||");
        if text == "latest" || is_range || has_wildcard {
            self.add(path, "must be one version, such as 1.2.3");
        }
    }

    fn url(&mut self, parent: &Value, path: &str, member: &str) {
        if parent[member].as_str().is_some_and(|url| !is_url(url)) {
            self.add(&format!("{path}{member}"), "is not an http or https URL");
        }
    }

    fn icon(&mut self, icon: &Value, path: &str) {
        self.text(icon, path, "src", true, 1..=255);
        if icon["src"]
            .as_str()
            .is_some_and(|url| !url.starts_with("https://"))
        {
            self.add(&format!("{path}src"), "is not an https URL");
        }
        if icon["mimeType"]
            .as_str()
            .is_some_and(|kind| !ICON_TYPES.contains(&kind))
        {
            self.add(
                &format!("{path}mimeType"),
                &format!("is not one of {}", ICON_TYPES.join(", ")),
            );
        }
        match &icon["sizes"] {
            Value::Null => {}
            Value::Array(sizes) => {
                for (index, size) in sizes.iter().enumerate() {
                    if !size.as_str().is_some_and(is_icon_size) {
                        let path = format!("{path}sizes[{index}]");
                        self.add(&path, "is not a size such as 48x48, and not `any`");
                    }
                }
            }
            _ => self.add(&format!("{path}sizes"), "is not an array"),
        }
        let theme = &icon["theme"];
        if !theme.is_null() && !["light", "dark"].map(Value::from).contains(theme) {
            self.add(&format!("{path}theme"), "is not `light` or `dark`");
        }
    }

    fn package(&mut self, package: &Value, path: &str) {
        self.text(package, path, "registryType", true, 1..=usize::MAX);
        self.text(package, path, "identifier", true, 1..=usize::MAX);
        self.text(package, path, "version", false, 1..=usize::MAX);
        self.version(package, &format!("{path}version"));
        let kind = package["registryType"].as_str().unwrap_or_default();
        if !kind.is_empty() && !PACKAGE_TYPES.contains(&kind) {
            let known = PACKAGE_TYPES.join(", ");
            self.add(
                &format!("{path}registryType"),
                &format!("is not one of {known}"),
            );
        }
        let digest = package["fileSha256"].as_str();
        let is_digest = |text: &str| {
            let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            text.len() == 64 && text.chars().all(is_digit)
        };
        match digest {
            Some(digest) if !is_digest(digest) => {
                let problem = "is not a SHA-256 digest of 64 small hexadecimal digits";
                self.add(&format!("{path}fileSha256"), problem);
            }
            None if kind == "mcpb" => {
                self.add(
                    &format!("{path}fileSha256"),
                    "is missing; a bundle requires it",
                );
            }
            _ => {}
        }
        if kind == "mcpb" {
            self.url(package, path, "identifier");
        }
        if package["transport"].is_null() {
            self.add(&format!("{path}transport"), "is missing");
        } else {
            let path = format!("{path}transport.");
            self.transport(
                &package["transport"],
                &path,
                &["stdio", "streamable-http", "sse"],
            );
        }
        for (path, variable) in elements(package, path, "environmentVariables", self) {
            self.text(variable, &path, "name", true, 1..=usize::MAX);
        }
        for member in ["packageArguments", "runtimeArguments"] {
            for (path, argument) in elements(package, path, member, self) {
                self.argument(argument, &path);
            }
        }
    }

    fn argument(&mut self, argument: &Value, path: &str) {
        match argument["type"].as_str() {
            Some("named") => self.text(argument, path, "name", true, 1..=usize::MAX),
            Some("positional") => {
                if argument["value"].is_null() && argument["valueHint"].is_null() {
                    self.add(
                        path.trim_end_matches('.'),
                        "has neither `value` nor `valueHint`",
                    );
                }
            }
            _ => self.add(&format!("{path}type"), "is not `named` or `positional`"),
        }
    }

    fn transport(&mut self, transport: &Value, path: &str, types: &[&str]) {
        let kind = transport["type"].as_str().unwrap_or_default();
        if !types.contains(&kind) {
            self.add(
                &format!("{path}type"),
                &format!("is not one of {}", types.join(", ")),
            );
        } else if kind != "stdio" {
            self.text(transport, path, "url", true, 1..=usize::MAX);
            self.url(transport, path, "url");
            for (path, header) in elements(transport, path, "headers", self) {
                self.text(header, &path, "name", true, 1..=usize::MAX);
            }
        }
    }
}

/// Returns the elements of an array, each with its path and a dot.
fn elements<'a>(
    parent: &'a Value,
    path: &str,
    member: &str,
    problems: &mut Problems,
) -> Vec<(String, &'a Value)> {
    match &parent[member] {
        Value::Null => Vec::new(),
        Value::Array(values) => {
            let values = values.iter().enumerate();
            values
                .map(|(index, value)| (format!("{path}{member}[{index}]."), value))
                .collect()
        }
        _ => {
            problems.add(&format!("{path}{member}"), "is not an array");
            Vec::new()
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str, others: &str| {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
        !part.is_empty() && part.chars().all(is_valid)
    };
    let parts = name.split_once('/');
    parts.is_some_and(|(namespace, name)| is_part(namespace, ".-") && is_part(name, "._-"))
}

fn is_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

/// Returns `true` for `any`, or a width and a height in pixels, such as `48x48`.
fn is_icon_size(size: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let sides = size.split_once('x');
    size == "any" || sides.is_some_and(|(width, height)| is_number(width) && is_number(height))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn valid() -> Value {
        json!({
            "name": "io.github.ada/notes",
            "description": "Notes",
            "version": "1.2.3-beta.1",
            "repository": {"url": "https://github.com/ada/notes", "source": "github"},
            "packages": [
                {"registryType": "cargo", "identifier": "notes", "version": "1.2.3", "transport": {"type": "stdio"}},
                {
                    "registryType": "mcpb", "identifier": "https://x/a.mcpb", "fileSha256": "a".repeat(64),
                    "transport": {"type": "stdio"}, "environmentVariables": [{"name": "KEY"}],
                },
            ],
            "remotes": [{"type": "streamable-http", "url": "https://x/mcp"}],
            "icons": [{
                "src": "https://x/icon.png", "mimeType": "image/png",
                "sizes": ["48x48", "any"], "theme": "dark",
            }],
        })
    }

    #[test]
    fn valid_document_has_no_problems() {
        assert_eq!(problems(&valid()), [""; 0]);
        let text = "a".repeat(100);
        let mut document = valid();
        document["description"] = json!(text);
        document["title"] = json!(text);
        assert_eq!(problems(&document), [""; 0]);
    }

    #[test]
    fn every_violation_names_its_member() {
        fn check(pointer: &str, value: Value, expected: &str) {
            let mut document = valid();
            let (parent, member) = pointer.rsplit_once('/').expect("a pointer has a slash");
            document.pointer_mut(parent).expect("the parent exists")[member] = value;
            let problems = problems(&document);
            let is_found = problems.iter().any(|problem| problem.contains(expected));
            assert!(is_found, "{pointer}: {problems:?}");
        }
        check("/name", json!("notes"), "`name` is not a namespace");
        check("/name", json!("a/b/c"), "`name` is not a namespace");
        check("/name", json!("a/b".repeat(70)), "maximum is 200");
        check("/name", Value::Null, "`name` is missing");
        check("/description", json!(""), "minimum is 1");
        check(
            "/description",
            json!("a".repeat(101)),
            "101 characters; the maximum is 100",
        );
        check("/title", json!(1), "`title` is not a text");
        check("/version", json!("^1.0"), "must be one version");
        check("/version", json!("1.x"), "must be one version");
        check("/version", json!("latest"), "must be one version");
        check("/websiteUrl", json!("example.com"), "`websiteUrl` is not");
        check(
            "/repository/source",
            Value::Null,
            "`repository.source` is missing",
        );
        check("/packages", json!({}), "`packages` is not an array");
        let packages = "/packages/0";
        check(
            &format!("{packages}/registryType"),
            json!("gem"),
            "is not one of cargo",
        );
        check(
            &format!("{packages}/identifier"),
            Value::Null,
            "`packages[0].identifier`",
        );
        check(
            &format!("{packages}/version"),
            json!(""),
            "`packages[0].version` has 0 characters; the minimum is 1",
        );
        check(
            &format!("{packages}/transport"),
            Value::Null,
            "`packages[0].transport`",
        );
        check(
            "/packages/1/fileSha256",
            json!("A"),
            "`packages[1].fileSha256` is not",
        );
        check(
            "/packages/1/fileSha256",
            Value::Null,
            "a bundle requires it",
        );
        check(
            "/packages/1/environmentVariables",
            json!([{}]),
            "environmentVariables[0].name",
        );
        check(
            &format!("{packages}/packageArguments"),
            json!([{"type": "positional"}]),
            "valueHint",
        );
        check(
            &format!("{packages}/packageArguments"),
            json!([{"type": "flag"}]),
            "`named`",
        );
        check(
            "/packages/1/environmentVariables",
            json!([{"name": "A", "isSecret": "yes"}]),
            "`packages[1].environmentVariables[0].isSecret` is not `true` or `false`",
        );
        check("/repository", json!(1), "`repository` is not an object");
        check("/websiteUrl", json!(1), "`websiteUrl` is not a text");
        check("/remotes", json!([{"type": "stdio"}]), "`remotes[0].type`");
        check(
            "/remotes",
            json!([{"type": "sse", "url": "x"}]),
            "`remotes[0].url`",
        );
        check("/icons", json!([{"src": "http://x"}]), "`icons[0].src`");
        let icon = |member: &str, value: Value| {
            let mut icon = json!({"src": "https://x/icon.png"});
            icon[member] = value;
            json!([icon])
        };
        for size in ["48", "48x", "x48", "48X48", "+8x+8", "4.5x2", "", "Any"] {
            let sizes = icon("sizes", json!(["any", size]));
            check("/icons", sizes, "`icons[0].sizes[1]` is not a size");
        }
        check("/icons", icon("sizes", json!("48x48")), "`icons[0].sizes`");
        check("/icons", icon("theme", json!("blue")), "`icons[0].theme`");
        let mut document = valid();
        document["packages"] = json!([]);
        document["remotes"] = json!([]);
        assert_eq!(problems(&document).len(), 1);
    }
}
