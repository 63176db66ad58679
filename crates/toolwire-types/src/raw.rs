//! Raw JSON: a part of a message that is stored as text.
//!
//! `arguments`, `structuredContent`, schemas and similar members pass through the SDK without being parsed into a tree.
//! A [`RawJson`] is one complete JSON value. It is validated when it is parsed, and serialized byte for byte.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;

/// One JSON value, stored as text.
///
/// Equality ignores member order and white space, so that a value equals its copy from any JSON serializer.
///
/// ```
/// use toolwire_types::RawJson;
///
/// let raw = RawJson::from_value(&serde_json::json!({"a": 1}));
/// assert_eq!(raw.get(), r#"{"a":1}"#);
/// assert_eq!(raw, serde_json::from_str::<RawJson>(r#"{ "a" : 1 }"#).unwrap());
/// ```
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Creates the JSON `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::trusted("null")
    }

    /// Creates an empty object.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::trusted("{}")
    }

    /// Creates a value from text.
    ///
    /// # Errors
    /// Returns an error if the text is not one complete JSON value.
    pub fn from_string(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(Self)
    }

    /// Serializes any value.
    ///
    /// # Errors
    /// Returns an error if the value cannot be serialized, for example a map with unsupported keys.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        json::to_string(value).map(|text| Self(json::checked_raw_box(text)))
    }

    /// Serializes a JSON tree. This cannot fail.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        Self::from_serialize(value).expect("every key of a JSON tree is a string")
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the value as the raw value of `serde_json`, for use inside other values.
    #[must_use]
    pub fn as_raw_value(&self) -> &RawValue {
        &self.0
    }

    /// Parses the text into a type.
    ///
    /// # Errors
    /// Returns an error if the text does not parse as `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }

    /// Parses the text into a JSON tree.
    ///
    /// # Errors
    /// Returns an error if the nesting is deeper than `serde_json` permits.
    pub fn to_value(&self) -> serde_json::Result<Value> {
        serde_json::from_str(self.get())
    }

    /// Returns `true` if the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.get().trim_start().starts_with('{')
    }

    /// Returns `true` if the value is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.get().trim() == "null"
    }

    fn trusted(text: &'static str) -> Self {
        Self(json::checked_raw(text).to_owned())
    }
}

impl Default for RawJson {
    fn default() -> Self {
        Self::null()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
            || matches!((self.to_value(), other.to_value()), (Ok(a), Ok(b)) if a == b)
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::from_value(&value)
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        Self(value)
    }
}

impl From<&RawValue> for RawJson {
    fn from(value: &RawValue) -> Self {
        Self(value.to_owned())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}
