//! The count of steps: every subschema is applied to every value to which it may apply, until the limit is reached.

use serde_json::Value;

use crate::schema_budget::measure::Extent;
use crate::schema_budget::nodes::Node;
use crate::schema_budget::{MAX_DEPTH, MAX_EXPANSION, MAX_NESTED_APPLICATIONS, SchemaLimitError};

/// The number of bytes that one state of a pattern processes in one step.
const PATTERN_BYTES_PER_STEP: u64 = 16;

/// The number of bytes of a string that keywords without a pattern read in one step.
const TEXT_BYTES_PER_STEP: u64 = 64;

/// The number of steps of a meta-schema on each value.
const METASCHEMA_STEPS: u64 = 64;

/// The number of nested applications of a meta-schema for each nested container.
const METASCHEMA_NESTING: usize = 8;

/// The number of items up to which a validator compares each pair.
const PAIRWISE_ITEMS: usize = 16;

/// The number of integers that may share one 64-bit float, and so one hash.
const SHARED_FLOAT: u64 = 2048;

pub(super) fn count(nodes: &[Node], instance: &Value, limit: u64) -> Result<u64, SchemaLimitError> {
    let mut walk = Walk {
        nodes,
        steps: 0,
        limit,
    };
    walk.apply(0, Instance::Value(instance), 0)?;
    Ok(walk.steps)
}

/// Checks the number of schemas that compiling the `unevaluated*` keywords visits. Compiling repeats schemas that
/// several references share.
pub(super) fn check_expansion(nodes: &[Node]) -> Result<(), SchemaLimitError> {
    let mut visits = 0;
    for (index, node) in nodes.iter().enumerate() {
        if !node.unevaluated_members.is_empty() || !node.unevaluated_items.is_empty() {
            expand(nodes, index, 0, &mut visits)?;
        }
    }
    Ok(())
}

