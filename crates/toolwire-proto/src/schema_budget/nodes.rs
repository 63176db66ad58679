//! The subschemas of a schema, and the instances that they apply to.
//!
//! The keywords of all drafts count, even if the schema declares one draft. A keyword that a draft ignores only
//! increases the count.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema_budget::measure::Extent;
use crate::schema_budget::references::{Names, ReferenceTarget, shown};
use crate::schema_budget::{SchemaLimitError, SchemaLimits, patterns};

/// The number of states that stand for the work of `format` and of content keywords on one byte.
const FORMAT_STATES: u64 = 16;

/// One subschema. Numbers are indexes in the list of all subschemas.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Steps on any instance.
    pub(super) own: u64,
    /// Further steps on an object.
    pub(super) object_own: u64,
    /// States of patterns that a string is matched against.
    pub(super) string_states: u64,
    /// States of patterns that each name of an object is matched against.
    pub(super) name_states: u64,
    /// Subschemas for the same instance.
    pub(super) branches: Vec<usize>,
    /// References, for the same instance.
    pub(super) references: Vec<usize>,
    /// Subschemas for members, by name.
    pub(super) properties: HashMap<String, usize>,
    /// Subschemas for members whose name matches a pattern.
    pub(super) pattern_properties: Vec<usize>,
    /// Subschemas for members that are not among the properties.
    pub(super) additional: Vec<usize>,
    /// Subschemas for names.
    pub(super) names: Vec<usize>,
    /// Subschemas for the first items, one each.
    pub(super) prefix: Vec<usize>,
    /// Subschemas for every item.
    pub(super) items: Vec<usize>,
    /// `contains`, for every item.
    pub(super) contains: Vec<usize>,
    pub(super) unevaluated_members: Vec<usize>,
    pub(super) unevaluated_items: Vec<usize>,
    pub(super) unique_items: bool,
    /// Whether it refers to a meta-schema of a draft.
    pub(super) metaschema: bool,
}

/// Returns the subschemas that are in use. The first is the root.
pub(super) fn read(root: &Value, limits: &SchemaLimits) -> Result<Vec<Node>, SchemaLimitError> {
    let mut reader = Reader {
        names: Names::of(root)?,
        indexes: HashMap::new(),
        schemas: Vec::new(),
        patterns: PatternCount::new(limits),
    };
    reader.index(root);
    let mut nodes = Vec::new();
    while let Some(schema) = reader.schemas.get(nodes.len()).copied() {
        nodes.push(match schema {
            Value::Object(keywords) => reader.read(keywords)?,
            _ => Node {
                own: 1,
                ..Node::default()
            },
        });
    }
    Ok(nodes)
}

struct Reader<'s, 'l> {
    names: Names<'s>,
    /// The index of each schema by its address, because several references may resolve to one schema.
    indexes: HashMap<usize, usize>,
    schemas: Vec<&'s Value>,
    patterns: PatternCount<'l>,
}

