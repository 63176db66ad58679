//! A set of positions in a URI, one bit each.

/// The positions from zero to the length of a URI, both included.
#[derive(Debug, Clone)]
pub(super) struct PositionSet {
    words: Vec<u64>,
}

impl PositionSet {
    /// Returns the empty set for a URI of `length` characters.
    pub(super) fn for_length(length: usize) -> Self {
        Self {
            words: vec![0; length / 64 + 1],
        }
    }

    pub(super) fn insert(&mut self, position: usize) {
        self.words[position / 64] |= 1 << (position % 64);
    }

    /// Returns `true` if the position is in the set. Positions beyond the end are not.
    pub(super) fn contains(&self, position: usize) -> bool {
        self.words
            .get(position / 64)
            .is_some_and(|word| word >> (position % 64) & 1 == 1)
    }
}
