//! Returns a record as one text, with the bodies that are in files beside it.

use std::path::Path;

use serde_json::value::RawValue;

use crate::record::event::Line;
use crate::record::reader::{MAX_BYTES, RecordError, body_text, read_text};

/// Returns the text of a record. Bodies in other files are in their lines, so that the text can be moved elsewhere.
///
/// # Errors
/// Returns an error if a file cannot be read or is over a limit.
pub(crate) fn single_file(path: &Path) -> Result<String, RecordError> {
    let text = read_text(path, MAX_BYTES)?;
    let mut blob_bytes = MAX_BYTES.saturating_sub(text.len() as u64);
    let mut single = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match with_body(line, path, &mut blob_bytes)? {
            Some(line) => {
                single.push_str(&line);
                single.push('\n');
            }
            None => single.push_str(line),
        }
    }
    Ok(single)
}

/// Returns the line with its body, or `None` if the line contains its body already.
fn with_body(line: &str, path: &Path, blob_bytes: &mut u64) -> Result<Option<String>, RecordError> {
    let Ok(mut line) = serde_json::from_str::<Line<'_>>(line) else {
        return Ok(None);
    };
    let Some(body) = line.body else {
        return Ok(None);
    };
    let text = body_text(body.get(), Some(path), blob_bytes)?;
    if text == body.get() {
        return Ok(None);
    }
    line.body = serde_json::from_str::<&RawValue>(&text).ok();
    Ok(serde_json::to_string(&line).ok())
}
