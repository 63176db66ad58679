//! Converts text that is known to be JSON into a raw value of `serde_json`, without parsing it again.
//!
//! `serde_json` creates a raw value from text only while it parses the text. Its `Deserialize` requests a newtype
//! struct with a private name, and expects a map whose single key is that name and whose single value is the text.
//! [`Checked`] is a deserializer that returns this map.

use std::fmt;

use serde::Deserialize as _;
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

/// Converts text that is one valid JSON value, without surrounding white space, into a raw value.
///
/// The text is not checked. If a version of `serde_json` does not accept the map of [`Checked`], the text is parsed.
///
/// # Panics
/// Panics if the text is parsed and is not valid JSON.
#[doc(hidden)]
#[must_use]
pub fn checked_raw(text: &str) -> &RawValue {
    <&RawValue>::deserialize(Checked(BorrowedStrDeserializer::new(text)))
        .ok()
        .or_else(|| serde_json::from_str(text).ok())
        .expect("the text is valid JSON")
}

/// Converts owned text like [`checked_raw`].
///
/// # Panics
/// Panics if a version of `serde_json` does not accept the map of [`Checked`].
#[doc(hidden)]
#[must_use]
pub fn checked_raw_box(text: String) -> Box<RawValue> {
    Box::<RawValue>::deserialize(Checked(StringDeserializer::new(text)))
        .expect("serde_json creates a raw value from a map with one text, as a test verifies")
}

/// A deserializer for raw values. The inner deserializer contains the text.
struct Checked<D>(D);

/// The error if `serde_json` does not use the expected calls.
#[derive(Debug)]
struct UnexpectedCall;

impl fmt::Display for UnexpectedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("serde_json creates raw values in another way")
    }
}

impl std::error::Error for UnexpectedCall {}

impl de::Error for UnexpectedCall {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de, D: Deserializer<'de, Error = UnexpectedCall>> Deserializer<'de> for Checked<D> {
    type Error = UnexpectedCall;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, UnexpectedCall> {
        visitor.visit_map(SingleEntry {
            key: Some(name),
            text: Some(self.0),
        })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, UnexpectedCall> {
        Err(UnexpectedCall)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A map with one entry.
struct SingleEntry<D> {
    key: Option<&'static str>,
    text: Option<D>,
}

impl<'de, D: Deserializer<'de, Error = UnexpectedCall>> MapAccess<'de> for SingleEntry<D> {
    type Error = UnexpectedCall;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, UnexpectedCall> {
        self.key
            .take()
            .map(|key| seed.deserialize(StrDeserializer::new(key)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, UnexpectedCall> {
        seed.deserialize(self.text.take().ok_or(UnexpectedCall)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_a_raw_value_without_copying() {
        for text in [
            "{}",
            "null",
            "\"a\\n\"",
            "[1,2.5e3,true]",
            r#"{"a":{"b":[]}}"#,
        ] {
            let raw = checked_raw(text);
            assert_eq!(raw.get(), text);
            assert!(std::ptr::eq(raw.get(), text), "{text} was copied");
            assert_eq!(checked_raw_box(text.to_owned()).get(), text);
        }
    }

    #[test]
    fn text_is_not_parsed() {
        // A parser would reject this text.
        assert_eq!(checked_raw("{").get(), "{");
        assert_eq!(checked_raw_box("{".to_owned()).get(), "{");
    }
}
