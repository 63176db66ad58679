//! Replaces the files that a style sheet names in `url(…)`.

/// A function that replaces a URL. It gets the URL and the number of bytes that are written so far, and returns `None` for
/// a URL that stays.
pub(super) type ReplaceUrl<'a> = dyn FnMut(&str, usize) -> Result<Option<String>, String> + 'a;

/// Returns the style sheet with the URLs that `replace` returns.
pub(super) fn with_data(text: &str, replace: &mut ReplaceUrl<'_>) -> Result<String, String> {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_in_word = false;
    while let Some(first) = rest.chars().next() {
        let taken = if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/");
            end.map_or(rest.len(), |end| end + "/**/".len())
        } else if matches!(first, '"' | '\'') {
            string_length(rest, first)
        } else if !is_in_word && starts_with(rest, "@import") {
            return Err(
                "`@import` cannot be bundled; write a `link` for each style sheet".to_owned(),
            );
        } else if !is_in_word && starts_with(rest, "url(") {
            let (url, length) = url_argument(&rest[4..])?;
            if let Some(data) = replace(url, output.len())? {
                output.push_str("url(\"");
                output.push_str(&data);
                output.push_str("\")");
                rest = &rest[4 + length..];
                continue;
            }
            4 + length
        } else {
            first.len_utf8()
        };
        is_in_word = first.is_alphanumeric() || matches!(first, '-' | '_');
        output.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Ok(output)
}

fn starts_with(text: &str, word: &str) -> bool {
    let start = text.get(..word.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Returns the length of a string with its quotes.
fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == quote && !is_escaped {
            return at + letter.len_utf8();
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    text.len()
}

/// Returns the URL before the next `)`, and the length with the `)`.
fn url_argument(text: &str) -> Result<(&str, usize), String> {
    let unfinished = || "a `url(` has no end".to_owned();
    let start = text.trim_start();
    let skipped = text.len() - start.len();
    let Some(quote) = start
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''))
    else {
        let end = start.find(')').ok_or_else(unfinished)?;
        return Ok((start[..end].trim_end(), skipped + end + 1));
    };
    let length = string_length(start, quote);
    let url = start
        .get(1..length)
        .and_then(|url| url.strip_suffix(quote))
        .ok_or_else(unfinished)?;
    let end = start[length..].find(')').ok_or_else(unfinished)?;
    Ok((url, skipped + length + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_are_replaced() {
        fn check(text: &str, expected: &str) {
            let replaced = with_data(text, &mut |url, _| {
                Ok((!url.starts_with('#')).then(|| format!("[{url}]")))
            });
            assert_eq!(replaced.as_deref(), Ok(expected), "{text}");
        }
        check("a { color: red }", "a { color: red }");
        check("url(a.png)", "url(\"[a.png]\")");
        check("x:url( 'a b.png' ) y", "x:url(\"[a b.png]\") y");
        check("x: URL(\"a)b.png\");", "x: url(\"[a)b.png]\");");
        check("url(a),url(b)", "url(\"[a]\"),url(\"[b]\")");
        check("fill: url(#a)", "fill: url(#a)");
        check("my-url(a) curl(b)", "my-url(a) curl(b)");
        check("/* url(a) */ 'url(b)'", "/* url(a) */ 'url(b)'");
        check("'a\\'url(b)' ü", "'a\\'url(b)' ü");
        check("/* ", "/* ");
        check("\"", "\"");
    }

    #[test]
    fn imports_and_unfinished_urls_are_rejected() {
        for text in [
            "@import 'a.css';",
            "a{}@IMPORT url(b)",
            "url(",
            "url('a",
            "url('a'",
        ] {
            let replaced = with_data(text, &mut |_, _| Ok(None));
            assert!(replaced.is_err(), "{text}");
        }
    }
}
