//! The cursors of events that a server stores in memory.
//!
//! A cursor is a position and a tag. The tag binds it to the process and to the caller, so that the cursor of another
//! caller is the same as an unknown cursor.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

const POSITION_BYTES: usize = 8;
const TAG_BYTES: usize = 8;

/// The key of the cursors of one event type.
#[derive(Clone)]
pub struct CursorKey([u8; 16]);

impl CursorKey {
    /// Creates a key from random bytes.
    #[must_use]
    pub fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// Returns the cursor of a position, for one caller.
    #[must_use]
    pub fn encode(&self, caller: Option<&str>, position: u64) -> String {
        let position = position.to_be_bytes();
        let tag = self.tag(caller, position);
        let mut bytes = [0; POSITION_BYTES + TAG_BYTES];
        bytes[..POSITION_BYTES].copy_from_slice(&position);
        bytes[POSITION_BYTES..].copy_from_slice(&tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the position of a cursor. Returns `None` if the cursor is not one of this key and this caller.
    #[must_use]
    pub fn decode(&self, caller: Option<&str>, cursor: &str) -> Option<u64> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (position, tag) = bytes.split_first_chunk::<POSITION_BYTES>()?;
        (tag == self.tag(caller, *position)).then(|| u64::from_be_bytes(*position))
    }

    fn tag(&self, caller: Option<&str>, position: [u8; POSITION_BYTES]) -> [u8; TAG_BYTES] {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(position);
        if let Some(caller) = caller {
            hash.update([1]);
            hash.update(caller);
        }
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&hash.finalize()[..TAG_BYTES]);
        tag
    }
}

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CursorKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cursors_are_valid_only_for_their_key_and_caller(position: u64, caller: Option<String>, other: Option<String>) {
            let (key, another) = (CursorKey::new([1; 16]), CursorKey::new([2; 16]));
            let cursor = key.encode(caller.as_deref(), position);
            prop_assert_eq!(key.decode(caller.as_deref(), &cursor), Some(position));
            prop_assert_eq!(another.decode(caller.as_deref(), &cursor), None);
            if caller != other {
                prop_assert_eq!(key.decode(other.as_deref(), &cursor), None);
            }
        }

        #[test]
        fn any_text_is_decoded_without_a_panic(text: String) {
            prop_assert_eq!(CursorKey::new([0; 16]).decode(None, &text), None);
        }
    }

    #[test]
    fn debug_output_has_no_key() {
        assert_eq!(format!("{:?}", CursorKey::new([7; 16])), "CursorKey { .. }");
    }
}
