//! `toolwire.lock`: the approved tools, prompts and instructions of the upstreams.
//!
//! The file is JSON with sorted names, so that version control can show its changes. It has the approved descriptors
//! themselves, because an approved entry stays listed while a changed one waits for an approval. A file that is not valid
//! is an error: it is never replaced by what an upstream offers now.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use toolwire::RawJson;
use toolwire_proto::relay::pins::{MAX_PINS, PinKind, digest, instructions_digest};

use crate::private_file;

/// The maximum size of a lock file in bytes.
pub const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;

/// The version of the format.
const FORMAT: u32 = 1;

/// The approved entries of all upstreams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LockFile {
    format: u32,
    /// The approved entries by the name of the upstream.
    pub upstreams: BTreeMap<String, UpstreamPins>,
}

/// The approved entries of one upstream.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct UpstreamPins {
    /// The approved instructions. `None` if the server had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<PinnedText>,
    /// The approved prompts by name.
    pub prompts: BTreeMap<String, PinnedEntry>,
    /// The approved tools by name.
    pub tools: BTreeMap<String, PinnedEntry>,
}

/// An approved text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PinnedText {
    /// The digest of the text.
    pub digest: String,
    /// The text.
    pub text: String,
}

/// An approved tool or prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PinnedEntry {
    /// The digest of the descriptor.
    pub digest: String,
    /// Whether the upstream has removed it since. If it comes back, it counts as changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The entry of the list.
    pub descriptor: RawJson,
}

impl PinnedText {
    /// Approves a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            digest: instructions_digest(&text),
            text,
        }
    }
}

impl PinnedEntry {
    /// Approves a descriptor. Returns `None` if it is not an object.
    #[must_use]
    pub fn new(kind: PinKind, descriptor: &RawJson) -> Option<Self> {
        Some(Self {
            digest: digest(kind, descriptor.as_raw_value())?,
            removed: false,
            descriptor: descriptor.clone(),
        })
    }
}

impl Default for LockFile {
    fn default() -> Self {
        Self {
            format: FORMAT,
            upstreams: BTreeMap::new(),
        }
    }
}

impl LockFile {
    /// Reads a file. Returns an empty one if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is larger than [`MAX_LOCK_BYTES`], or is invalid.
    pub fn read(path: &Path) -> Result<Self, LockFileError> {
        Self::read_existing(path).map(Option::unwrap_or_default)
    }

    /// Reads a file. Returns `None` if it does not exist.
    pub(crate) fn read_existing(path: &Path) -> Result<Option<Self>, LockFileError> {
        let failed = |problem: String| LockFileError::new(path, problem, RESTORE);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(format!("cannot be read: {error}"))),
        };
        let mut text = String::new();
        let read = file.take(MAX_LOCK_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| failed(format!("cannot be read: {error}")))?;
        Self::parse(&text).map(Some).map_err(failed)
    }

    /// Parses the text of a file.
    fn parse(text: &str) -> Result<Self, String> {
        if text.len() as u64 > MAX_LOCK_BYTES {
            return Err(format!("has more than {MAX_LOCK_BYTES} bytes"));
        }
        let file: Self =
            serde_json::from_str(text).map_err(|error| format!("is not valid: {error}"))?;
        if file.format != FORMAT {
            return Err(format!("has the format {}, and not {FORMAT}", file.format));
        }
        for (name, pins) in &file.upstreams {
            pins.check()
                .map_err(|problem| format!("is not valid: upstream `{name}`: {problem}"))?;
        }
        Ok(file)
    }

    /// Replaces a file at once. Only its owner can read it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, and if it would be larger than [`MAX_LOCK_BYTES`].
    pub fn write(&self, path: &Path) -> Result<(), LockFileError> {
        let text = self.to_text(MAX_LOCK_BYTES).map_err(|problem| {
            LockFileError::new(path, problem, "offer fewer entries with `tools.deny`")
        })?;
        let written = private_file::replace(path, text.as_bytes());
        written.map_err(|error| LockFileError::unwritable(path, &error))
    }

    /// Returns the text of the file, if it has at most `limit` bytes. A larger one could not be read back.
    fn to_text(&self, limit: u64) -> Result<String, String> {
        let written = serde_json::to_string_pretty(self);
        let mut text = written.map_err(|error| format!("cannot be written: {error}"))?;
        text.push('\n');
        if text.len() as u64 > limit {
            return Err(format!("would have more than {limit} bytes"));
        }
        Ok(text)
    }

    /// Checks that a file can be written, without changing it.
    ///
    /// # Errors
    /// Returns an error if its directory does not permit it.
    pub(crate) fn check_writable(path: &Path) -> Result<(), LockFileError> {
        let checked = private_file::check_replaceable(path);
        checked.map_err(|error| LockFileError::unwritable(path, &error))
    }
}

