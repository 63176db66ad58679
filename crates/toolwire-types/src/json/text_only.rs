//! Writes text and refuses everything else: for the keys of objects, and for the text of raw values.

use serde::Serializer;
use serde::ser::{Error as _, Impossible, Serialize};
use serde_json::{Error, Result};

use crate::json::writer;

/// The name under which `serde_json` hands a raw value to a serializer: a struct with one field, both called so. It is
/// private to it; a test watches that it stays the same.
pub(super) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Writes one text.
pub(super) struct TextOnly<'o> {
    out: &'o mut Vec<u8>,
    is_json: bool,
}

impl<'o> TextOnly<'o> {
    /// Writes a text as a JSON string.
    pub(super) fn string(out: &'o mut Vec<u8>) -> Self {
        let is_json = false;
        Self { out, is_json }
    }

    /// Copies a text that is JSON already.
    pub(super) fn json(out: &'o mut Vec<u8>) -> Self {
        let is_json = true;
        Self { out, is_json }
    }
}

type NoContainer = Impossible<(), Error>;

fn no_text() -> Error {
    Error::custom("expected a text")
}

/// Everything that is no text.
macro_rules! refuse {
    ($($method:ident($($argument:ty),*) -> $output:ty;)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$output> {
            Err(no_text())
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

    refuse! {
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
        Err(no_text())
    }
}
