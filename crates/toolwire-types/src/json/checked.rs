//! A text that is known to be JSON, as the raw value serde knows, without reading it once more.
//!
//! `serde_json` makes a raw value of a text only while it reads that text. But how it does so is an exchange
//! between its `Deserialize` and the deserializer: a map whose one key is the name it asked for, and whose one value is
//! the text. [`Checked`] takes the deserializer's part in it.

use std::fmt;

use serde::Deserialize as _;
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

/// Turns text that is one well-formed value, without white space around it, into a raw value.
///
/// The text is not checked. Should `serde_json` ever want it otherwise, it reads the text itself.
///
/// # Panics
/// When the text is not JSON and `serde_json` reads it.
#[doc(hidden)]
#[must_use]
pub fn checked_raw(text: &str) -> &RawValue {
    <&RawValue>::deserialize(Checked(BorrowedStrDeserializer::new(text)))
        .ok()
        .or_else(|| serde_json::from_str(text).ok())
        .expect("the text was checked")
}

/// As [`checked_raw`], for text that is owned.
#[doc(hidden)]
#[must_use]
pub fn checked_raw_box(text: String) -> Box<RawValue> {
    Box::<RawValue>::deserialize(Checked(StringDeserializer::new(text)))
        .expect("a raw value is a map of one text, as a test watches")
}

/// Answers whoever wants a raw value with the text that the inner deserializer holds.
struct Checked<D>(D);

/// The other side did not take part as expected.
#[derive(Debug)]
struct Misunderstood;

impl fmt::Display for Misunderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a raw value is made in another way")
    }
}

impl std::error::Error for Misunderstood {}

impl de::Error for Misunderstood {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de, D: Deserializer<'de, Error = Misunderstood>> Deserializer<'de> for Checked<D> {
    type Error = Misunderstood;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misunderstood> {
        visitor.visit_map(OneMember {
            key: Some(name),
            text: Some(self.0),
        })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Misunderstood> {
        Err(Misunderstood)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct OneMember<D> {
    key: Option<&'static str>,
    text: Option<D>,
}

impl<'de, D: Deserializer<'de, Error = Misunderstood>> MapAccess<'de> for OneMember<D> {
    type Error = Misunderstood;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misunderstood> {
        self.key
            .take()
            .map(|key| seed.deserialize(StrDeserializer::new(key)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Misunderstood> {
        seed.deserialize(self.text.take().ok_or(Misunderstood)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_becomes_a_raw_value_in_place() {
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
    fn the_text_is_not_read_again() {
        // Only a reader would notice that this is no JSON.
        assert_eq!(checked_raw("{").get(), "{");
        assert_eq!(checked_raw_box("{".to_owned()).get(), "{");
    }
}
