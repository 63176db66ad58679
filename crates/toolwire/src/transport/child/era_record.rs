//! The commands of this process whose servers did not survive the probe, or did not respond to it, with their era.
//!
//! Without this record, every client of such a server would start it twice, or wait for the probe. Commands may contain
//! secrets, so only a keyed digest of them is stored.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, OnceLock};

use toolwire_proto::negotiate::DetectedEra;

use crate::sync::lock;
use crate::transport::child::command::ServerCommand;

/// The number of stored commands. Beyond it, the oldest is removed.
const MAX_COMMANDS: usize = 256;

static RECORDED: Mutex<EraRecord> = Mutex::new(EraRecord(VecDeque::new()));

/// Returns the era of a command for which an earlier probe failed.
pub(super) fn find(command: &ServerCommand) -> Option<DetectedEra> {
    lock(&RECORDED).find(digest(command))
}

/// Stores the era of a command for which the probe failed.
pub(super) fn store(command: &ServerCommand, era: DetectedEra) {
    lock(&RECORDED).store(digest(command), era);
}

/// The digests of commands and their eras, the oldest first.
struct EraRecord(VecDeque<(u64, DetectedEra)>);

impl EraRecord {
    fn find(&self, digest: u64) -> Option<DetectedEra> {
        let entry = self.0.iter().find(|(recorded, _)| *recorded == digest);
        entry.map(|(_, era)| *era)
    }

    fn store(&mut self, digest: u64, era: DetectedEra) {
        self.0.retain(|(recorded, _)| *recorded != digest);
        if self.0.len() == MAX_COMMANDS {
            self.0.pop_front();
        }
        self.0.push_back((digest, era));
    }
}

fn digest(command: &ServerCommand) -> u64 {
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    let mut hasher = KEYS.get_or_init(RandomState::new).build_hasher();
    command.hash_identity(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use toolwire_proto::negotiate::LegacyTransport;
    use toolwire_types::ProtocolVersion;

    use super::*;

    fn legacy(version: ProtocolVersion) -> DetectedEra {
        DetectedEra::Legacy {
            version,
            transport: LegacyTransport::Direct,
        }
    }

    #[test]
    fn era_is_found_for_an_equal_command_only() {
        let command = || ServerCommand::new("server").arg("--stdio").env("KEY", "1");
        assert_eq!(find(&command()), None);
        for version in ProtocolVersion::ALL {
            store(&command(), legacy(version));
            assert_eq!(find(&command()), Some(legacy(version)));
        }
        for other in [
            ServerCommand::new("other").arg("--stdio").env("KEY", "1"),
            command().arg("--more"),
            command().env("KEY", "2"),
            command().current_dir("/tmp"),
        ] {
            assert_eq!(find(&other), None, "{other:?}");
        }
    }

    #[test]
    fn oldest_command_is_removed_at_the_limit() {
        let era = legacy(ProtocolVersion::ALL[0]);
        let mut record = EraRecord(VecDeque::new());
        for digest in 0..MAX_COMMANDS as u64 {
            record.store(digest, era);
        }
        assert_eq!(record.find(0), Some(era));
        record.store(MAX_COMMANDS as u64, era);
        assert_eq!(record.find(0), None);
        assert_eq!(record.find(1), Some(era));
        assert_eq!(record.find(MAX_COMMANDS as u64), Some(era));
    }
}
