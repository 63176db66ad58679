//! The commands whose servers do not survive the probe of their era, or do not respond to it.
//!
//! Without this record, every run with such a server would wait for the probe, or start the server twice. The record is a
//! file in the cache directory of the user. It contains digests, because arguments may be secrets. A file that is damaged,
//! too long or not writable is no failure: the era is detected again.

mod directory;
mod record;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use toolwire::{DetectedEra, LegacyTransport, ProtocolVersion, VersionFeatures};

use crate::legacy_servers::record::LegacyRecord;
use crate::private_file;
use crate::target::ChildProcess;

/// The name of the file.
const FILE: &str = "legacy-servers.json";

/// The size of the file. A longer one is not read.
const MAX_BYTES: u64 = 64 * 1024;

/// A command, and its entry in the record.
#[derive(Debug)]
pub(crate) struct RecordedCommand {
    /// The file of the record and the digest of the command. `None` if one of them cannot be determined.
    place: Option<(PathBuf, String)>,
    is_recorded: bool,
}

impl RecordedCommand {
    /// Reads the entry of a command.
    pub(crate) fn read(child: &ChildProcess) -> Self {
        let place = directory::find().and_then(|directory| {
            let digest = digest(child).ok()?;
            Some((directory.join(FILE), digest))
        });
        let is_recorded = place
            .as_ref()
            .is_some_and(|(file, digest)| read(file).contains(digest, now()));
        Self { place, is_recorded }
    }

    /// Returns the era of a recorded command, with the newest revision of that era. The server may choose an older one.
    pub(crate) fn era(&self) -> Option<DetectedEra> {
        let mut versions = ProtocolVersion::ALL.into_iter().rev();
        let version = versions.find(|version| version.is_legacy())?;
        self.is_recorded.then_some(DetectedEra::Legacy {
            version,
            transport: LegacyTransport::Direct,
        })
    }

    /// Records the command.
    pub(crate) fn insert(&self) {
        self.change(|record, digest| record.insert(digest, now()));
    }

    /// Removes the entry of the command.
    pub(crate) fn remove(&self) {
        if self.is_recorded {
            self.change(LegacyRecord::remove);
        }
    }

    /// Changes the file. If another process changes it at the same time, one of the changes is lost, which costs a probe.
    fn change(&self, change: impl FnOnce(&mut LegacyRecord, &str)) {
        if let Some((file, digest)) = &self.place {
            let mut record = read(file);
            change(&mut record, digest);
            // Without the entry the era is detected again.
            let _ = write(file, &record);
        }
    }
}

/// Returns a digest of what decides which server a command starts: the program, its arguments, and its directory.
fn digest(child: &ChildProcess) -> io::Result<String> {
    let directory = match &child.directory {
        Some(directory) => std::path::absolute(directory)?,
        None => std::env::current_dir()?,
    };
    let mut digest = Sha256::new();
    let words = [directory.as_os_str(), child.program.as_os_str()];
    let arguments = child.arguments.iter().map(OsString::as_os_str);
    for word in words.into_iter().chain(arguments) {
        let bytes = word.as_encoded_bytes();
        digest.update(bytes.len().to_le_bytes());
        digest.update(bytes);
    }
    Ok(URL_SAFE_NO_PAD.encode(digest.finalize()))
}

fn now() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(0, |since_epoch| since_epoch.as_secs())
}

/// Reads the file. An absent or unusable file has no entries.
fn read(path: &Path) -> LegacyRecord {
    match read_bytes(path) {
        Ok(Some(bytes)) => LegacyRecord::parse(&bytes),
        Ok(None) | Err(_) => LegacyRecord::new(),
    }
}

/// Returns the bytes of the file, or `None` if it is too long or not a regular file.
fn read_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
}

