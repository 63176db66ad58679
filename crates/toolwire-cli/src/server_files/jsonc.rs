//! Converts JSON with comments and trailing commas, as editors accept it in their settings, to JSON.

use std::iter::Peekable;
use std::str::Chars;

/// Returns the text with spaces instead of comments and of commas before a closing bracket. Line numbers stay the same.
pub(super) fn to_json(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut json = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    // The position of the last comma, if only spaces and comments follow it.
    let mut comma = None;
    while let Some(character) = characters.next() {
        match character {
            '/' if characters.peek() == Some(&'/') => {
                json.push(' ');
                while characters.peek().is_some_and(|next| *next != '\n') {
                    characters.next();
                    json.push(' ');
                }
                continue;
            }
            '/' if characters.peek() == Some(&'*') => {
                json.push(' ');
                skip_block_comment(&mut characters, &mut json);
                continue;
            }
            ']' | '}' => {
                if let Some(position) = comma.take() {
                    json.replace_range(position..=position, " ");
                }
            }
            ',' => comma = Some(json.len()),
            character if character.is_whitespace() => {}
            _ => comma = None,
        }
        json.push(character);
        if character == '"' {
            copy_string(&mut characters, &mut json);
        }
    }
    json
}

/// Copies the rest of a string with its closing quote.
fn copy_string(characters: &mut Peekable<Chars<'_>>, json: &mut String) {
    while let Some(character) = characters.next() {
        json.push(character);
        match character {
            '"' => return,
            '\\' => json.extend(characters.next()),
            _ => {}
        }
    }
}

/// Replaces a comment with spaces. Its line breaks stay.
fn skip_block_comment(characters: &mut Peekable<Chars<'_>>, json: &mut String) {
    let mut before = '/';
    // The star after the slash does not end the comment.
    characters.next();
    json.push(' ');
    for character in characters {
        json.push(if character == '\n' { '\n' } else { ' ' });
        if before == '*' && character == '/' {
            return;
        }
        before = character;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_accepted() {
        fn check(text: &str, expected: Value) {
            let read: Value = serde_json::from_str(&to_json(text)).expect(text);
            assert_eq!(read, expected, "{text}");
        }
        check("{\"a\": 1, // one\n}", json!({"a": 1}));
        check("// first\n[1, 2, /* three, */ ]", json!([1, 2]));
        check("[1/*/,*/,2]", json!([1, 2]));
        check("{\"a\": [1,],\n}", json!({"a": [1]}));
        check("\u{feff}{}", json!({}));
        check("[1] // end", json!([1]));
        check(
            r#"{"url": "https://x/*y*/", "b": "\"//,]", "c": ",}"}"#,
            json!({"url": "https://x/*y*/", "b": "\"//,]", "c": ",}"}),
        );
    }

    #[test]
    fn errors_have_the_line_of_the_file() {
        let text = "{\n/* a\n b */\n\"a\": oops\n}";
        let error = serde_json::from_str::<Value>(&to_json(text)).unwrap_err();
        assert_eq!(error.line(), 4);
        // Two values without a comma stay an error.
        assert!(serde_json::from_str::<Value>(&to_json("[1 2]")).is_err());
        assert!(serde_json::from_str::<Value>(&to_json("[1,,2]")).is_err());
    }
}
