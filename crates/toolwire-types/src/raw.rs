//! Raw JSON: a part of a message kept as text until somebody needs it.
//!
//! `arguments`, `structuredContent`, schemas and the like pass through the SDK without being turned into a tree. A
//! [`RawJson`] is one complete JSON value; it is validated when read and written back byte for byte.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;

/// One JSON value kept as text.
///
/// Equality is by meaning (member order and white space do not count), so that a value survives a round trip through
/// any JSON writer and still compares equal.
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
    /// The JSON `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::trusted("null")
    }

    /// The empty object.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::trusted("{}")
    }

    /// Takes text that must be one complete JSON value.
    ///
    /// # Errors
    /// When the text is not valid JSON.
    pub fn from_string(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(Self)
    }

    /// Serialises any value.
    ///
    /// # Errors
    /// When the value refuses to serialise (a map with non-string keys, for example).
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Self> {
        json::to_string(value).map(|text| Self(json::checked_raw_box(text)))
    }

    /// Writes a JSON tree; this cannot fail.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        Self::from_serialize(value).expect("every key of a JSON tree is a string")
    }

    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The borrowed serde form, for splicing into other values.
    #[must_use]
    pub fn as_raw_value(&self) -> &RawValue {
        &self.0
    }

    /// Decodes the text into a type.
    ///
    /// # Errors
    /// When the text does not have the shape of `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }

    /// Decodes the text into a JSON tree.
    ///
    /// # Errors
    /// Only when the tree would be deeper than the JSON reader allows.
    pub fn to_value(&self) -> serde_json::Result<Value> {
        serde_json::from_str(self.get())
    }

    /// True when the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.get().trim_start().starts_with('{')
    }

    /// True when the value is `null`.
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
