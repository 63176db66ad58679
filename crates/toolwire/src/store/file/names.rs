//! The names of the files of tasks.

/// The maximum number of characters of a task id.
const MAX_ID: usize = 128;

const PREFIX: &str = "task-";
const SUFFIX: &str = ".json";

/// The digits of base 32 (RFC 4648) in lower case.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Returns the name of the file of a task, or `None` if the id has characters that no id has.
///
/// The name contains the id in base 32. Ids that differ only in case have different names, also on file systems that
/// ignore case, and no name is reserved or leaves the directory.
pub(super) fn task_file_name(id: &str) -> Option<String> {
    let is_valid = (1..=MAX_ID).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    is_valid.then(|| format!("{PREFIX}{}{SUFFIX}", base32(id.as_bytes())))
}

/// Returns `true` if a file may be the file of a task.
pub(super) fn is_task_file(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let mut buffer = 0_u32;
    let mut bits = 0;
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(digit(buffer >> bits));
        }
    }
    if bits > 0 {
        text.push(digit(buffer << (5 - bits)));
    }
    text
}

/// Returns the digit of the lowest five bits.
fn digit(bits: u32) -> char {
    char::from(DIGITS[(bits & 31) as usize])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_checked() {
        let check = |id: &str, expected: Option<&str>| {
            assert_eq!(task_file_name(id).as_deref(), expected, "{id:?}");
        };
        // The examples of RFC 4648.
        check("f", Some("task-my.json"));
        check("fo", Some("task-mzxq.json"));
        check("foo", Some("task-mzxw6.json"));
        check("foob", Some("task-mzxw6yq.json"));
        check("fooba", Some("task-mzxw6ytb.json"));
        check("foobar", Some("task-mzxw6ytboi.json"));
        for id in [
            "", ".", "..", "a/b", "a\\b", "a.b", "a b", "a\0", "ä", "a\n", "a:b",
        ] {
            check(id, None);
        }
        let longest = "-".repeat(MAX_ID);
        let name = task_file_name(&longest).unwrap();
        assert!(name.len() < 255, "{name}");
        assert!(is_task_file(&name));
        check(&format!("{longest}-"), None);
    }

    proptest! {
        #[test]
        fn different_ids_have_different_names(one in "[A-Za-z0-9_-]{1,8}", other in "[A-Za-z0-9_-]{1,8}") {
            let (of_one, of_other) = (task_file_name(&one).unwrap(), task_file_name(&other).unwrap());
            prop_assert_eq!(one == other, of_one == of_other);
            prop_assert_eq!(of_one.to_lowercase(), of_one);
        }
    }
}
