//! Stores values and names of any length in entries of limited size.
//!
//! An entry holds `=` and the value, or `+`, the number of further chunks, their id, and the first chunk. The chunks of
//! a new value are written beside those of the old one. The entry itself is written last, so that readers see one value
//! or the other.

use std::fmt::Write as _;

use keyring_core::{CredentialStore, Entry, Error as KeyringError};
use ring::digest;

use crate::client::store::TokenStoreError;
use crate::client::store::keyring::store_error;
use crate::documents::Secret;

/// The maximum number of value bytes in one entry. Windows permits 2560 bytes, including a header.
pub(super) const CHUNK_BYTES: usize = 2048;

/// The maximum length of a name in bytes before it is shortened. Windows permits 512 bytes, and names of chunks are
/// longer.
pub(super) const LONGEST_NAME: usize = 256;

/// The number of read attempts while another process writes.
const ATTEMPTS: usize = 8;

/// The entries of one service.
pub(super) struct Keyring<'a> {
    store: &'a CredentialStore,
    service: &'a str,
}

/// The header of a name's entry.
struct EntryHeader {
    /// The number of chunks besides the first.
    further_chunks: usize,
    /// The id that distinguishes the chunks of different values.
    id: String,
    first: Vec<u8>,
}

impl<'a> Keyring<'a> {
    pub(super) fn new(store: &'a CredentialStore, service: &'a str) -> Self {
        Self { store, service }
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Secret>, TokenStoreError> {
        let name = entry_name(name);
        for _ in 0..ATTEMPTS {
            let Some(header) = self.header(&name)? else {
                return Ok(None);
            };
            let mut value = header.first;
            let mut is_complete = true;
            for number in 1..=header.further_chunks {
                match self.read(&chunk_name(&name, &header.id, number))? {
                    Some(chunk) => value.extend_from_slice(&chunk),
                    // The value was rewritten during the read.
                    None => is_complete = false,
                }
            }
            if is_complete {
                let value = String::from_utf8(value).map_err(|_| damaged_entry(&name))?;
                return Ok(Some(value.into()));
            }
        }
        Err(damaged_entry(&name))
    }

    pub(super) fn put(&self, name: &str, value: &Secret) -> Result<(), TokenStoreError> {
        let name = entry_name(name);
        // An entry that cannot be parsed is overwritten.
        let previous = self.header(&name).ok().flatten();
        let id = random_id()?;
        let mut chunks = value.expose().as_bytes().chunks(CHUNK_BYTES);
        let first = chunks.next().unwrap_or_default();
        let further_chunks = chunks.len();
        let written = chunks
            .zip(1..)
            .try_for_each(|(bytes, number)| self.write(&chunk_name(&name, &id, number), bytes));
        let header = match further_chunks {
            0 => b"=".to_vec(),
            _ => format!("+{further_chunks} {id}\n").into_bytes(),
        };
        match written.and_then(|()| self.write(&name, &[&header, first].concat())) {
            Ok(()) => {
                self.remove_chunks(&name, previous.as_ref());
                Ok(())
            }
            Err(error) => {
                let first = Vec::new();
                self.remove_chunks(
                    &name,
                    Some(&EntryHeader {
                        further_chunks,
                        id,
                        first,
                    }),
                );
                Err(error)
            }
        }
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), TokenStoreError> {
        let name = entry_name(name);
        let previous = self.header(&name).ok().flatten();
        self.delete(&name)?;
        self.remove_chunks(&name, previous.as_ref());
        Ok(())
    }

    fn header(&self, name: &str) -> Result<Option<EntryHeader>, TokenStoreError> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        EntryHeader::parse(&bytes)
            .map(Some)
            .ok_or_else(|| damaged_entry(name))
    }

    /// Removes the chunks of an old value. Remaining chunks only occupy space.
    fn remove_chunks(&self, name: &str, header: Option<&EntryHeader>) {
        let Some(header) = header else { return };
        for number in 1..=header.further_chunks {
            if let Err(error) = self.delete(&chunk_name(name, &header.id, number)) {
                tracing::warn!(%error, "a chunk of an old token cannot be removed from the keyring");
            }
        }
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, TokenStoreError> {
        match self.entry(name)?.get_secret() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(KeyringError::NoEntry) => Ok(None),
            Err(error) => Err(store_error(&error)),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), TokenStoreError> {
        let written = self.entry(name)?.set_secret(bytes);
        written.map_err(|error| store_error(&error))
    }

    fn delete(&self, name: &str) -> Result<(), TokenStoreError> {
        match self.entry(name)?.delete_credential() {
            Ok(()) | Err(KeyringError::NoEntry) => Ok(()),
            Err(error) => Err(store_error(&error)),
        }
    }

    fn entry(&self, name: &str) -> Result<Entry, TokenStoreError> {
        let entry = self.store.build(self.service, name, None);
        entry.map_err(|error| store_error(&error))
    }
}

impl EntryHeader {
    fn parse(bytes: &[u8]) -> Option<Self> {
        if let Some(first) = bytes.strip_prefix(b"=") {
            return Some(Self {
                further_chunks: 0,
                id: String::new(),
                first: first.to_vec(),
            });
        }
        let rest = bytes.strip_prefix(b"+")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, first) = rest.split_at_checked(end)?;
        let (further_chunks, id) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        Some(Self {
            further_chunks: further_chunks
                .parse()
                .ok()
                .filter(|count| *count <= 10_000)?,
            id: id.to_owned(),
            first: first.get(1..)?.to_vec(),
        })
    }
}

/// Returns the name of an entry. A long name is cut and gets a digest, so that it stays readable and unique.
fn entry_name(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let digest = digest::digest(&digest::SHA256, name.as_bytes());
    let start = name.char_indices();
    let start = start.take_while(|(at, letter)| at + letter.len_utf8() <= LONGEST_NAME / 2);
    let mut short: String = start.map(|(_, letter)| letter).collect();
    short.push_str(" … ");
    for byte in digest.as_ref() {
        write!(short, "{byte:02x}").expect("writing to a string succeeds");
    }
    short
}

fn chunk_name(name: &str, id: &str, number: usize) -> String {
    format!("{name} [{id} {number}]")
}

fn random_id() -> Result<String, TokenStoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|_| TokenStoreError::new("the operating system returned no random bytes"))?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

fn damaged_entry(name: &str) -> TokenStoreError {
    TokenStoreError::new(format!(
        "the entry {name:?} of the keyring is damaged; remove it there and log in again"
    ))
}
