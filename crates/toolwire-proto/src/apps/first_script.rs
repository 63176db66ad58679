//! The place in a document for a script that runs before all others.

use crate::apps::html_tag::{end_of_comment, next_tag};

/// The start of the document type.
const DOCUMENT_TYPE: &str = "<!doctype";

/// Returns the position for a script that runs before all others: at the start of `head`, or after the start tag of
/// `html`, or after the document type. It is never inside of a comment, a tag or another script.
///
/// ```
/// use toolwire_proto::apps::first_script;
///
/// let html = "<!doctype html><!-- <head> --><title>a</title>";
/// assert_eq!(first_script::position(html), "<!doctype html>".len());
/// ```
#[must_use]
pub fn position(html: &str) -> usize {
    let mut end = end_of_document_type(html);
    let mut position = end;
    // Any other tag belongs to the content of the document.
    while let Some(tag) = next_tag(html, position) {
        match tag.name.as_str() {
            "html" if !tag.is_end => end = tag.end,
            "head" if !tag.is_end => return tag.end,
            _ => break,
        }
        position = tag.end;
    }
    end
}

/// Returns the position after the document type. Only comments and spaces may precede it. Returns 0 without one.
fn end_of_document_type(html: &str) -> usize {
    let mut start = html.trim_start_matches('\u{feff}').trim_start();
    while let Some(end) = end_of_comment(start, 0) {
        start = start[end..].trim_start();
    }
    let skipped = html.len() - start.len();
    let name = start.get(..DOCUMENT_TYPE.len());
    if name.is_some_and(|name| name.eq_ignore_ascii_case(DOCUMENT_TYPE)) {
        start.find('>').map_or(0, |end| skipped + end + 1)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_precedes_the_content_of_the_document() {
        /// `|` marks the position.
        fn check(marked: &str) {
            let (before, after) = marked.split_once('|').expect("a mark");
            let found = position(&format!("{before}{after}"));
            assert_eq!(found, before.len(), "{marked}");
        }
        check("<!doctype html><html><head>|<title>a</title></head>");
        check("<!DOCTYPE html>\n<HTML lang=\"en\">\n<HEAD data-a='1'>|b");
        check("\u{feff}\n<!doctype html>|<p>a");
        check("<!-- a --><!doctype html>|<p>");
        check("\n<!-- > -->\n<!----> <!DOCTYPE html><!-- a --><head>|");
        check("|<!-- a --><p>");
        check("|<!-- <!doctype html>");
        check("<!doctype html><html lang=en>|<header>a</header>");
        check("<!doctype html><html>|</html>");
        check("<html>|a");
        check("<html><!-- <head> --><head>|");
        check("<html title=\"<head>\"><head title='>'>|");
        check("<!doctype html>|<!-- <html><head> --><p>");
        check("<!doctype html><html>|<script>'<head>'</script>");
        check("<!doctype html>|<script>'<html><head>'</script><head>");
        check("<!doctype html>|<body><head>");
        check("<!doctype html>|");
        check("|<html");
        check("|<!doctype html");
        check("|");
    }
}
