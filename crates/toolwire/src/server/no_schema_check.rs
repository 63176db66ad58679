//! Stands in for the check against JSON Schemas when the feature `schema-validation` is off: whatever would need the check
//! is refused when it is registered, so that nothing goes unchecked silently.

use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_proto::schema_budget::SchemaLimits;

use crate::server::schema_pool::QuickCheck;

/// There is none.
#[derive(Debug)]
pub(crate) enum SchemaCheck {}

impl SchemaCheck {
    pub(crate) fn new(_schema: &Value, _limits: &SchemaLimits) -> Result<Self, String> {
        Err("checking it needs the feature `schema-validation` of toolwire".to_owned())
    }

    pub(crate) fn check_arguments_quickly(&self, _arguments: &RawValue) -> QuickCheck {
        match *self {}
    }

    pub(crate) fn check_arguments(&self, _arguments: &RawValue) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn check_quickly(&self, _value: &Value, _root: &str) -> QuickCheck {
        match *self {}
    }

    pub(crate) fn check(&self, _value: &Value, _root: &str) -> Result<(), String> {
        match *self {}
    }
}
