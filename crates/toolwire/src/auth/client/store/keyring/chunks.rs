//! Values of any length in entries that are short, and names of any length.
//!
//! An entry holds `=` and the value, or `+`, how many pieces there are, which, and the first of them. The pieces of a new
//! value are put beside those of the old one; the entry itself is changed last, in one step, so that whoever reads sees
//! one value or the other.

use std::fmt::Write as _;

use keyring_core::{CredentialStore, Entry, Error as KeyringError};
use ring::digest;
use toolwire_types::auth::Secret;

use crate::auth::client::store::TokenStoreError;
use crate::auth::client::store::keyring::failed;

/// How many bytes of a value go into one entry: Windows takes 2560, and there is a head.
pub(super) const CHUNK_BYTES: usize = 2048;

/// How many bytes a name has before it is shortened: Windows takes 512, and pieces have longer names.
pub(super) const LONGEST_NAME: usize = 256;

/// How often reading begins anew because somebody else writes.
const ATTEMPTS: usize = 8;

/// The entries of one service.
pub(super) struct Keyring<'a> {
    store: &'a CredentialStore,
    service: &'a str,
}

/// What the entry of a name says.
struct EntryHeader {
    /// How many pieces there are beside the first.
    others: usize,
    /// Tells the pieces of one value from those of another.
    id: String,
    first: Vec<u8>,
}

impl<'a> Keyring<'a> {
    pub(super) fn new(store: &'a CredentialStore, service: &'a str) -> Self {
        Self { store, service }
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Secret>, TokenStoreError> {
        let name = short(name);
        for _ in 0..ATTEMPTS {
            let Some(head) = self.head(&name)? else {
                return Ok(None);
            };
            let mut value = head.first;
            let mut is_whole = true;
            for number in 1..=head.others {
                match self.read(&piece(&name, &head.id, number))? {
                    Some(piece) => value.extend_from_slice(&piece),
                    // It was written anew meanwhile, and what is there now is another value.
                    None => is_whole = false,
                }
            }
            if is_whole {
                let value = String::from_utf8(value).map_err(|_| damaged(&name))?;
                return Ok(Some(value.into()));
            }
        }
        Err(damaged(&name))
    }

    pub(super) fn put(&self, name: &str, value: &Secret) -> Result<(), TokenStoreError> {
        let name = short(name);
        // What cannot be read is written over: nothing could be got out of it.
        let before = self.head(&name).ok().flatten();
        let id = fresh()?;
        let mut pieces = value.expose().as_bytes().chunks(CHUNK_BYTES);
        let first = pieces.next().unwrap_or_default();
        let others = pieces.len();
        let written = pieces
            .zip(1..)
            .try_for_each(|(bytes, number)| self.write(&piece(&name, &id, number), bytes));
        let head = match others {
            0 => b"=".to_vec(),
            _ => format!("+{others} {id}\n").into_bytes(),
        };
        match written.and_then(|()| self.write(&name, &[&head, first].concat())) {
            Ok(()) => {
                self.drop_pieces(&name, before.as_ref());
                Ok(())
            }
            Err(error) => {
                let first = Vec::new();
                self.drop_pieces(&name, Some(&EntryHeader { others, id, first }));
                Err(error)
            }
        }
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), TokenStoreError> {
        let name = short(name);
        let before = self.head(&name).ok().flatten();
        self.delete(&name)?;
        self.drop_pieces(&name, before.as_ref());
        Ok(())
    }

    fn head(&self, name: &str) -> Result<Option<EntryHeader>, TokenStoreError> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        EntryHeader::parse(&bytes)
            .map(Some)
            .ok_or_else(|| damaged(name))
    }

    /// Removes what nobody needs any more. What stays behind only takes up room.
    fn drop_pieces(&self, name: &str, head: Option<&EntryHeader>) {
        let Some(head) = head else { return };
        for number in 1..=head.others {
            if let Err(error) = self.delete(&piece(name, &head.id, number)) {
                tracing::warn!(%error, "a piece of an old token stays in the keyring");
            }
        }
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, TokenStoreError> {
        match self.entry(name)?.get_secret() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(KeyringError::NoEntry) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), TokenStoreError> {
        let written = self.entry(name)?.set_secret(bytes);
        written.map_err(|error| failed(&error))
    }

    fn delete(&self, name: &str) -> Result<(), TokenStoreError> {
        match self.entry(name)?.delete_credential() {
            Ok(()) | Err(KeyringError::NoEntry) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    }

    fn entry(&self, name: &str) -> Result<Entry, TokenStoreError> {
        let entry = self.store.build(self.service, name, None);
        entry.map_err(|error| failed(&error))
    }
}

impl EntryHeader {
    fn parse(bytes: &[u8]) -> Option<Self> {
        if let Some(first) = bytes.strip_prefix(b"=") {
            return Some(Self {
                others: 0,
                id: String::new(),
                first: first.to_vec(),
            });
        }
        let rest = bytes.strip_prefix(b"+")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, first) = rest.split_at_checked(end)?;
        let (others, id) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        Some(Self {
            others: others.parse().ok().filter(|others| *others <= 10_000)?,
            id: id.to_owned(),
            first: first.get(1..)?.to_vec(),
        })
    }
}

/// The name of an entry. A long name keeps its beginning, for people, and gets a digest, so that no other has the same.
fn short(name: &str) -> String {
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

fn piece(name: &str, id: &str, number: usize) -> String {
    format!("{name} [{id} {number}]")
}

fn fresh() -> Result<String, TokenStoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|_| TokenStoreError::new("the system gives no random bytes"))?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

fn damaged(name: &str) -> TokenStoreError {
    TokenStoreError::new(format!(
        "the entry {name:?} of the keyring is damaged; remove it there and log in again"
    ))
}
