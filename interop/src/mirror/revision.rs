//! The revisions, and objects whose members depend on the revision.

use std::ops::RangeInclusive;

/// A protocol revision. Its number is its position in [`Revision::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u8);

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] = [Self(0), Self(1), Self(2), Self(3), Self(4)];

    const NAMES: [&str; 5] = [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ];

    /// Returns the revision with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|revision| revision.name() == name)
    }

    /// Returns the name, a date.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[usize::from(self.0)]
    }

    /// Returns `true` if requests need no session.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self.0 == 4
    }

    /// Returns `true` if the number of this revision is in the range.
    pub(crate) fn is_in(self, range: &RangeInclusive<u8>) -> bool {
        range.contains(&self.0)
    }

    /// Returns an object with the members that this revision has, between two unknown members.
    pub(crate) fn object(self, members: &[Member<'_>]) -> String {
        let mut text = String::from(r#"{"x-first":1.0"#);
        for (range, name, value) in members {
            if self.is_in(range) {
                text.push_str(&format!(r#","{name}":{value}"#));
            }
        }
        text.push_str(r#","x-last":{"é\u0041":[1e2,null,-0.0,12345678901234567890]}}"#);
        text
    }

    /// Returns `_meta` with these members and unknown ones.
    pub(crate) fn meta(self) -> String {
        self.object(&[(ALL, "com.example/trace", r#""a/b""#)])
    }
}

/// A member of an object: the revisions that have it, its name and its JSON text.
pub(crate) type Member<'a> = (RangeInclusive<u8>, &'a str, &'a str);

/// All revisions.
pub(crate) const ALL: RangeInclusive<u8> = 0..=4;

/// The revisions with a handshake.
pub(crate) const LEGACY: RangeInclusive<u8> = 0..=3;

/// Revision 2026-07-28.
pub(crate) const MODERN: RangeInclusive<u8> = 4..=4;
