//! A serializer that accepts only text, for the keys of objects and the text of raw values.

use serde::Serializer;
use serde::ser::{Error as _, Impossible, Serialize};
use serde_json::{Error, Result};

use crate::json::writer;

/// The name of the struct, and of its only field, with which `serde_json` serializes a raw value.
///
/// The name is private to `serde_json`. A test verifies that it does not change.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A serializer for one text.
pub(super) struct TextOnly<'o> {
    out: &'o mut Vec<u8>,
    is_json: bool,
}

impl<'o> TextOnly<'o> {
    /// Creates a serializer that writes text as a JSON string.
    pub(super) fn string(out: &'o mut Vec<u8>) -> Self {
        let is_json = false;
        Self { out, is_json }
    }

    /// Creates a serializer that copies text which is already JSON.
    pub(super) fn json(out: &'o mut Vec<u8>) -> Self {
        let is_json = true;
        Self { out, is_json }
    }
}

type NoContainer = Impossible<(), Error>;

fn not_text() -> Error {
    Error::custom("expected a string")
}

/// Defines serializer methods that reject their value.
macro_rules! reject {
    ($($method:ident($($argument:ty),*) -> $output:ty;)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$output> {
            Err(not_text())
        }
    )*};
}

impl Serializer for TextOnly<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = NoContainer;
    type SerializeTuple = NoContainer;
    type SerializeTupleStruct = NoContainer;
    type SerializeTupleVariant = NoContainer;
    type SerializeMap = NoContainer;
    type SerializeStruct = NoContainer;
    type SerializeStructVariant = NoContainer;

    fn serialize_str(self, text: &str) -> Result<()> {
        if self.is_json {
            self.out.extend_from_slice(text.as_bytes());
        } else {
            writer::text(self.out, text);
        }
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    reject! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> NoContainer;
        serialize_tuple(usize) -> NoContainer;
        serialize_tuple_struct(&'static str, usize) -> NoContainer;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> NoContainer;
        serialize_map(Option<usize>) -> NoContainer;
        serialize_struct(&'static str, usize) -> NoContainer;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> NoContainer;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<()> {
        Err(not_text())
    }
}
