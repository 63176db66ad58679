//! Converts doc comments into descriptions.
//!
//! The compiler passes line comments (`///`) and block comments (`/** … */`) as `#[doc = "…"]`. This module removes the
//! indentation and stars of a block comment, and joins wrapped lines into paragraphs.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Returns the doc comment among `attributes`, or `None` if it is missing or blank.
pub(crate) fn description(attributes: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for text in attributes.iter().filter_map(doc_text) {
        let block = text.contains('\n');
        lines.extend(
            text.split('\n')
                .map(|line| strip_comment_markers(line, block)),
        );
    }
    let text = join_wrapped_lines(&lines);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Joins the lines of each paragraph. Lists, headings, tables and code keep their lines.
fn join_wrapped_lines(lines: &[String]) -> String {
    let mut text = String::new();
    let mut in_code = false;
    for line in lines {
        let fence = line.trim_start().starts_with("```");
        let own_line = in_code || fence || stands_alone(line) || stands_alone_at_end(&text);
        if !text.is_empty() {
            text.push(if own_line { '\n' } else { ' ' });
        }
        text.push_str(if own_line { line } else { line.trim_start() });
        in_code ^= fence;
    }
    text
}

/// Returns `true` if the line starts a new Markdown block.
fn stands_alone(line: &str) -> bool {
    let begins = line.trim_start();
    let numbered = begins.trim_start_matches(|c: char| c.is_ascii_digit());
    begins.is_empty()
        || line.starts_with("    ")
        || begins.starts_with(['-', '*', '+', '#', '>', '|'])
        || (numbered.len() < begins.len() && numbered.starts_with(['.', ')']))
}

/// Returns `true` if no line may be joined to the last line of the text.
fn stands_alone_at_end(text: &str) -> bool {
    let last = text.rsplit('\n').next().unwrap_or_default().trim_start();
    last.is_empty() || last.starts_with(['#', '|']) || last.starts_with("```")
}

/// Returns `true` if the attribute is a doc comment or another `#[doc …]`.
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn doc_text(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(meta) if is_doc(attribute) => match &meta.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn strip_comment_markers(line: &str, block: bool) -> String {
    if !block {
        return line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned();
    }
    let line = line.trim();
    // A leading `*` in a block comment is its left border, not a list item.
    line.strip_prefix('*')
        .map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
        .to_owned()
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn check(function: &syn::ItemFn, expected: Option<&str>) {
        assert_eq!(description(&function.attrs).as_deref(), expected);
    }

    #[test]
    fn wrapped_lines_are_joined_into_paragraphs() {
        let check = |lines: &[&str], expected: &str| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(join_wrapped_lines(&lines), expected);
        };
        check(&["One", "sentence."], "One sentence.");
        check(&["One.", "", "Two."], "One.\n\nTwo.");
        check(
            &["Either", "- this", "  or so", "- that", "1. first"],
            "Either\n- this or so\n- that\n1. first",
        );
        check(&["# Title", "text", "more"], "# Title\ntext more");
        check(&["```", "a", "b", "```", "c", "d"], "```\na\nb\n```\nc d");
    }

    #[test]
    fn doc_comments_are_converted_to_text() {
        check(
            &parse_quote!(
                fn plain() {}
            ),
            None,
        );
        check(
            &parse_quote!(
                #[doc = " "]
                fn blank() {}
            ),
            None,
        );
        check(
            &parse_quote!(
                #[doc = " Adds."]
                fn one() {}
            ),
            Some("Adds."),
        );
        check(
            &parse_quote!(
                #[doc = " Adds."]
                #[doc = ""]
                #[doc = "   - indented "]
                fn lines() {}
            ),
            Some("Adds.\n\n  - indented"),
        );
        check(
            &parse_quote!(
                #[doc = "\n     * Adds.\n     * Twice.\n     "]
                fn block() {}
            ),
            Some("Adds. Twice."),
        );
        check(
            &parse_quote!(
                #[doc(hidden)]
                #[doc = " Adds."]
                fn hidden() {}
            ),
            Some("Adds."),
        );
    }
}
