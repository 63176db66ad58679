//! The schemas of a document that references can name.
//!
//! A reference is resolved against a base URI that depends on the resources around it. This module resolves it to every
//! schema that it may name, so that the count of work stays an upper bound. A reference that names no schema is an
//! error.

use std::collections::HashMap;

use serde_json::Value;

use crate::percent_encoding::percent_decoded;
use crate::schema_budget::{MAX_REFERENCE_TARGETS, MAX_RESOURCES, SchemaLimitError};

/// The base URI of a document without an `$id`.
const DEFAULT_BASE: &str = "json-schema:///";

/// The target of a reference.
pub(super) enum ReferenceTarget<'s> {
    /// Schemas of the document, at least one.
    Schemas(Vec<&'s Value>),
    /// A meta-schema of a JSON Schema draft, which validators contain themselves.
    Metaschema,
}

/// The named schemas of a document.
pub(super) struct Names<'s> {
    /// Schemas with a URI, the root first.
    resources: Vec<(&'s str, &'s Value)>,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    recursive: Vec<&'s Value>,
    /// Whether a name depends on the dynamic scope, so that a meta-schema may refer back to the document.
    has_dynamic_names: bool,
}

impl<'s> Names<'s> {
    /// Collects the names of a document.
    pub(super) fn of(root: &'s Value) -> Result<Self, SchemaLimitError> {
        let mut names = Self {
            resources: vec![(DEFAULT_BASE, root)],
            anchors: HashMap::new(),
            recursive: Vec::new(),
            has_dynamic_names: false,
        };
        let mut plain_ids = Vec::new();
        let mut has_draft4 = false;
        let mut pending = vec![root];
        while let Some(value) = pending.pop() {
            match value {
                Value::Array(items) => pending.extend(items),
                Value::Object(members) => {
                    let text = |name: &str| members.get(name).and_then(Value::as_str);
                    has_draft4 |= text("$schema").is_some_and(|uri| uri.contains("draft-04"));
                    if let Some(id) = text("$id") {
                        names.add_id(id, value);
                    }
                    plain_ids.extend(text("id").map(|id| (id, value)));
                    for keyword in ["$anchor", "$dynamicAnchor"] {
                        if let Some(name) = text(keyword) {
                            names.anchors.entry(name).or_default().push(value);
                        }
                    }
                    names.has_dynamic_names |= members.contains_key("$dynamicAnchor");
                    if members.contains_key("$recursiveAnchor") {
                        names.has_dynamic_names = true;
                        names.recursive.push(value);
                    }
                    pending.extend(members.values());
                }
                _ => {}
            }
        }
        // Only draft 4 has `id`. In other drafts it is data.
        if has_draft4 {
            for (id, value) in plain_ids {
                names.add_id(id, value);
            }
        }
        if names.resources.len() > MAX_RESOURCES + 1 {
            return Err(SchemaLimitError::Resources);
        }
        Ok(names)
    }

    /// Adds an `$id`, which names a resource. Up to draft 7 its fragment names an anchor.
    fn add_id(&mut self, id: &'s str, value: &'s Value) {
        let (uri, fragment) = id.split_once('#').unwrap_or((id, ""));
        if !fragment.is_empty() {
            self.anchors.entry(fragment).or_default().push(value);
        }
        if uri.is_empty() {
            return;
        }
        match &mut self.resources[0] {
            (base, root) if std::ptr::eq(*root, value) => *base = uri,
            _ => self.resources.push((uri, value)),
        }
    }

    /// Resolves `$ref` or `$dynamicRef`.
    pub(super) fn resolve(&self, reference: &str) -> Result<ReferenceTarget<'s>, SchemaLimitError> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decoded(fragment);
        let fragment = String::from_utf8_lossy(&fragment);
        let roots = self.resources.iter();
        let roots = roots.filter(|(id, _)| uri.is_empty() || may_name(uri, id));
        let roots = roots.map(|(_, root)| *root);
        let found: Vec<_> = if fragment.is_empty() || fragment.starts_with('/') {
            roots
                .filter_map(|root| pointed(root, &fragment))
                .take(MAX_REFERENCE_TARGETS + 1)
                .collect()
        } else {
            let named = self.anchors.get(&*fragment).into_iter().flatten().copied();
            named.take(MAX_REFERENCE_TARGETS + 1).collect()
        };
        if found.is_empty() && is_metaschema(uri) && !self.has_dynamic_names {
            return Ok(ReferenceTarget::Metaschema);
        }
        bounded(found, reference)
    }

    /// Resolves `$recursiveRef`, which names the root of a resource.
    pub(super) fn resolve_recursive(&self) -> Result<ReferenceTarget<'s>, SchemaLimitError> {
        let roots = self.resources.iter().map(|(_, root)| *root);
        let found = roots.chain(self.recursive.iter().copied());
        bounded(found.take(MAX_REFERENCE_TARGETS + 1).collect(), "#")
    }
}

