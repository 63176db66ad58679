//! Search for `x-mcp-header` annotations in an input schema, and their validation.
//!
//! The search visits exactly the positions where JSON Schema 2020-12 (and draft 7) has a subschema. Data in `default`,
//! `enum` or `examples` is not searched, even if it resembles an annotation. The search uses an explicit stack, and the
//! depth limit of the JSON parser bounds it.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde_json::{Map, Value};
use toolwire_types::RawJson;

use crate::header_value::PARAM_PREFIX;
use crate::param_headers::{ParamHeader, ParamKind};

const ANNOTATION: &str = "x-mcp-header";

/// The maximum number of annotations of one schema. Most servers reject requests with more headers.
pub const MAX_PARAM_HEADERS: usize = 64;

/// The maximum length of all names of a path in bytes, so that many annotations under one long name stay cheap.
const MAX_PATH_BYTES: usize = 4096;

/// The maximum number of characters of a property name in a reason.
const SHOWN_NAME_CHARS: usize = 64;

/// Returns all annotations of a schema.
///
/// # Errors
/// Returns an error if an annotation is empty, is not an HTTP token, or is used twice (ignoring case). The same holds
/// if it is on anything but a plain integer, string or boolean, or is not reachable through `properties` alone. Such a
/// tool must not be offered over HTTP.
pub fn validate(schema: &RawJson) -> Result<Vec<ParamHeader>, InvalidParamHeader> {
    let schema = schema.to_value().map_err(|_| InvalidParamHeader {
        reason: "the schema is nested too deeply".to_owned(),
    })?;
    Annotations::of(&schema).collect()
}

/// Returns the valid annotations of a schema and skips the others. [`validate`] rejects them.
#[must_use]
pub fn collect(schema: &RawJson) -> Vec<ParamHeader> {
    match schema.to_value() {
        Ok(schema) => Annotations::of(&schema).flatten().collect(),
        Err(_) => Vec::new(),
    }
}

/// Returns the valid annotations of top-level parameters, as a map from parameter to header.
#[must_use]
pub fn top_level(schema: &RawJson) -> BTreeMap<String, String> {
    collect(schema)
        .into_iter()
        .filter_map(|annotated| {
            let [parameter] = <[String; 1]>::try_from(annotated.path).ok()?;
            Some((parameter, annotated.header))
        })
        .collect()
}

/// Returns the reason why a name cannot follow `Mcp-Param-`. Returns `None` if it can.
#[must_use]
pub fn invalid_name_reason(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("must not be empty")
    } else if name.contains(|c: char| c.is_control()) {
        Some("must not contain control characters")
    } else if !name.bytes().all(is_token_byte) {
        Some("must be an HTTP token: ASCII letters, digits and !#$%&'*+-.^_`|~ only")
    } else {
        None
    }
}

/// The reason why a schema's annotations are invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidParamHeader {
    reason: String,
}

impl fmt::Display for InvalidParamHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for InvalidParamHeader {}

/// The kind of value of a schema keyword.
#[derive(Clone, Copy)]
enum Keyword {
    /// Schemas by property name. Only these paths can have a header.
    Properties,
    /// Schemas by another name.
    SchemasByName,
    /// One schema, or a list of schemas.
    Schemas,
}

fn keyword(name: &str) -> Option<Keyword> {
    Some(match name {
        "properties" => Keyword::Properties,
        "patternProperties" | "dependentSchemas" | "dependencies" | "$defs" | "definitions" => {
            Keyword::SchemasByName
        }
        "items"
        | "prefixItems"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "allOf"
        | "anyOf"
        | "oneOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "contentSchema" => Keyword::Schemas,
        _ => return None,
    })
}

/// A step on the path from the root to a schema. `parent` is the index of the step before it.
struct Step<'s> {
    name: &'s str,
    parent: Option<usize>,
}

/// A schema to be visited.
struct Pending<'s> {
    schema: &'s Map<String, Value>,
    /// The last step of the path. `None` for the root.
    step: Option<usize>,
    /// Whether the path consists of `properties` alone.
    reachable: bool,
}

/// The annotations of a schema, valid and invalid, parents before their children.
struct Annotations<'s> {
    steps: Vec<Step<'s>>,
    pending: Vec<Pending<'s>>,
    names: HashSet<String>,
}

