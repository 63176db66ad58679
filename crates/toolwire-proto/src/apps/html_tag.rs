//! Finds the tags of an HTML document, with their attributes. Comments are skipped.

use std::borrow::Cow;

/// A start tag or an end tag.
#[derive(Debug, PartialEq)]
pub(crate) struct Tag<'a> {
    /// The position of `<`.
    pub(crate) start: usize,
    /// The position after `>`.
    pub(crate) end: usize,
    /// The name in lower case.
    pub(crate) name: String,
    pub(crate) is_end: bool,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

/// An attribute of a tag.
#[derive(Debug, PartialEq)]
pub(crate) struct Attribute<'a> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The name in lower case.
    pub(crate) name: String,
    /// The value without quotes and character references. It is empty if the attribute has none.
    pub(crate) value: Cow<'a, str>,
}

impl Tag<'_> {
    /// Returns the value of the first attribute of this name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|attribute| attribute.name == name)?;
        Some(found.value.as_ref())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }
}

/// Returns the next tag at or after a position. A tag without an end is text.
pub(crate) fn next_tag(html: &str, mut position: usize) -> Option<Tag<'_>> {
    loop {
        let start = position + html[position..].find('<')?;
        let rest = &html[start + 1..];
        if rest.starts_with("!--") {
            position = end_of_comment(html, start)?;
            continue;
        }
        let is_end = rest.starts_with('/');
        let name = &rest[usize::from(is_end)..];
        if name.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            return read_tag(html, start, is_end);
        }
        position = start + 1;
    }
}

/// Returns the position after the comment that starts at a position. `<!-->` and `<!--->` are complete comments. Returns
/// `None` if there is no comment, or if it has no end.
pub(crate) fn end_of_comment(html: &str, position: usize) -> Option<usize> {
    let comment = html[position..].strip_prefix("<!--")?;
    let start = position + "<!--".len();
    for end in [">", "->"] {
        if comment.starts_with(end) {
            return Some(start + end.len());
        }
    }
    let is_end = |at: &usize| {
        let text = &comment[..*at];
        text.ends_with("--") || text.ends_with("--!")
    };
    let mut candidates = comment.match_indices('>').map(|(at, _)| at);
    let end = candidates.find(is_end)?;
    Some(start + end + 1)
}

/// Returns the end of the text of a `script`, `style`, `title` or `textarea` element: the position of its end tag.
pub(crate) fn end_of_raw_text(html: &str, position: usize, name: &str) -> usize {
    let end_tag = format!("</{name}");
    let is_end = |at: &usize| {
        let text = html.as_bytes().get(*at..*at + end_tag.len());
        let next = html.as_bytes().get(at + end_tag.len());
        text.is_some_and(|text| text.eq_ignore_ascii_case(end_tag.as_bytes()))
            && next.is_none_or(|next| next.is_ascii_whitespace() || matches!(next, b'>' | b'/'))
    };
    let mut starts = html[position..].match_indices('<');
    let end = starts.find_map(|(at, _)| Some(position + at).filter(is_end));
    end.unwrap_or(html.len())
}

/// Escapes a value for an attribute in double quotes.
pub(crate) fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('"', "&quot;")
}

fn read_tag(html: &str, start: usize, is_end: bool) -> Option<Tag<'_>> {
    let bytes = html.as_bytes();
    let is_name_end = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let until = |from: usize, is_stop: &dyn Fn(u8) -> bool| {
        let length = bytes[from..].iter().position(|byte| is_stop(*byte))?;
        Some(from + length)
    };
    let name_start = start + 1 + usize::from(is_end);
    let mut position = until(name_start, &is_name_end)?;
    let name = html[name_start..position].to_ascii_lowercase();
    let mut attributes = Vec::new();
    loop {
        position = until(position, &|byte| {
            !byte.is_ascii_whitespace() && byte != b'/'
        })?;
        if bytes[position] == b'>' {
            return Some(Tag {
                start,
                end: position + 1,
                name,
                is_end,
                attributes,
            });
        }
        let attribute_start = position;
        // A name may start with `=`.
        let name_end = until(position + 1, &|byte| is_name_end(byte) || byte == b'=')?;
        let attribute_name = html[attribute_start..name_end].to_ascii_lowercase();
        position = name_end;
        let after_space = until(name_end, &|byte| !byte.is_ascii_whitespace())?;
        let mut value = "";
        if bytes[after_space] == b'=' {
            position = until(after_space + 1, &|byte| !byte.is_ascii_whitespace())?;
            let quote = bytes[position];
            if matches!(quote, b'"' | b'\'') {
                let end = until(position + 1, &|byte| byte == quote)?;
                value = &html[position + 1..end];
                position = end + 1;
            } else {
                let is_stop = |byte: u8| byte.is_ascii_whitespace() || byte == b'>';
                let end = until(position, &is_stop)?;
                value = &html[position..end];
                position = end;
            }
        }
        attributes.push(Attribute {
            start: attribute_start,
            end: position,
            name: attribute_name,
            value: unescaped(value),
        });
    }
}

/// Replaces the character references that occur in URLs and style sheets.
fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut text = value.to_owned();
    for (reference, character) in [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ] {
        text = text.replace(reference, character);
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tags as text: the name, then each attribute.
    fn tags(html: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut position = 0;
        while let Some(tag) = next_tag(html, position) {
            let mut text = format!("{}{}", if tag.is_end { "/" } else { "" }, tag.name);
            for attribute in &tag.attributes {
                text.push_str(&format!(" {}[{}]", attribute.name, attribute.value));
            }
            found.push(text);
            position = tag.end;
        }
        found
    }

    #[test]
    fn tags_are_found_with_their_attributes() {
        fn check(html: &str, expected: &[&str]) {
            assert_eq!(tags(html), expected, "{html}");
        }
        check("<!doctype html><p>a < b</p>", &["p", "/p"]);
        check("<!-- <img src=a> --><br/>", &["br"]);
        check("<!--><br><!-- <p> -->", &["br"]);
        check("<!---><br><!-- <p> -->", &["br"]);
        check("<!-- -> <p> --!><br><!-- <p> -->", &["br"]);
        check("<IMG SRC='a b.png' alt=x>y", &["img src[a b.png] alt[x]"]);
        check("<img src = \"a\" hidden>", &["img src[a] hidden[]"]);
        check("<img src=a.png/>", &["img src[a.png/]"]);
        check("<a href=\"x?a&amp;b\">", &["a href[x?a&b]"]);
        check("<a title=\"<p>\"><b>", &["a title[<p>]", "b"]);
        check("<a =b>", &["a =b[]"]);
        for unfinished in [
            "<",
            "<a",
            "<a b",
            "<a b=",
            "<a b=\"c>",
            "<!-- <a>",
            "</",
            "ä<",
        ] {
            check(unfinished, &[]);
        }
    }

    #[test]
    fn raw_text_ends_at_its_end_tag() {
        fn check(html: &str, expected: &str) {
            let end = end_of_raw_text(html, 0, "script");
            assert_eq!(&html[..end], expected);
        }
        check("a < b</script>c", "a < b");
        check("a</SCRIPT >", "a");
        check("a</scripts></script", "a</scripts>");
        check("ä<ü", "ä<ü");
    }
}
