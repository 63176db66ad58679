//! The position of an argument in the schema of a tool.

use serde_json::{Map, Value};
use toolwire_proto::similar_names::did_you_mean;

use crate::failure::Failure;
use crate::tool_arguments::convert::convert_any;
use crate::tool_arguments::parse::{ArgumentValue, Assignment};
use crate::tool_arguments::schema::Schema;
use crate::tool_arguments::variants::{fitting_variants, members};

/// The position of an argument: the names of the objects around it, and its schemas.
pub(super) struct ArgumentPath<'a, 'k> {
    path: Vec<&'k str>,
    /// One schema for each variant of the object around it. The list is empty if the schema is unknown.
    schemas: Vec<Schema<'a>>,
    /// A sentence about an argument that the schema does not contain.
    pub(super) warning: Option<String>,
}

impl<'a, 'k> ArgumentPath<'a, 'k> {
    /// Finds the position of a key. A property whose name contains dots is preferred to a member of an object.
    pub(super) fn find(
        key: &'k str,
        schema: Schema<'a>,
        given: &[Assignment],
    ) -> Result<Self, Failure> {
        let mut path = Vec::new();
        let mut here = vec![schema];
        let mut rest = key;
        let variants = loop {
            let prefix = &key[..key.len() - rest.len()];
            let fitting = fitting_variants(&here, prefix, given);
            let all: Vec<_> = here.iter().flat_map(|schema| schema.variants()).collect();
            // If no variant fits, the error names the values of all variants.
            let known = known_name(rest, &fitting).or_else(|| known_name(rest, &all));
            let Some((end, schemas)) = known else {
                break all;
            };
            path.push(&rest[..end]);
            if end == rest.len() {
                return Ok(Self {
                    path,
                    schemas,
                    warning: None,
                });
            }
            rest = &rest[end + 1..];
            here = schemas;
        };
        if !variants.is_empty() && variants.iter().all(|variant| variant.is_closed()) {
            return Err(unknown(key, rest, &variants));
        }
        path.extend(rest.split('.'));
        if path.iter().any(|name| name.is_empty()) {
            return Err(
                Failure::usage(format!("`{key}` has an empty name beside a dot"))
                    .with_advice("write members of objects as place.city=Oslo"),
            );
        }
        Ok(Self {
            path,
            schemas: Vec::new(),
            warning: warning(key, rest, &variants),
        })
    }

    pub(super) fn put(
        &self,
        arguments: &mut Map<String, Value>,
        assignment: &Assignment,
        again: bool,
    ) -> Result<(), Failure> {
        let key = &assignment.key;
        let Some((last, parents)) = self.path.split_last() else {
            return Ok(());
        };
        let mut object = arguments;
        for name in parents {
            let member = object
                .entry(*name)
                .or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(member) = member else {
                return Err(Failure::usage(format!(
                    "`{key}` is a member of `{name}`, which is not given as an object"
                )));
            };
            object = member;
        }
        match &assignment.value {
            ArgumentValue::Json(_) if again => return Err(twice(key)),
            ArgumentValue::Json(value) => {
                object.insert((*last).to_owned(), value.clone());
            }
            ArgumentValue::Text(text) if self.collects() && !text.trim_start().starts_with('[') => {
                let items: Vec<_> = self
                    .schemas
                    .iter()
                    .filter_map(|schema| schema.items())
                    .collect();
                let element = convert_any(text, &items)
                    .map_err(|expected| self.unfit(key, text, &expected.0))?;
                match object.get_mut(*last).filter(|_| again) {
                    Some(Value::Array(elements)) => elements.push(element),
                    _ => {
                        object.insert((*last).to_owned(), vec![element].into());
                    }
                }
            }
            ArgumentValue::Text(_) if again => return Err(twice(key)),
            ArgumentValue::Text(text) => {
                let value = convert_any(text, &self.schemas)
                    .map_err(|expected| self.unfit(key, text, &expected.0))?;
                object.insert((*last).to_owned(), value);
            }
        }
        Ok(())
    }

    /// Returns `true` if the argument is an array, so that every value is an element of it.
    fn collects(&self) -> bool {
        let collects = |schema: &Schema<'_>| {
            let kinds = schema.kinds();
            kinds.array && !kinds.is_any() && !kinds.string
        };
        !self.schemas.is_empty() && self.schemas.iter().all(collects)
    }

    fn unfit(&self, key: &str, text: &str, expected: &str) -> Failure {
        let failure = Failure::usage(format!("`{key}` must be {expected}, not {text:?}"));
        match self.schemas.first() {
            Some(schema) => failure.with_advice(schema.example(key)),
            None => failure,
        }
    }
}

/// Returns the end of the longest known name at the start of a key, and its schemas.
fn known_name<'a>(key: &str, variants: &[Schema<'a>]) -> Option<(usize, Vec<Schema<'a>>)> {
    let dots = key.match_indices('.').map(|(at, _)| at);
    let mut ends = dots.chain([key.len()]).rev();
    ends.find_map(|end| {
        let schemas = members(variants, &key[..end]);
        (!schemas.is_empty()).then_some((end, schemas))
    })
}

fn twice(key: &str) -> Failure {
    Failure::usage(format!("`{key}` is given twice")).with_advice("give it once")
}

fn unknown(key: &str, name: &str, variants: &[Schema<'_>]) -> Failure {
    let known = names(variants);
    let suggestion = did_you_mean(name, known.iter().copied());
    let failure = Failure::usage(if key == name {
        format!("there is no argument `{key}`{suggestion}")
    } else {
        format!("there is no argument `{key}`: `{name}` is not a member{suggestion}")
    });
    if known.is_empty() {
        failure.with_advice("it takes no arguments")
    } else {
        failure.with_advice(format!("one of {}", known.join(", ")))
    }
}

/// Returns the warning about an argument that the schema does not contain. Returns `None` if the schema permits it.
pub(super) fn warning(key: &str, name: &str, variants: &[Schema<'_>]) -> Option<String> {
    if variants.is_empty() || variants.iter().any(|variant| variant.is_open()) {
        return None;
    }
    let known = names(variants);
    let suggestion = did_you_mean(name, known.iter().copied());
    Some(if !suggestion.is_empty() {
        format!("the tool has no argument `{key}`{suggestion} It is sent unchanged.")
    } else if known.is_empty() {
        format!("the tool has no arguments. `{key}` is sent unchanged.")
    } else {
        let known = known.join(", ");
        format!("the tool has no argument `{key}`, only {known}. It is sent unchanged.")
    })
}

/// Returns the names of all members, each one once.
fn names<'a>(variants: &[Schema<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (name, _) in variants.iter().flat_map(|variant| variant.properties()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
