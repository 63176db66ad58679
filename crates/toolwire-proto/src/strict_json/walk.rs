//! The members of an object and the elements of an array, in text that a parser has accepted before.
//!
//! Nested values are skipped, not parsed. Text that is not valid JSON ends the iteration early.

use crate::strict_json::cursor::{Cursor, Malformed, StringToken};

/// Returns the members of an object as name and text of the value. Returns `None` if the text is not an object.
pub(crate) fn object_members(text: &str) -> Option<ObjectMembers<'_>> {
    Some(ObjectMembers(Items::open(text, b'{', b'}')?))
}

/// Returns the texts of the elements of an array. Returns `None` if the text is not an array.
pub(crate) fn array_elements(text: &str) -> Option<ArrayElements<'_>> {
    Some(ArrayElements(Items::open(text, b'[', b']')?))
}

/// The text of a member's name, with its escapes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemberName<'a>(StringToken<'a>);

impl<'a> MemberName<'a> {
    /// Returns the text between the quotes.
    pub(crate) fn raw(self) -> &'a str {
        self.0.text
    }

    /// Returns the name with its escapes resolved.
    pub(crate) fn meaning(self) -> std::borrow::Cow<'a, str> {
        self.0.meaning()
    }

    /// Returns `true` if the name with its escapes resolved equals `name`.
    pub(crate) fn means(self, name: &str) -> bool {
        self.0.means(name)
    }
}

#[derive(Debug)]
pub(crate) struct ObjectMembers<'a>(Items<'a>);

impl<'a> Iterator for ObjectMembers<'a> {
    type Item = (MemberName<'a>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.advance()?;
        let name = self.0.cursor.string().ok()?;
        self.0.cursor.skip_whitespace();
        self.0.cursor.expect(b':').ok()?;
        self.0.cursor.skip_whitespace();
        Some((MemberName(name), self.0.value()?))
    }
}

#[derive(Debug)]
pub(crate) struct ArrayElements<'a>(Items<'a>);

impl<'a> Iterator for ArrayElements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0.advance()?;
        self.0.value()
    }
}

/// A position between two items of a container.
#[derive(Debug)]
struct Items<'a> {
    cursor: Cursor<'a>,
    close: u8,
    is_first: bool,
}

impl<'a> Items<'a> {
    fn open(text: &'a str, open: u8, close: u8) -> Option<Self> {
        let mut cursor = Cursor::new(text);
        cursor.skip_whitespace();
        cursor.eat(open).then_some(Self {
            cursor,
            close,
            is_first: true,
        })
    }

    /// Moves to the start of the next item.
    fn advance(&mut self) -> Option<()> {
        let next = self.cursor.token()?;
        if next == self.close {
            return None;
        }
        if !std::mem::take(&mut self.is_first) {
            self.cursor.expect(b',').ok()?;
            self.cursor.skip_whitespace();
        }
        Some(())
    }

    fn value(&mut self) -> Option<&'a str> {
        let start = self.cursor.position();
        let skipped: Result<(), Malformed> = match self.cursor.peek()? {
            b'{' | b'[' => self.cursor.skip_container(),
            _ => self.cursor.scalar(),
        };
        skipped.ok()?;
        Some(self.cursor.since(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Option<Vec<(String, &str)>> {
        let members = object_members(text)?;
        Some(
            members
                .map(|(name, value)| (name.meaning().into_owned(), value))
                .collect(),
        )
    }

    #[test]
    fn members_and_elements_are_slices_of_the_text() {
        assert_eq!(members("[]"), None);
        assert_eq!(members(" { } "), Some(vec![]));
        assert_eq!(
            members(r#"{ "a" : 1.0 ,"\u0062":{"x":"}]","y":[[]]},"":"\"" }"#),
            Some(vec![
                ("a".to_owned(), "1.0"),
                ("b".to_owned(), r#"{"x":"}]","y":[[]]}"#),
                (String::new(), r#""\"""#),
            ])
        );
        let elements = |text| array_elements(text).map(Iterator::collect::<Vec<_>>);
        assert_eq!(elements("{}"), None);
        assert_eq!(elements("[ ]"), Some(vec![]));
        assert_eq!(
            elements(r#"[1 , {"a":[]},"]",null]"#),
            Some(vec!["1", r#"{"a":[]}"#, r#""]""#, "null"])
        );
    }

    #[test]
    fn invalid_text_ends_the_iteration() {
        for text in [
            "{",
            r#"{"a""#,
            r#"{"a":"#,
            r#"{"a":1"#,
            r#"{"a":{"#,
            r#"{"a":1 2}"#,
        ] {
            assert!(
                members(text).is_some_and(|members| members.len() <= 1),
                "{text}"
            );
        }
    }
}
