//! Checks against JSON Schemas without the feature `schema-validation`. A schema that needs a check is rejected at
//! registration, so that no value passes unchecked.

use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_proto::schema_budget::SchemaLimits;

use crate::engine::schema_pool::QuickCheck;

/// A compiled schema. No value of this type exists.
#[derive(Debug)]
pub(crate) enum SchemaCheck {}

impl SchemaCheck {
    pub(crate) fn new(_schema: &Value, _limits: &SchemaLimits) -> Result<Self, String> {
        Err("checks against it need the feature `schema-validation` of toolwire".to_owned())
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
