//! The id of a message of which only the beginning is there.

use toolwire_types::RequestId;

/// The `id` among the leading plain members of a message that was cut off.
///
/// Looks no further than the first object or array: what stands behind it may be anything. Meant for deciding which call
/// fails when its answer was too long to read.
#[must_use]
pub fn id_in_head(head: &[u8]) -> Option<RequestId> {
    let mut rest = head.trim_ascii_start().strip_prefix(b"{")?;
    loop {
        let (name, after) = string(rest.trim_ascii_start())?;
        let value = after
            .trim_ascii_start()
            .strip_prefix(b":")?
            .trim_ascii_start();
        let (text, after) = plain_value(value)?;
        if name == b"id" {
            return serde_json::from_slice(text).ok();
        }
        rest = after.trim_ascii_start().strip_prefix(b",")?;
    }
}

/// A string without escapes, and what follows it.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let end = inner.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    (inner[end] == b'"').then(|| (&inner[..end], &inner[end + 1..]))
}

/// A value that is neither object nor array, and what follows it.
fn plain_value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match text.first()? {
        b'"' => {
            let (inner, after) = string(text)?;
            Some((&text[..inner.len() + 2], after))
        }
        b'{' | b'[' => None,
        _ => {
            // A number at the very end may go on behind the cut.
            let end = text.iter().position(|byte| matches!(byte, b',' | b'}'))?;
            Some((text[..end].trim_ascii_end(), &text[end..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_before_anything_nested() {
        let check = |head: &str, expected: Option<RequestId>| {
            assert_eq!(id_in_head(head.as_bytes()), expected, "{head}");
        };
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"a":"#, Some(7.into()));
        check(r#"{ "id" : "a b" , "result""#, Some("a b".into()));
        check(r#"{"id":-3}"#, Some((-3).into()));
        check(r#"{"id":12"#, None);
        check(r#"{"result":{"id":7},"id":8"#, None);
        check(r#"{"method":"x","params":{"id":7"#, None);
        check(r#"{"jsonrpc":"2\"0","id":7,"#, None);
        check(r#"{"id":null,"x"#, None);
        check(r#"{"id":1.5,"x"#, None);
        check("", None);
        check("[1", None);
        check("{", None);
    }
}
