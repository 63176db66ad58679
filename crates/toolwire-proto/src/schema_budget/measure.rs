//! The size of a schema and of its values. The functions do not recurse, so that any depth is safe.

use serde_json::Value;

use crate::schema_budget::{MAX_DEPTH, SchemaLimitError, SchemaLimits};

/// Checks the bytes, values and nesting of a schema.
pub(super) fn check_size(schema: &Value, limits: &SchemaLimits) -> Result<(), SchemaLimitError> {
    let mut pending = vec![(schema, 0)];
    let mut bytes: usize = 0;
    let mut values: usize = 0;
    while let Some((value, depth)) = pending.pop() {
        values += 1;
        bytes = bytes.saturating_add(1);
        match value {
            Value::String(text) => bytes = bytes.saturating_add(text.len()),
            Value::Array(items) => {
                pending.extend(items.iter().map(|item| (item, depth + 1)));
            }
            Value::Object(members) => {
                for (name, member) in members {
                    bytes = bytes.saturating_add(name.len());
                    pending.push((member, depth + 1));
                }
            }
            _ => {}
        }
        if (value.is_array() || value.is_object()) && depth >= MAX_DEPTH {
            return Err(SchemaLimitError::Depth);
        }
        if values > limits.values {
            return Err(SchemaLimitError::Values(limits.values));
        }
        if bytes > limits.bytes {
            return Err(SchemaLimitError::Bytes(limits.bytes));
        }
    }
    Ok(())
}

/// The size of a value.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Extent {
    /// The number of values: the value itself and all values in it.
    pub(super) values: u64,
    /// The bytes of its names and strings.
    pub(super) bytes: u64,
    /// The depth of nested containers.
    pub(super) height: usize,
    /// Whether it contains an array.
    pub(super) holds_array: bool,
    /// Whether it contains an integer that a 64-bit float cannot represent exactly.
    pub(super) holds_large_integer: bool,
}

impl Extent {
    pub(super) fn of(value: &Value) -> Self {
        let mut extent = Self::default();
        let mut pending = vec![(value, 0)];
        while let Some((value, depth)) = pending.pop() {
            extent.values += 1;
            match value {
                Value::Null | Value::Bool(_) => {}
                Value::Number(number) => {
                    const EXACT: u64 = 1 << 53;
                    let magnitude = number.as_i64().map(i64::unsigned_abs).or(number.as_u64());
                    extent.holds_large_integer |= magnitude.is_some_and(|value| value > EXACT);
                }
                Value::String(text) => extent.bytes += text.len() as u64,
                Value::Array(items) => {
                    extent.holds_array = true;
                    extent.height = extent.height.max(depth + 1);
                    pending.extend(items.iter().map(|item| (item, depth + 1)));
                }
                Value::Object(members) => {
                    extent.height = extent.height.max(depth + 1);
                    for (name, member) in members {
                        extent.bytes += name.len() as u64;
                        pending.push((member, depth + 1));
                    }
                }
            }
        }
        extent
    }

    /// Returns the steps to compare another value with it.
    pub(super) fn steps(self) -> u64 {
        self.values + self.bytes / 64
    }
}
