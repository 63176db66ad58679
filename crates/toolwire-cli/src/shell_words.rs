//! Quotes words for a command line that the user can copy.

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
}
