//! Checks against JSON Schemas. Without the feature `schema-validation`, a schema that needs a check is rejected.

#[cfg(feature = "schema-validation")]
mod checker;
#[cfg(not(feature = "schema-validation"))]
mod disabled;
#[cfg(feature = "schema-validation")]
mod enabled;
#[cfg(feature = "schema-validation")]
mod violations;

#[cfg(feature = "schema-validation")]
pub use checker::{SchemaChecker, SchemaVerdict};
#[cfg(not(feature = "schema-validation"))]
pub(crate) use disabled::SchemaCheck;
#[cfg(feature = "schema-validation")]
pub(crate) use enabled::SchemaCheck;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use toolwire_proto::schema_budget::SchemaLimits;

use crate::engine::schema_pool::QuickCheck;

/// The functions of both alternatives.
const _: () = {
    let _: fn(&Value, &SchemaLimits) -> Result<SchemaCheck, String> = SchemaCheck::new;
    let _: fn(&SchemaCheck, &RawValue) -> QuickCheck = SchemaCheck::check_arguments_quickly;
    let _: fn(&SchemaCheck, &RawValue) -> Result<(), String> = SchemaCheck::check_arguments;
    let _: fn(&SchemaCheck, &Value, &str) -> QuickCheck = SchemaCheck::check_quickly;
    let _: fn(&SchemaCheck, &Value, &str) -> Result<(), String> = SchemaCheck::check;
};

/// Returns the names that a schema requires.
pub(crate) fn required_members(schema: &Map<String, Value>) -> Vec<String> {
    let names = schema
        .get("required")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    names
        .iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}
