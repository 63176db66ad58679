//! The entries of the file: their expiry and their limit.

use serde::{Deserialize, Serialize};

/// The version of the file format.
const LAYOUT: u64 = 1;

/// The number of entries. Beyond it, the oldest is removed.
const MAX_ENTRIES: usize = 256;

/// How long an entry is valid, in seconds: 7 days. After an update the server may support the modern era.
const LIFETIME: u64 = 7 * 24 * 60 * 60;

/// The digests of commands, the oldest first.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LegacyRecord {
    toolwire_legacy_servers: u64,
    entries: Vec<LegacyEntry>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct LegacyEntry {
    digest: String,
    /// The time of the probe, in seconds since 1970.
    probed_at: u64,
}

impl LegacyEntry {
    /// Returns `true` if the entry is younger than its lifetime. An entry from the future is invalid, because the clock
    /// was set back.
    fn is_valid(&self, now: u64) -> bool {
        now.checked_sub(self.probed_at)
            .is_some_and(|age| age < LIFETIME)
    }
}

impl LegacyRecord {
    pub(super) fn new() -> Self {
        Self {
            toolwire_legacy_servers: LAYOUT,
            entries: Vec::new(),
        }
    }

    /// Reads a file. A damaged file, or one of another format, has no entries.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        match serde_json::from_slice::<Self>(bytes) {
            Ok(record) if record.toolwire_legacy_servers == LAYOUT => record,
            _ => Self::new(),
        }
    }

    /// Returns `true` if the record has a valid entry for a command.
    pub(super) fn contains(&self, digest: &str, now: u64) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.digest == digest && entry.is_valid(now))
    }

    /// Adds a command and removes invalid entries.
    pub(super) fn insert(&mut self, digest: &str, now: u64) {
        self.entries
            .retain(|entry| entry.digest != digest && entry.is_valid(now));
        let surplus = (self.entries.len() + 1).saturating_sub(MAX_ENTRIES);
        self.entries.drain(..surplus);
        self.entries.push(LegacyEntry {
            digest: digest.to_owned(),
            probed_at: now,
        });
    }

    /// Removes a command.
    pub(super) fn remove(&mut self, digest: &str) {
        self.entries.retain(|entry| entry.digest != digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    #[test]
    fn entry_is_valid_for_its_lifetime() {
        let mut record = LegacyRecord::new();
        record.insert("a", NOW);
        for (now, expected) in [
            (NOW, true),
            (NOW + LIFETIME - 1, true),
            (NOW + LIFETIME, false),
            (NOW - 1, false),
        ] {
            assert_eq!(record.contains("a", now), expected, "{now}");
        }
        assert!(!record.contains("b", NOW));
        record.insert("a", NOW + LIFETIME);
        assert!(record.contains("a", NOW + LIFETIME));
        assert_eq!(record.entries.len(), 1);
        record.remove("b");
        assert!(record.contains("a", NOW + LIFETIME));
        record.remove("a");
        assert_eq!(record, LegacyRecord::new());
    }

    #[test]
    fn oldest_entry_is_removed_at_the_limit() {
        let mut record = LegacyRecord::new();
        let names: Vec<_> = (0..=MAX_ENTRIES).map(|number| number.to_string()).collect();
        for name in &names[..MAX_ENTRIES] {
            record.insert(name, NOW);
        }
        assert!(record.contains("0", NOW));
        record.insert(&names[MAX_ENTRIES], NOW);
        assert!(!record.contains("0", NOW));
        assert!(names[1..].iter().all(|name| record.contains(name, NOW)));
        assert_eq!(record.entries.len(), MAX_ENTRIES);
    }

    #[test]
    fn invalid_entries_are_removed_with_the_next_insertion() {
        let mut record = LegacyRecord::new();
        record.insert("old", NOW);
        record.insert("new", NOW + LIFETIME);
        assert_eq!(record.entries.len(), 1);
    }

    #[test]
    fn damaged_file_has_no_entries() {
        let mut record = LegacyRecord::new();
        record.insert("a", NOW);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(LegacyRecord::parse(text.as_bytes()), record);
        let other_layout = text.replace("servers\":1", "servers\":2");
        assert_ne!(other_layout, text);
        for damaged in ["", "[]", "{}", "\0", &text[1..], &other_layout] {
            let parsed = LegacyRecord::parse(damaged.as_bytes());
            assert_eq!(parsed, LegacyRecord::new(), "{damaged:?}");
        }
    }
}
