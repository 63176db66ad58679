//! The text in the README that proves that a crate belongs to a name in the registry.

use std::path::Path;

/// Returns what is wrong with a README, or `None`.
///
/// The registry reads the README on the site of crates, which removes comments. So the text must be visible.
pub(super) fn problem(path: Option<&Path>, name: &str) -> Option<String> {
    let Some(path) = path else {
        return Some(format!(
            "the crate has no README; the registry requires one with the visible text `mcp-name: {name}`"
        ));
    };
    match std::fs::read_to_string(path) {
        Ok(text) if has_name(&visible(&text), name) => None,
        Ok(text) if has_name(&text, name) => Some(format!(
            "`mcp-name: {name}` is in a comment of {}, which the site of crates removes; make it visible",
            path.display()
        )),
        Ok(_) => Some(format!(
            "{} has no line `mcp-name: {name}`; add it",
            path.display()
        )),
        Err(error) => Some(format!("{} cannot be read: {error}", path.display())),
    }
}

/// Returns a text without its HTML comments.
fn visible(text: &str) -> String {
    let mut visible = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        visible.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    visible + rest
}

fn has_name(text: &str, name: &str) -> bool {
    let marker = format!("mcp-name: {name}");
    let mut places = text.match_indices(&marker);
    places.any(|(start, marker)| {
        let next = text[start + marker.len()..].chars().next();
        // A longer name begins with the same text.
        next.is_none_or(|next| !next.is_alphanumeric() && !"._-/".contains(next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_must_be_visible_and_whole() {
        fn check(text: &str, expected: bool) {
            assert_eq!(
                has_name(&visible(text), "io.github.ada/notes"),
                expected,
                "{text}"
            );
        }
        check("# Notes\n\nmcp-name: io.github.ada/notes\n", true);
        check("`mcp-name: io.github.ada/notes`", true);
        check("<!-- a --> mcp-name: io.github.ada/notes <!-- b -->", true);
        check("<!-- mcp-name: io.github.ada/notes -->", false);
        check("<!-- mcp-name: io.github.ada/notes", false);
        check("mcp-name: io.github.ada/notes-two", false);
        check("mcp-name: io.github.bob/notes", false);
        check("", false);
    }
}