impl<'s> Annotations<'s> {
    fn of(schema: &'s Value) -> Self {
        let root = schema.as_object().map(|schema| Pending {
            schema,
            step: None,
            reachable: true,
        });
        Self {
            steps: Vec::new(),
            pending: root.into_iter().collect(),
            names: HashSet::new(),
        }
    }

    fn push_children(&mut self, parent: &Pending<'s>) {
        // The order is reversed, because the stack reverses it again.
        for (name, value) in parent.schema.iter().rev() {
            match keyword(name) {
                None => {}
                Some(Keyword::Properties) => {
                    for (property, schema) in entries(value) {
                        self.push(property, parent.step, schema, parent.reachable);
                    }
                }
                Some(Keyword::SchemasByName) => {
                    let step = self.step(name, parent.step);
                    for (key, schema) in entries(value) {
                        self.push(key, Some(step), schema, false);
                    }
                }
                Some(Keyword::Schemas) => {
                    let list = value
                        .as_array()
                        .map_or(std::slice::from_ref(value), |list| list);
                    for schema in list.iter().rev() {
                        self.push(name, parent.step, schema, false);
                    }
                }
            }
        }
    }

    fn push(&mut self, name: &'s str, parent: Option<usize>, schema: &'s Value, reachable: bool) {
        // `true` and `false` are also schemas, without annotations.
        if let Some(schema) = schema.as_object() {
            let step = Some(self.step(name, parent));
            self.pending.push(Pending {
                schema,
                step,
                reachable,
            });
        }
    }

    fn step(&mut self, name: &'s str, parent: Option<usize>) -> usize {
        self.steps.push(Step { name, parent });
        self.steps.len() - 1
    }

    fn check(
        &mut self,
        pending: &Pending<'s>,
        annotation: &Value,
    ) -> Result<ParamHeader, InvalidParamHeader> {
        let invalid = |reason: &str| InvalidParamHeader {
            reason: format!(
                "{ANNOTATION} on `{}` {reason}",
                self.shown_path(pending.step)
            ),
        };
        let name = annotation
            .as_str()
            .ok_or_else(|| invalid("must be a string"))?;
        if let Some(reason) = invalid_name_reason(name) {
            return Err(invalid(reason));
        }
        if !pending.reachable || pending.step.is_none() {
            return Err(invalid(
                "must be on a property that is reached through `properties` alone",
            ));
        }
        let kind = match pending.schema.get("type").and_then(Value::as_str) {
            Some("integer") => ParamKind::Integer,
            Some("string") => ParamKind::String,
            Some("boolean") => ParamKind::Boolean,
            _ => return Err(invalid("requires the type integer, string or boolean")),
        };
        if self.names_to(pending.step).map(str::len).sum::<usize>() > MAX_PATH_BYTES {
            return Err(invalid("has a path that is too long"));
        }
        let folded = name.to_ascii_lowercase();
        if self.names.contains(&folded) {
            return Err(invalid("repeats a name used elsewhere in the schema"));
        }
        if self.names.len() == MAX_PARAM_HEADERS {
            return Err(invalid("exceeds the maximum number of annotations"));
        }
        self.names.insert(folded);
        let mut path: Vec<_> = self.names_to(pending.step).map(str::to_owned).collect();
        path.reverse();
        Ok(ParamHeader {
            header: format!("{PARAM_PREFIX}{name}"),
            path,
            kind,
        })
    }

    /// Returns the names on the path to a step, the last one first.
    fn names_to(&self, step: Option<usize>) -> impl Iterator<Item = &'s str> {
        let first = step.map(|index| &self.steps[index]);
        std::iter::successors(first, |step| step.parent.map(|index| &self.steps[index]))
            .map(|step| step.name)
    }

    fn shown_path(&self, step: Option<usize>) -> String {
        let mut names: Vec<_> = self
            .names_to(step)
            .map(|name| {
                let shown = name.chars().take(SHOWN_NAME_CHARS);
                shown.flat_map(char::escape_debug).collect::<String>()
            })
            .collect();
        names.reverse();
        names.join(".")
    }
}

impl Iterator for Annotations<'_> {
    type Item = Result<ParamHeader, InvalidParamHeader>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(schema) = self.pending.pop() {
            self.push_children(&schema);
            if let Some(annotation) = schema.schema.get(ANNOTATION) {
                return Some(self.check(&schema, annotation));
            }
        }
        None
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value
        .as_object()
        .into_iter()
        .flat_map(|map| map.iter().rev())
}

/// Returns `true` for a `tchar` (RFC 9110, section 5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