impl UpstreamPins {
    /// Returns `true` if nothing was approved yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instructions.is_none() && self.prompts.is_empty() && self.tools.is_empty()
    }

    /// Returns the approved entries of a kind.
    #[must_use]
    pub fn entries(&self, kind: PinKind) -> &BTreeMap<String, PinnedEntry> {
        match kind {
            PinKind::Prompt => &self.prompts,
            _ => &self.tools,
        }
    }

    pub(crate) fn entries_mut(&mut self, kind: PinKind) -> &mut BTreeMap<String, PinnedEntry> {
        match kind {
            PinKind::Prompt => &mut self.prompts,
            _ => &mut self.tools,
        }
    }

    /// Checks that the digests are those of the descriptors, and that there are not too many.
    fn check(&self) -> Result<(), String> {
        for kind in [PinKind::Tool, PinKind::Prompt] {
            let entries = self.entries(kind);
            if entries.len() > MAX_PINS {
                return Err(format!("more than {MAX_PINS} entries"));
            }
            for (name, entry) in entries {
                let actual = digest(kind, entry.descriptor.as_raw_value());
                if actual.as_ref() != Some(&entry.digest) {
                    return Err(format!(
                        "the digest of `{name}` is not that of its descriptor"
                    ));
                }
            }
        }
        match &self.instructions {
            Some(pinned) if pinned.digest != instructions_digest(&pinned.text) => {
                Err("the digest of the instructions is not that of their text".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// A lock file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFileError {
    path: String,
    problem: String,
    remedy: &'static str,
}

/// What to do about a file that cannot be used.
const RESTORE: &str = "restore it, or delete it before the gateway starts and approve all entries again with `toolwire pins`";

impl LockFileError {
    fn new(path: &Path, problem: impl Into<String>, remedy: &'static str) -> Self {
        Self {
            path: path.display().to_string(),
            problem: problem.into(),
            remedy,
        }
    }

    fn unwritable(path: &Path, error: &io::Error) -> Self {
        let remedy = "free space and permit the gateway to write to its directory; until then new upstreams are not approved";
        Self::new(path, format!("cannot be written: {error}"), remedy)
    }

    /// Returns the error of a file that disappeared while the gateway runs.
    pub(crate) fn missing(path: &Path) -> Self {
        let remedy = "restore it; until then the entries that were approved before stay approved";
        Self::new(path, "has been deleted", remedy)
    }

    /// Returns the error of a file that another process has changed in the meantime.
    pub(crate) fn changed(path: &Path) -> Self {
        let remedy = "the gateway reads it, and then continues";
        Self::new(path, "was changed by another process", remedy)
    }
}

impl fmt::Display for LockFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}; {}", self.path, self.problem, self.remedy)
    }
}

impl Error for LockFileError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn json(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).expect("the text is JSON")
    }

    fn example() -> LockFile {
        let mut file = LockFile::default();
        let mut pins = UpstreamPins {
            instructions: Some(PinnedText::new("Be kind.")),
            ..UpstreamPins::default()
        };
        for name in ["b", "a"] {
            let tool = json(&format!(r#"{{"name":"{name}","x":1.0}}"#));
            let pinned = PinnedEntry::new(PinKind::Tool, &tool).unwrap();
            pins.tools.insert(name.to_owned(), pinned);
        }
        file.upstreams.insert("files".to_owned(), pins);
        file
    }

    #[test]
    fn file_is_sorted_and_read_back() {
        let scratch = Scratch::new("lock-file");
        let path = scratch.path("toolwire.lock");
        assert_eq!(LockFile::read(&path), Ok(LockFile::default()));
        example().write(&path).unwrap();
        assert_eq!(LockFile::read(&path), Ok(example()));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.find("\"a\": {").unwrap() < text.find("\"b\": {").unwrap());
        assert!(text.contains("1.0"), "{text}");
    }

    #[test]
    fn file_that_could_not_be_read_back_is_not_written() {
        let length = example().to_text(u64::MAX).unwrap().len() as u64;
        assert!(example().to_text(length).is_ok());
        let problem = example().to_text(length - 1).unwrap_err();
        assert!(problem.contains("more than"), "{problem}");
        let scratch = Scratch::new("lock-file");
        let path = scratch.path("none/toolwire.lock");
        let error = example().write(&path).unwrap_err().to_string();
        assert!(error.contains("cannot be written"), "{error}");
        assert_eq!(
            LockFile::check_writable(&path).unwrap_err().to_string(),
            error
        );
        assert!(LockFile::check_writable(&scratch.path("toolwire.lock")).is_ok());
        assert_eq!(std::fs::read_dir(scratch.directory()).unwrap().count(), 0);
    }

    #[test]
    fn invalid_files_are_errors() {
        let text = serde_json::to_string(&example()).unwrap();
        assert!(LockFile::parse(&text).is_ok());
        let check = |text: &str, part: &str| {
            let problem = LockFile::parse(text).expect_err(text);
            assert!(problem.contains(part), "{problem}");
        };
        check("", "is not valid");
        check(&text[..text.len() - 1], "is not valid");
        check(&text.replace("\"format\":1", "\"format\":2"), "format 2");
        check(
            &text.replace("\"x\":1.0", "\"title\":\"T\""),
            "digest of `a`",
        );
        check(&text.replace("Be kind.", "Be rude."), "instructions");
        check(&text.replace("\"tools\"", "\"tulls\""), "tulls");
    }
}
