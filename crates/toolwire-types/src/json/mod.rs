//! JSON serialization for hot paths, as a faster alternative to `serde_json`.
//!
//! The output of [`write()`] is the same as that of `serde_json`, byte for byte. It is faster on text, because it
//! copies whole runs of characters that need no escape instead of checking characters one by one.

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

/// Appends a value to `out` as JSON without white space.
///
/// ```
/// let mut out = Vec::new();
/// toolwire_types::json::write(&mut out, &("a\n", [1, 2])).unwrap();
/// assert_eq!(out, br#"["a\n",[1,2]]"#);
/// ```
///
/// # Errors
/// Returns an error if the value cannot be serialized, for example because a map has a list as a key. The bytes
/// written before the error stay in `out`.
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> serde_json::Result<()> {
    value.serialize(Writer::new(out))
}

/// Serializes a value to JSON text without white space.
///
/// # Errors
/// Returns an error if the value cannot be serialized, as [`write()`] does.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut out = Vec::with_capacity(128);
    write(&mut out, value)?;
    Ok(String::from_utf8(out).expect("the writer writes only complete characters"))
}

/// Appends a number to `out`. An integral value is written without a fraction.
///
/// # Errors
/// Returns no error: NaN and infinities are written as `null`.
pub fn write_number(out: &mut Vec<u8>, number: f64) -> serde_json::Result<()> {
    number::shortest(&number, Writer::new(out))
}

/// Appends text to `out` as a JSON string.
#[inline]
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    writer::text(out, text);
}