fn bounded<'s>(
    found: Vec<&'s Value>,
    reference: &str,
) -> Result<ReferenceTarget<'s>, SchemaLimitError> {
    match found.len() {
        0 => Err(SchemaLimitError::UnresolvedReference(shown(reference))),
        count if count > MAX_REFERENCE_TARGETS => {
            Err(SchemaLimitError::AmbiguousReference(shown(reference)))
        }
        _ => Ok(ReferenceTarget::Schemas(found)),
    }
}

/// Returns the part of a text that an error shows.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Returns `true` if a URI reference and an `$id` may resolve to the same URI, for any base.
fn may_name(reference: &str, id: &str) -> bool {
    // Without dot segments, escapes and queries, resolving keeps the last segment of a path.
    match (last_segment(reference), last_segment(id)) {
        (Some(reference), Some(id)) => reference.eq_ignore_ascii_case(id),
        _ => true,
    }
}

/// Returns the last segment of a plain URI reference, or `None` if it is not plain.
fn last_segment(uri: &str) -> Option<&str> {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'-' | b':' | b'/')
    };
    let has_dots = uri.split('/').any(|part| part == "." || part == "..");
    if has_dots || !uri.bytes().all(plain) {
        return None;
    }
    // `https://example.test` and `https://example.test/` are equal.
    let path = uri.split_once("//").map_or(uri, |(_, rest)| rest);
    match (path.rsplit_once('/'), path.len() == uri.len()) {
        (Some((_, last)), _) => Some(last),
        (None, true) => Some(uri),
        (None, false) => Some(""),
    }
}

fn is_metaschema(uri: &str) -> bool {
    ["https://json-schema.org/", "http://json-schema.org/"]
        .iter()
        .any(|base| uri.starts_with(base))
}

/// Resolves a JSON Pointer.
fn pointed<'s>(root: &'s Value, pointer: &str) -> Option<&'s Value> {
    let mut here = root;
    for segment in pointer.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        here = match here {
            Value::Object(members) => members.get(&name)?,
            Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reference_resolves_to_every_schema_it_may_name() {
        let document = json!({
            "$id": "https://example.test/root",
            "$defs": {
                "a/b": {"$anchor": "here", "type": "string"},
                "other": {"$id": "other", "$defs": {"a/b": true}},
            },
        });
        let names = Names::of(&document).unwrap();
        let count = |reference: &str| match names.resolve(reference) {
            Ok(ReferenceTarget::Schemas(found)) => Some(found.len()),
            Ok(ReferenceTarget::Metaschema) => Some(0),
            Err(_) => None,
        };
        assert_eq!(count("#here"), Some(1));
        assert_eq!(count("#/$defs/a~1b"), Some(2));
        assert_eq!(count("#/%24defs/other"), Some(1));
        assert_eq!(count("other"), Some(1));
        assert_eq!(count("https://example.test/root#/$defs/other"), Some(1));
        assert_eq!(count("https://elsewhere.test/schema"), None);
        assert_eq!(count("#/$defs/none"), None);
        assert_eq!(
            count("https://json-schema.org/draft/2020-12/schema"),
            Some(0)
        );
    }

    #[test]
    fn uris_that_are_not_plain_may_name_any_schema() {
        let check = |reference: &str, id: &str, expected: bool| {
            assert_eq!(may_name(reference, id), expected, "{reference} {id}");
        };
        check("b", "https://example.test/a/b", true);
        check("https://EXAMPLE.test/B", "b", true);
        check("c", "https://example.test/a/b", false);
        check("https://example.test", "https://example.test/", true);
        check("../x", "https://example.test/a/b", true);
        check("%62", "b", true);
        check("?b", "b", true);
        check("urn:example:a", "urn:example:b", false);
    }
}
