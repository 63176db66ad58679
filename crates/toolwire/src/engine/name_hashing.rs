//! A fast hasher for names that the server's author chose.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Builds hashers that are faster than those of the standard library, which resist keys chosen to collide. Use it only
/// for tables whose keys clients cannot add. The random seed protects servers whose names come from untrusted sources.
#[derive(Debug, Clone)]
pub(crate) struct BuildNameHasher {
    seed: u64,
}

impl Default for BuildNameHasher {
    fn default() -> Self {
        let seed = RandomState::new().hash_one(0);
        Self { seed }
    }
}

impl BuildHasher for BuildNameHasher {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher(self.seed)
    }
}

/// The state of one hash.
#[derive(Debug)]
pub(crate) struct NameHasher(u64);

impl NameHasher {
    /// Multiplies into twice as many bits and folds the product, so that each bit of the name affects each bit of the
    /// hash.
    fn mix(&mut self, word: u64) {
        const MULTIPLIER: u128 = 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(self.0 ^ word) * MULTIPLIER;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length distinguishes names that differ only in trailing zeros.
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64).rotate_right(8));
    }

    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn similar_names_have_distinct_hashes() {
        for seed in [0, 1, u64::MAX, 0x0123_4567_89AB_CDEF] {
            let hashing = BuildNameHasher { seed };
            let names = (0..1000).map(|number| format!("tool_{number:04}"));
            let hashes: Vec<u64> = names.map(|name| hashing.hash_one(name)).collect();
            let distinct = |part: fn(u64) -> u64| -> usize {
                let parts: BTreeSet<u64> = hashes.iter().map(|&hash| part(hash)).collect();
                parts.len()
            };
            assert_eq!(distinct(|hash| hash), 1000);
            // A table of 2048 buckets uses the lowest bits, and compares the seven highest first. Random hashes of 1000
            // names would fill about 790 buckets.
            assert!(distinct(|hash| hash & 2047) > 700, "{seed}");
            assert!(distinct(|hash| hash >> 57) > 120, "{seed}");
        }
    }

    #[test]
    fn tables_hash_differently() {
        let (one, other) = (BuildNameHasher::default(), BuildNameHasher::default());
        assert_ne!(one.hash_one("echo"), other.hash_one("echo"));
        assert_eq!(one.hash_one("echo"), one.hash_one(String::from("echo")));
    }
}
