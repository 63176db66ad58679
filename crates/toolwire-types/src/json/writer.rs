//! The serializer that writes JSON into a buffer.

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Error, Result};

use crate::json::plain_run::plain_run;
use crate::json::text_only::{RAW_VALUE, TextOnly};

/// A serializer that writes one value as JSON.
pub(super) struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Writer<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    fn open(self, opening: u8, closing: u8) -> Container<'o> {
        self.out.push(opening);
        Container {
            out: self.out,
            is_empty: true,
            closing,
            ends_variant: false,
        }
    }

    /// Writes `{"variant":` and opens a container as its value.
    fn open_variant(self, variant: &str, opening: u8, closing: u8) -> Container<'o> {
        self.out.push(b'{');
        text(self.out, variant);
        self.out.push(b':');
        let mut container = self.open(opening, closing);
        container.ends_variant = true;
        container
    }

    /// Writes a number of a less common type through `serde_json`.
    fn number<N: Serialize>(self, number: N) -> Result<()> {
        serde_json::to_writer(self.out, &number)
    }

    fn integer<I: itoa::Integer>(self, number: I) -> Result<()> {
        let mut digits = itoa::Buffer::new();
        self.out.extend_from_slice(digits.format(number).as_bytes());
        Ok(())
    }
}

/// Appends text as a JSON string with quotes.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    let mut bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    loop {
        let (run, rest) = bytes.split_at(plain_run(bytes));
        out.extend_from_slice(run);
        let Some((&special, rest)) = rest.split_first() else {
            break;
        };
        escape(out, special);
        bytes = rest;
    }
    out.push(b'"');
}

#[cold]
fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";

    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        control => {
            let digits = [
                HEX[usize::from(control >> 4)],
                HEX[usize::from(control & 15)],
            ];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Defines the serializer methods for several number types.
macro_rules! numbers {
    ($write:ident: $($method:ident($number:ty)),*) => {$(
        fn $method(self, value: $number) -> Result<()> {
            self.$write(value)
        }
    )*};
}

impl<'o> Serializer for Writer<'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Container<'o>;
    type SerializeTuple = Container<'o>;
    type SerializeTupleStruct = Container<'o>;
    type SerializeTupleVariant = Container<'o>;
    type SerializeMap = Container<'o>;
    type SerializeStruct = Struct<'o>;
    type SerializeStructVariant = Container<'o>;

    fn serialize_bool(self, value: bool) -> Result<()> {
        let word: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(word);
        Ok(())
    }

    numbers!(
        integer: serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64)
    );
    numbers!(
        number: serialize_i128(i128), serialize_u128(u128), serialize_f32(f32), serialize_f64(f64)
    );

    fn serialize_char(self, value: char) -> Result<()> {
        text(self.out, value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<()> {
        text(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        let mut array = self.serialize_seq(Some(value.len()))?;
        for byte in value {
            SerializeSeq::serialize_element(&mut array, byte)?;
        }
        SerializeSeq::end(array)
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
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
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let mut map = self.open(b'{', b'}');
        map.entry(variant, value)?;
        map.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Container<'o>> {
        Ok(self.open(b'[', b']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Container<'o>> {
        Ok(self.open(b'[', b']'))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Container<'o>> {
        Ok(self.open(b'[', b']'))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'o>> {
        Ok(self.open_variant(variant, b'[', b']'))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Container<'o>> {
        Ok(self.open(b'{', b'}'))
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Struct<'o>> {
        Ok(if name == RAW_VALUE {
            Struct::RawText(self.out)
        } else {
            Struct::Object(self.open(b'{', b'}'))
        })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'o>> {
        Ok(self.open_variant(variant, b'{', b'}'))
    }
}

/// A serializer for the elements of an array or object.
pub(super) struct Container<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
    closing: u8,
    /// Whether the container is the value of an enum variant, whose object ends with it.
    ends_variant: bool,
}

impl Container<'_> {
    #[inline]
    fn separate(&mut self) {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.separate();
        value.serialize(Writer::new(self.out))
    }

    #[inline]
    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<()> {
        self.separate();
        text(self.out, key);
        self.out.push(b':');
        value.serialize(Writer::new(self.out))
    }

    #[inline]
    fn close(self) {
        self.out.push(self.closing);
        if self.ends_variant {
            self.out.push(b'}');
        }
    }
}

/// Implements the serde traits for sequences, which differ only in the name of a method.
macro_rules! elements {
    ($($kind:ident :: $method:ident),*) => {$(
        impl $kind for Container<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.element(value)
            }

            fn end(self) -> Result<()> {
                self.close();
                Ok(())
            }
        }
    )*};
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

impl SerializeStructVariant for Container<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<()> {
        self.entry(key, value)
    }

    fn end(self) -> Result<()> {
        self.close();
        Ok(())
    }
}

impl SerializeMap for Container<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.separate();
        let start = self.out.len();
        if key.serialize(TextOnly::string(self.out)).is_ok() {
            return Ok(());
        }
        self.out.truncate(start);
        non_text_key(self.out, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.out.push(b':');
        value.serialize(Writer::new(self.out))
    }

    fn end(self) -> Result<()> {
        self.close();
        Ok(())
    }
}

/// A serializer for a struct, or for a raw value, which `serde_json` represents as a struct.
pub(super) enum Struct<'o> {
    Object(Container<'o>),
    /// The text of a raw value, which is already JSON.
    RawText(&'o mut Vec<u8>),
}

impl SerializeStruct for Struct<'_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<()> {
        match self {
            Self::Object(object) => object.entry(key, value),
            Self::RawText(out) if key == RAW_VALUE => value.serialize(TextOnly::json(out)),
            Self::RawText(_) => Err(Error::custom("a raw value has only one field, its text")),
        }
    }

    #[inline]
    fn end(self) -> Result<()> {
        if let Self::Object(object) = self {
            object.close();
        }
        Ok(())
    }
}

/// Writes a key that is not text as `serde_json` does, which accepts numbers and booleans.
#[cold]
fn non_text_key<K: Serialize + ?Sized>(out: &mut Vec<u8>, key: &K) -> Result<()> {
    struct OneEntry<'k, K: ?Sized>(&'k K);

    impl<K: Serialize + ?Sized> Serialize for OneEntry<'_, K> {
        fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            serializer.collect_map([(self.0, ())])
        }
    }

    let object = serde_json::to_string(&OneEntry(key))?;
    let key = object
        .strip_prefix('{')
        .and_then(|object| object.strip_suffix(":null}"))
        .ok_or_else(|| {
            Error::custom("serde_json wrote an object with one entry in an unexpected form")
        })?;
    out.extend_from_slice(key.as_bytes());
    Ok(())
}
