//! The id of a message of which only the first bytes are known.

use toolwire_types::RequestId;

/// Returns the `id` among the leading plain members of a truncated message.
///
/// The search ends at the first object or array, because the text behind it is arbitrary. The client uses it to find
/// the call whose response was too long.
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

/// Splits off a string without escapes.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let end = inner.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    (inner[end] == b'"').then(|| (&inner[..end], &inner[end + 1..]))
}

/// Splits off a value that is neither object nor array.
fn plain_value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match text.first()? {
        b'"' => {
            let (inner, after) = string(text)?;
            Some((&text[..inner.len() + 2], after))
        }
        b'{' | b'[' => None,
        _ => {
            // A number at the end of the text may continue behind the cut.
            let end = text.iter().position(|byte| matches!(byte, b',' | b'}'))?;
            Some((text[..end].trim_ascii_end(), &text[end..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_found_before_nested_values() {
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
