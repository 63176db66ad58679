//! Percent-encoding in URIs (RFC 3986, section 2.1).

/// Returns the bytes of a text whose `%` with two hexadecimal digits are replaced by bytes. Other `%` stay.
pub(crate) fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = |byte: &u8| char::from(*byte).to_digit(16);
        match (byte, after) {
            (b'%', [high, low, behind @ ..]) if hex(high).is_some() && hex(low).is_some() => {
                let value = hex(high).unwrap_or_default() * 16 + hex(low).unwrap_or_default();
                decoded.push(value as u8);
                rest = behind;
            }
            _ => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_encodings_are_decoded() {
        fn check(text: &str, expected: &[u8]) {
            assert_eq!(percent_decoded(text), expected, "{text}");
        }
        check("", b"");
        check("a%20b", b"a b");
        check("%fF%00", &[0xff, 0]);
        check("100%", b"100%");
        check("%4", b"%4");
        check("%zz%41", b"%zzA");
    }
}
