//! How entries are stored, and what scripts return.

use std::time::Duration;

use bytes::Bytes;
use toolwire::store::{Appended, LogEntry, Replay, StoreError};

use crate::sealing::Sealing;

/// What a read found.
pub(super) enum Read {
    Replay(Replay),
    /// There is no entry after the given one.
    Nothing {
        /// The time until the lease of the writer ends.
        lease_end: Option<Duration>,
    },
}

/// The form of the entries of one stream.
pub(super) struct EntryFormat<'a> {
    /// The key of the stream.
    pub(super) stream: &'a str,
    pub(super) sealing: Option<&'a Sealing>,
}

impl EntryFormat<'_> {
    /// Returns the stored form of an entry: a letter, and the message, which may be sealed.
    pub(super) fn encode(&self, entry: &LogEntry) -> Result<Vec<u8>, StoreError> {
        let (kind, message): (u8, &[u8]) = match entry {
            LogEntry::Message(message) => (b'M', message),
            LogEntry::Last(message) => (b'L', message),
            _ => return Ok(vec![b'E']),
        };
        let mut encoded = Vec::with_capacity(message.len() + 1);
        encoded.push(kind);
        match self.sealing {
            Some(sealing) => encoded.extend(sealing.seal(self.stream, message)?.into_bytes()),
            None => encoded.extend_from_slice(message),
        }
        Ok(encoded)
    }

    fn decode(&self, entry: Vec<u8>) -> Result<LogEntry, StoreError> {
        let entry = Bytes::from(entry);
        let message = || match self.sealing {
            Some(sealing) => {
                let opened = sealing.open(self.stream, entry.get(1..).unwrap_or_default());
                opened.map(Bytes::from).ok_or(StoreError::UnsupportedFormat)
            }
            None => Ok(entry.slice(1..)),
        };
        match entry.first() {
            Some(b'M') => message().map(LogEntry::Message),
            Some(b'L') => message().map(LogEntry::Last),
            Some(b'E') => Ok(LogEntry::End),
            _ => Err(StoreError::UnsupportedFormat),
        }
    }
}

/// Decodes the response to a read after a number.
pub(super) fn read(
    response: Vec<Vec<u8>>,
    after: u64,
    format: &EntryFormat<'_>,
) -> Result<Read, StoreError> {
    let mut parts = response.into_iter();
    let kind = parts.next().unwrap_or_default();
    Ok(Read::Replay(match kind.as_slice() {
        b"unknown" => Replay::Unknown,
        b"ended" => Replay::Ended,
        b"gap" => Replay::Gap {
            oldest: number(parts.next())?,
        },
        b"nothing" => {
            let lease_end = parts.next().filter(|time| !time.is_empty());
            let lease_end = lease_end.map(|time| number(Some(time))).transpose()?;
            return Ok(Read::Nothing {
                lease_end: lease_end.map(Duration::from_millis),
            });
        }
        b"entries" => {
            let entries = (after + 1..).zip(parts);
            let entries = entries.map(|(number, entry)| Ok((number, format.decode(entry)?)));
            match entries.collect::<Result<_, StoreError>>() {
                // Entries that other keys have sealed count as absent.
                Err(_) if format.sealing.is_some() => Replay::Unknown,
                entries => Replay::Entries(entries?),
            }
        }
        _ => return Err(unexpected()),
    }))
}

/// Decodes the response to an append.
pub(super) fn appended(response: Vec<Vec<u8>>) -> Result<Appended, StoreError> {
    let mut parts = response.into_iter();
    let kind = parts.next().unwrap_or_default();
    match kind.as_slice() {
        b"stored" => Ok(Appended::Stored),
        b"fenced" => Ok(Appended::Fenced),
        b"ended" => Ok(Appended::Ended),
        b"lost" => Ok(Appended::Lost {
            last: number(parts.next())?,
        }),
        _ => Err(unexpected()),
    }
}

fn number(text: Option<Vec<u8>>) -> Result<u64, StoreError> {
    let text = String::from_utf8(text.unwrap_or_default()).map_err(|_| unexpected())?;
    text.parse().map_err(|_| unexpected())
}

fn unexpected() -> StoreError {
    StoreError::unavailable("the engine returned an unexpected value")
}
