//! Command lines as text: quotes words for the user to copy, and splits a command that the user typed.

/// Returns a word as it is typed in a shell.
pub(crate) fn in_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~\\".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns a command line of these words.
pub(crate) fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words = words.into_iter().map(in_shell);
    words.collect::<Vec<_>>().join(" ")
}

/// Splits a command line at spaces, except in quotation marks. Returns `None` if one is not closed. A backslash has no
/// special meaning, because it is part of paths on Windows.
pub(crate) fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                // An empty pair of quotation marks is an empty word.
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_if_necessary() {
        let words = ["npx", "-y", "@scope/server", "a b", "it's", "", "x=1"];
        assert_eq!(
            command_line(words),
            r"npx -y @scope/server 'a b' 'it'\''s' '' x=1"
        );
    }

    #[test]
    fn words_are_split_at_spaces_outside_of_quotation_marks() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(split_words(line).expect("words"), expected, "{line}");
        };
        check("", &[]);
        check("  npm run  build ", &["npm", "run", "build"]);
        check(
            r#"sh -c 'a "b"' "it's" ''"#,
            &["sh", "-c", "a \"b\"", "it's", ""],
        );
        check(
            r"C:\tools\make.exe --x=' y'",
            &[r"C:\tools\make.exe", "--x= y"],
        );
        assert_eq!(split_words("make 'a"), None);
        assert_eq!(split_words("make \""), None);
    }
}
