//! The faults that a scan reports.

use std::fmt;
use std::path::{Path, PathBuf};

/// A file or directory that makes a skill invalid, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFault {
    /// The path of the file or directory.
    pub path: PathBuf,
    /// The reason, as a sentence about the path or about its content.
    pub reason: String,
}

impl SkillFault {
    pub(super) fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for SkillFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}