/// Replaces the file.
fn write(path: &Path, record: &LegacyRecord) -> io::Result<()> {
    let bytes = serde_json::to_vec(record)?;
    let mut directories = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut directories, 0o700);
    if let Some(directory) = path.parent() {
        directories.recursive(true).create(directory)?;
    }
    private_file::replace(path, &bytes, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_depends_on_program_arguments_and_directory() {
        let child = |words: &[&str], directory: Option<&str>| {
            let mut child = ChildProcess::new(words[0]);
            child.arguments = words[1..].iter().map(Into::into).collect();
            child.directory = directory.map(Into::into);
            digest(&child).unwrap()
        };
        let this = child(&["server", "--stdio"], None);
        assert_eq!(this, child(&["server", "--stdio"], None));
        assert_eq!(this, child(&["server", "--stdio"], Some(".")));
        assert!(!this.contains("stdio"), "{this}");
        for other in [
            child(&["server", "--st", "dio"], None),
            child(&["server--stdio"], None),
            child(&["server"], None),
            child(&["server", "--stdio"], Some("elsewhere")),
        ] {
            assert_ne!(this, other);
        }
    }

    /// A command with its file in a directory of its own, which is removed at the end.
    struct Fixture {
        directory: PathBuf,
        file: PathBuf,
    }

    impl Fixture {
        fn new(name: &str) -> Self {
            let id = std::process::id();
            let directory = std::env::temp_dir().join(format!("toolwire-{name}-{id}"));
            let file = directory.join("cache").join(FILE);
            Self { directory, file }
        }

        fn command(&self) -> RecordedCommand {
            let place = (self.file.clone(), "digest".to_owned());
            RecordedCommand {
                is_recorded: read(&self.file).contains("digest", now()),
                place: Some(place),
            }
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }

    #[test]
    fn recorded_command_has_an_era_until_it_is_removed() {
        let fixture = Fixture::new("recorded");
        assert_eq!(fixture.command().era(), None);
        fixture.command().remove();
        assert!(!fixture.directory.exists(), "nothing to remove");
        fixture.command().insert();
        let newest = DetectedEra::Legacy {
            version: ProtocolVersion::V2025_11_25,
            transport: LegacyTransport::Direct,
        };
        assert_eq!(fixture.command().era(), Some(newest));
        fixture.command().remove();
        assert_eq!(fixture.command().era(), None);
        let files = fs::read_dir(fixture.file.parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1, "no temporary file is left");
    }

    #[test]
    fn damaged_or_long_file_is_replaced() {
        let fixture = Fixture::new("damaged");
        fixture.command().insert();
        let valid = fs::read(&fixture.file).unwrap();
        let long = [&valid[..], &vec![b' '; MAX_BYTES as usize]].concat();
        for content in [&b"{"[..], &long] {
            fs::write(&fixture.file, content).unwrap();
            assert_eq!(fixture.command().era(), None);
            fixture.command().insert();
            assert!(fixture.command().era().is_some());
        }
    }

    #[test]
    fn file_that_cannot_be_written_is_no_failure() {
        let fixture = Fixture::new("unwritable");
        fs::create_dir_all(&fixture.file).unwrap();
        fixture.command().insert();
        assert_eq!(fixture.command().era(), None);
        let files = fs::read_dir(fixture.file.parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1, "no temporary file is left");

        let below_a_file = Fixture::new("below-a-file");
        fs::create_dir_all(&below_a_file.directory).unwrap();
        fs::write(below_a_file.directory.join("cache"), "").unwrap();
        below_a_file.command().insert();
        assert_eq!(below_a_file.command().era(), None);
        let nowhere = RecordedCommand {
            place: None,
            is_recorded: false,
        };
        nowhere.insert();
        assert_eq!(nowhere.era(), None);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_the_file() {
        use std::os::unix::fs::PermissionsExt as _;

        let fixture = Fixture::new("private");
        fixture.command().insert();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&fixture.file), 0o600);
        assert_eq!(mode(fixture.file.parent().unwrap()), 0o700);
    }
}
