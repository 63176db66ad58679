//! Skills: the extension `io.modelcontextprotocol/skills`, since 2025-11-25.
//!
//! A skill is a directory with a `SKILL.md` and further files. A server lists its skills as entries, and clients read the
//! files as resources. `toolwire-proto` checks entries and the files that were read.

mod entry;
mod methods;

use serde::{Deserialize, Serialize};

pub use entry::{JsonObject, SkillEntry, SkillResource, SkillResources};
pub use methods::{
    GetSkillParams, GetSkillResult, ListSkillsParams, ListSkillsResult, ReadDirectoryParams,
    ReadDirectoryResult,
};

use crate::result::Extra;
use crate::setters::setters;

/// The id with which a server declares the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/skills";

/// The MIME type of a directory in the result of `resources/directory/read`.
pub const DIRECTORY_MIME_TYPE: &str = "inode/directory";

/// The settings of a server for the extension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SkillsSettings {
    /// Whether the server has the method `resources/directory/read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_read: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SkillsSettings {
    /// Creates settings without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares the method `resources/directory/read`.
        with_directory_read(directory_read = true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn settings_round_trip() {
        check::<SkillsSettings>(json!({}));
        check::<SkillsSettings>(json!({"directoryRead": false, "later": 1}));
        let declared = SkillsSettings::new().with_directory_read();
        assert_eq!(
            serde_json::to_value(declared).unwrap(),
            json!({"directoryRead": true})
        );
    }
}
