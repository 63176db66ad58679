//! The member names of all open objects, to detect repeated names.
//!
//! Small objects compare each new name with the earlier ones. Large objects sort their names once, when they close. So
//! the cost is never quadratic, and ordinary messages need no allocation.

use crate::strict_json::cursor::StringToken;
use crate::strict_json::text::characters;

/// The number of names up to which an object is checked name by name.
const SMALL_OBJECT: usize = 16;

/// The number of names that fit without an allocation.
const INLINE: usize = 16;

// The names of a large object are always in `OpenNames::spilled`.
const _: () = assert!(INLINE <= SMALL_OBJECT);

#[derive(Debug)]
pub(super) struct OpenNames<'a> {
    inline: [&'a str; INLINE],
    /// The number of names in `inline`. Unused while names are in `spilled`.
    inline_count: usize,
    /// All names, once there are too many for `inline`.
    spilled: Vec<&'a str>,
    /// Whether a name of this message has escapes, so that equal names may differ in their bytes.
    any_escaped: bool,
}

impl<'a> OpenNames<'a> {
    pub(super) fn new() -> Self {
        Self {
            inline: [""; INLINE],
            inline_count: 0,
            spilled: Vec::new(),
            any_escaped: false,
        }
    }

    /// Returns the position at which the names of an object that opens now begin.
    pub(super) fn mark(&self) -> usize {
        self.names().len()
    }

    /// Adds a name to the innermost object. Returns `true` if it is known to repeat.
    #[inline]
    pub(super) fn push(&mut self, name: StringToken<'a>, object_mark: usize) -> bool {
        let is_ordinary = !(self.any_escaped | name.escaped)
            & self.spilled.is_empty()
            & (self.inline_count < INLINE);
        if !is_ordinary {
            return self.push_unusual(name, object_mark);
        }
        let earlier = &self.inline[object_mark..self.inline_count];
        let repeats = earlier.contains(&name.text);
        self.inline[self.inline_count] = name.text;
        self.inline_count += 1;
        repeats
    }

    /// Adds a name if there are many names or some have escapes.
    #[cold]
    fn push_unusual(&mut self, name: StringToken<'a>, object_mark: usize) -> bool {
        self.any_escaped |= name.escaped;
        let earlier = &self.names()[object_mark..];
        let repeats =
            earlier.len() < SMALL_OBJECT && earlier.iter().any(|other| self.same(other, name.text));
        if self.spilled.is_empty() && self.inline_count < INLINE {
            self.inline[self.inline_count] = name.text;
            self.inline_count += 1;
        } else {
            if self.spilled.is_empty() {
                self.spilled.extend_from_slice(&self.inline);
            }
            self.spilled.push(name.text);
        }
        repeats
    }

    /// Removes the names of the innermost object. Returns `true` if two names of a large object are equal.
    #[inline]
    pub(super) fn close(&mut self, object_mark: usize) -> bool {
        if self.spilled.is_empty() {
            self.inline_count = object_mark;
            return false;
        }
        self.close_spilled(object_mark)
    }

    /// Removes the names of an object that is large or among many names.
    #[cold]
    fn close_spilled(&mut self, object_mark: usize) -> bool {
        let mut repeats = false;
        let names = &mut self.spilled[object_mark..];
        if names.len() > SMALL_OBJECT {
            if self.any_escaped {
                names.sort_unstable_by(|a, b| characters(a).cmp(characters(b)));
            } else {
                names.sort_unstable();
            }
            let names = &self.spilled[object_mark..];
            repeats = names.windows(2).any(|pair| self.same(pair[0], pair[1]));
        }
        self.spilled.truncate(object_mark);
        if object_mark == 0 {
            self.inline_count = 0;
        }
        repeats
    }

    fn same(&self, a: &str, b: &str) -> bool {
        a == b || (self.any_escaped && characters(a).eq(characters(b)))
    }

    fn names(&self) -> &[&'a str] {
        if self.spilled.is_empty() {
            &self.inline[..self.inline_count]
        } else {
            &self.spilled
        }
    }
}
