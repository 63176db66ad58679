//! The keys of request state in files, which several processes or runs of a command share.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use toolwire::{KeyRing, StateKey};

use crate::failure::Failure;

/// The size of the key of the request state.
const KEY_BYTES: usize = 32;

/// Returns the keys that these files contain, or `None` without a file. The first one seals, and all of them open.
pub(crate) fn read_state_keys(paths: &[PathBuf]) -> Result<Option<KeyRing>, Failure> {
    let mut ring: Option<KeyRing> = None;
    for path in paths {
        let key = read_state_key(path)?;
        ring = Some(match ring {
            Some(ring) => ring.with_older(key),
            None => KeyRing::new(key),
        });
    }
    Ok(ring)
}

fn read_state_key(path: &Path) -> Result<StateKey, Failure> {
    let shown = path.display();
    let bytes = read_key(path)
        .map_err(|error| Failure::usage(format!("the key {shown} cannot be read: {error}")))?;
    let key: [u8; KEY_BYTES] = bytes.try_into().map_err(|bytes: Vec<u8>| {
        let count = match bytes.len() {
            count if count > KEY_BYTES => format!("more than {KEY_BYTES} bytes"),
            count => format!("{count} bytes instead of {KEY_BYTES}"),
        };
        Failure::usage(format!(
            "the key {shown} has {count}; create one with `head -c {KEY_BYTES} /dev/urandom > FILE`"
        ))
    })?;
    Ok(StateKey::new(key))
}

/// Reads a key, and one more byte of a file that is too long. The file may be a device without an end.
fn read_key(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
