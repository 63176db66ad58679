//! Patterns of the names of tools.

/// Returns `true` if a name matches a pattern in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("get_*", "get_", true),
            ("get_*", "get_user", true),
            ("get_*", "forget_user", false),
            ("*_user", "get_user", true),
            ("*_user", "get_users", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
            ("a*a", "a", false),
            ("plain", "plain", true),
            ("plain", "plainer", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