fn expand(
    nodes: &[Node],
    index: usize,
    depth: usize,
    visits: &mut u64,
) -> Result<(), SchemaLimitError> {
    *visits += 1;
    if depth > MAX_DEPTH || *visits > MAX_EXPANSION {
        return Err(SchemaLimitError::Expansion);
    }
    let node = &nodes[index];
    for target in node.branches.iter().chain(&node.references) {
        expand(nodes, *target, depth + 1, visits)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Instance<'i> {
    Value(&'i Value),
    /// The name of a member, to which `propertyNames` applies.
    Name(&'i str),
}

struct Walk<'n> {
    nodes: &'n [Node],
    steps: u64,
    limit: u64,
}

impl Walk<'_> {
    fn charge(&mut self, steps: u64) -> Result<(), SchemaLimitError> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limit {
            Err(SchemaLimitError::Steps(self.limit))
        } else {
            Ok(())
        }
    }

    /// Applies a subschema to an instance.
    fn apply(
        &mut self,
        index: usize,
        instance: Instance<'_>,
        depth: usize,
    ) -> Result<(), SchemaLimitError> {
        if depth >= MAX_NESTED_APPLICATIONS {
            return Err(SchemaLimitError::NestedApplications);
        }
        let nodes = self.nodes;
        let node = &nodes[index];
        self.charge(node.own)?;
        for target in node.branches.iter().chain(&node.references) {
            self.apply(*target, instance, depth + 1)?;
        }
        match instance {
            Instance::Name(text) => self.apply_to_text(node, text),
            Instance::Value(value) => {
                if node.metaschema {
                    self.apply_metaschema(value, depth)?;
                }
                match value {
                    Value::String(text) => self.apply_to_text(node, text)?,
                    Value::Array(items) => self.apply_to_items(node, items, depth + 1)?,
                    Value::Object(_) => self.apply_to_members(node, value, depth + 1)?,
                    _ => {}
                }
                if depends_on_evaluation(node, value) {
                    self.mark(index, value, depth + 1)?;
                }
                Ok(())
            }
        }
    }

    fn apply_to_text(&mut self, node: &Node, text: &str) -> Result<(), SchemaLimitError> {
        let bytes = text.len() as u64;
        let matching = bytes.saturating_mul(node.string_states) / PATTERN_BYTES_PER_STEP;
        self.charge(matching.saturating_add(bytes / TEXT_BYTES_PER_STEP))
    }

    fn apply_to_items(
        &mut self,
        node: &Node,
        items: &[Value],
        depth: usize,
    ) -> Result<(), SchemaLimitError> {
        if node.unique_items {
            self.charge_unique_items(items)?;
        }
        for (index, item) in node.prefix.iter().zip(items) {
            self.apply(*index, Instance::Value(item), depth)?;
        }
        let every = node.items.iter().chain(&node.contains);
        for index in every.chain(&node.unevaluated_items) {
            for item in items {
                self.apply(*index, Instance::Value(item), depth)?;
            }
        }
        Ok(())
    }

    fn apply_to_members(
        &mut self,
        node: &Node,
        value: &Value,
        depth: usize,
    ) -> Result<(), SchemaLimitError> {
        self.charge(node.object_own)?;
        for (name, member) in value.as_object().into_iter().flatten() {
            let matching = (name.len() as u64).saturating_mul(node.name_states);
            self.charge(1 + matching / PATTERN_BYTES_PER_STEP)?;
            for index in &node.names {
                self.apply(*index, Instance::Name(name), depth)?;
            }
            let member = Instance::Value(member);
            match node.properties.get(name) {
                Some(index) => self.apply(*index, member, depth)?,
                None => {
                    for index in &node.additional {
                        self.apply(*index, member, depth)?;
                    }
                }
            }
            let others = node.pattern_properties.iter();
            for index in others.chain(&node.unevaluated_members) {
                self.apply(*index, member, depth)?;
            }
        }
        Ok(())
    }

    /// Counts the work to determine which parts of an instance a subschema evaluates. This applies branches once more.
    fn mark(&mut self, index: usize, value: &Value, depth: usize) -> Result<(), SchemaLimitError> {
        if depth >= MAX_NESTED_APPLICATIONS {
            return Err(SchemaLimitError::NestedApplications);
        }
        let nodes = self.nodes;
        let node = &nodes[index];
        self.charge(1)?;
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let matching = (name.len() as u64).saturating_mul(node.name_states);
                    self.charge(1 + matching / PATTERN_BYTES_PER_STEP)?;
                    for index in &node.unevaluated_members {
                        self.apply(*index, Instance::Value(member), depth + 1)?;
                    }
                }
            }
            Value::Array(items) => {
                self.charge(items.len() as u64)?;
                for index in node.contains.iter().chain(&node.unevaluated_items) {
                    for item in items {
                        self.apply(*index, Instance::Value(item), depth + 1)?;
                    }
                }
            }
            _ => return Ok(()),
        }
        for target in &node.branches {
            self.apply(*target, Instance::Value(value), depth + 1)?;
            self.mark(*target, value, depth + 1)?;
        }
        for target in &node.references {
            self.mark(*target, value, depth + 1)?;
        }
        Ok(())
    }

    fn apply_metaschema(&mut self, value: &Value, depth: usize) -> Result<(), SchemaLimitError> {
        let extent = Extent::of(value);
        if depth + METASCHEMA_NESTING * extent.height >= MAX_NESTED_APPLICATIONS {
            return Err(SchemaLimitError::NestedApplications);
        }
        self.charge(extent.steps().saturating_mul(METASCHEMA_STEPS))
    }

    /// Counts the work of `uniqueItems`. Items are hashed. Values with arrays may all share one hash, large integers in
    /// groups.
    fn charge_unique_items(&mut self, items: &[Value]) -> Result<(), SchemaLimitError> {
        let (mut with_arrays, mut with_large_integers): (u64, u64) = (0, 0);
        for item in items {
            let extent = Extent::of(item);
            with_arrays += u64::from(extent.holds_array);
            with_large_integers += u64::from(extent.holds_large_integer);
            let comparisons = match items.len() {
                ..=PAIRWISE_ITEMS => items.len() as u64,
                _ => 2,
            };
            self.charge(extent.steps().saturating_mul(comparisons))?;
        }
        self.charge(with_arrays.saturating_mul(with_arrays) / 4)?;
        let shared = with_large_integers.min(SHARED_FLOAT);
        self.charge(with_large_integers.saturating_mul(shared) / 64)
    }
}

fn depends_on_evaluation(node: &Node, value: &Value) -> bool {
    match value {
        Value::Object(_) => !node.unevaluated_members.is_empty(),
        Value::Array(_) => !node.unevaluated_items.is_empty(),
        _ => false,
    }
}