impl<'s> Reader<'s, '_> {
    fn index(&mut self, schema: &'s Value) -> usize {
        let address = std::ptr::from_ref(schema) as usize;
        let schemas = &mut self.schemas;
        *self.indexes.entry(address).or_insert_with(|| {
            schemas.push(schema);
            schemas.len() - 1
        })
    }

    /// Returns the indexes of one schema, or of a list of schemas.
    fn schemas(&mut self, value: &'s Value) -> Vec<usize> {
        match value {
            Value::Array(list) => list.iter().map(|schema| self.index(schema)).collect(),
            Value::Object(_) | Value::Bool(_) => vec![self.index(value)],
            _ => Vec::new(),
        }
    }

    /// Returns the indexes of schemas by name. Members that are not schemas are skipped.
    fn named_indexes(&mut self, value: &'s Value) -> Vec<usize> {
        let members = value.as_object().into_iter().flatten();
        let schemas = members.filter(|(_, value)| value.is_object() || value.is_boolean());
        schemas.map(|(_, schema)| self.index(schema)).collect()
    }

    fn read(&mut self, keywords: &'s Map<String, Value>) -> Result<Node, SchemaLimitError> {
        let mut node = Node {
            own: 1 + keywords.len() as u64,
            ..Node::default()
        };
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                    node.branches.extend(self.schemas(value));
                }
                "dependentSchemas" | "dependencies" => {
                    node.object_own += Extent::of(value).steps();
                    node.branches.extend(self.named_indexes(value));
                }
                "properties" => {
                    let members = value.as_object().into_iter().flatten();
                    for (name, schema) in members {
                        let index = self.index(schema);
                        node.properties.insert(name.clone(), index);
                    }
                    node.object_own += node.properties.len() as u64;
                }
                "patternProperties" => {
                    for pattern in value.as_object().into_iter().flat_map(Map::keys) {
                        node.name_states += self.patterns.add(pattern)?;
                    }
                    node.pattern_properties.extend(self.named_indexes(value));
                }
                "additionalProperties" => node.additional.extend(self.schemas(value)),
                "unevaluatedProperties" => node.unevaluated_members.extend(self.schemas(value)),
                "propertyNames" => node.names.extend(self.schemas(value)),
                "items" if value.is_array() => node.prefix.extend(self.schemas(value)),
                "prefixItems" => node.prefix.extend(self.schemas(value)),
                "items" | "additionalItems" => node.items.extend(self.schemas(value)),
                "contains" => node.contains.extend(self.schemas(value)),
                "unevaluatedItems" => node.unevaluated_items.extend(self.schemas(value)),
                "uniqueItems" => node.unique_items |= value == &Value::Bool(true),
                "enum" | "const" => node.own += Extent::of(value).steps(),
                "required" | "dependentRequired" => node.object_own += Extent::of(value).steps(),
                "pattern" => {
                    if let Some(pattern) = value.as_str() {
                        node.string_states += self.patterns.add(pattern)?;
                    }
                }
                "format" | "contentEncoding" | "contentMediaType" => {
                    node.string_states += FORMAT_STATES;
                }
                "$ref" | "$dynamicRef" => {
                    if let Some(reference) = value.as_str() {
                        let target = self.names.resolve(reference)?;
                        self.refer(&mut node, target);
                    }
                }
                "$recursiveRef" => {
                    let target = self.names.resolve_recursive()?;
                    self.refer(&mut node, target);
                }
                _ => {}
            }
        }
        Ok(node)
    }

    fn refer(&mut self, node: &mut Node, target: ReferenceTarget<'s>) {
        match target {
            ReferenceTarget::Schemas(schemas) => {
                for schema in schemas {
                    let index = self.index(schema);
                    if !node.references.contains(&index) {
                        node.references.push(index);
                    }
                }
            }
            ReferenceTarget::Metaschema => node.metaschema = true,
        }
    }
}

/// The number of patterns of a schema and of their states.
struct PatternCount<'l> {
    limits: &'l SchemaLimits,
    patterns: usize,
    states: u64,
}

impl<'l> PatternCount<'l> {
    fn new(limits: &'l SchemaLimits) -> Self {
        Self {
            limits,
            patterns: 0,
            states: 0,
        }
    }

    /// Adds a pattern and returns its states.
    fn add(&mut self, pattern: &str) -> Result<u64, SchemaLimitError> {
        if pattern.len() > self.limits.pattern_bytes {
            return Err(SchemaLimitError::PatternBytes(self.limits.pattern_bytes));
        }
        let states = patterns::states(pattern)
            .ok_or_else(|| SchemaLimitError::UnsupportedPattern(shown(pattern)))?;
        self.patterns += 1;
        self.states = self.states.saturating_add(states);
        if self.patterns > self.limits.patterns {
            return Err(SchemaLimitError::Patterns(self.limits.patterns));
        }
        if self.states > self.limits.pattern_states {
            return Err(SchemaLimitError::PatternStates(self.limits.pattern_states));
        }
        Ok(states)
    }
}
