//! Reading and writing JSON where the general way costs too much.
//!
//! [`write()`] writes what `serde_json` writes, byte for byte. It is faster on text, because it copies whole runs of
//! characters that need no escape instead of looking at each of them.

mod checked;
mod plain_run;
#[cfg(test)]
mod tests;
mod text_only;
mod writer;

use serde::Serialize;

pub use self::checked::{checked_raw, checked_raw_box};
pub use self::plain_run::plain_run;
use self::writer::Writer;
use crate::number;

/// Appends a value as JSON, without white space.
///
/// ```
/// let mut out = Vec::new();
/// toolwire_types::json::write(&mut out, &("a\n", [1, 2])).unwrap();
/// assert_eq!(out, br#"["a\n",[1,2]]"#);
/// ```
///
/// # Errors
/// When the value refuses to be serialised, or has a map with keys that are no strings. What was written until then
/// stays.
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> serde_json::Result<()> {
    value.serialize(Writer::new(out))
}

/// A value as JSON text, without white space.
///
/// # Errors
/// As [`write()`].
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut out = Vec::with_capacity(128);
    write(&mut out, value)?;
    Ok(String::from_utf8(out).expect("only whole characters are written"))
}

/// Appends a number, without a fraction when it has none.
///
/// # Errors
/// None for numbers that JSON has; others are written as `null`.
pub fn write_number(out: &mut Vec<u8>, number: f64) -> serde_json::Result<()> {
    number::shortest(&number, Writer::new(out))
}

/// Appends a text as a JSON string.
#[inline]
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    writer::text(out, text);
}
