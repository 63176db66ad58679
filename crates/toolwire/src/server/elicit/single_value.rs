//! Forms for a single value: one field with the name `value`. The message of the form says what the user enters.

use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolwire_types::ElicitSchema;

use crate::server::elicit::{Elicit, ElicitChoice, ElicitField, FormField};

/// The name of the field.
const FIELD: &str = "value";

/// Returns the form of a single value.
#[must_use]
pub fn single_value_schema<T: ElicitField>() -> ElicitSchema {
    FormField::of::<T>().add_to(ElicitSchema::new(), FIELD)
}

/// Decodes a single value from the content of its form.
///
/// # Errors
/// Returns an error if the value is missing or has another type.
pub fn single_value<T: DeserializeOwned>(
    mut content: IndexMap<String, Value>,
) -> Result<T, serde_json::Error> {
    serde_json::from_value(content.swap_remove(FIELD).unwrap_or_default())
}

// Implements `Elicit` for types, each after its generic parameters.
macro_rules! single_values {
    ($([$($parameters:tt)*] $value:ty;)+) => {$(
        impl<$($parameters)*> Elicit for $value {
            fn elicit_schema() -> ElicitSchema {
                single_value_schema::<Self>()
            }

            fn from_content(content: IndexMap<String, Value>) -> Result<Self, serde_json::Error> {
                single_value(content)
            }
        }
    )+};
}

single_values! {
    [] bool;
    [] char;
    [] String;
    [] i8;
    [] i16;
    [] i32;
    [] i64;
    [] isize;
    [] u8;
    [] u16;
    [] u32;
    [] u64;
    [] usize;
    [] f32;
    [] f64;
    [T: ElicitChoice + DeserializeOwned] Vec<T>;
    [T: ElicitChoice + DeserializeOwned + Ord] BTreeSet<T>;
    [T: ElicitChoice + DeserializeOwned + Eq + Hash] HashSet<T>;
}
