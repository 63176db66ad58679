//! Which skills, files and directories a caller sees.
//!
//! A visibility rule gets the URI of each file. A file is also hidden if the `SKILL.md` of its skill is hidden, and a
//! directory if everything in it is.

use toolwire_types::Resource;

use crate::server::skills::SkillCatalog;
use crate::server::visibility::Viewer;

impl SkillCatalog {
    /// Returns `true` if the caller sees the file or the `SKILL.md` at a URI.
    pub(crate) fn sees_file(&self, uri: &str, viewer: &Viewer<'_>) -> bool {
        if !viewer.is_filtered() {
            return true;
        }
        let is_above = |skill: &&String| {
            let directory = skill.strip_suffix("SKILL.md");
            directory.is_some_and(|directory| uri.starts_with(directory))
        };
        viewer.sees(uri, None)
            && self
                .skills
                .keys()
                .filter(is_above)
                .all(|skill| viewer.sees(skill, None))
    }

    /// Returns what the caller sees in a directory. Returns `None` if there is no such directory for it.
    pub(super) fn visible_children(
        &self,
        directory: &str,
        viewer: &Viewer<'_>,
    ) -> Option<Vec<&Resource>> {
        let children = self.directories.get(directory)?;
        if !viewer.is_filtered() {
            return Some(children.iter().collect());
        }
        let is_visible = |child: &&Resource| {
            if self.directories.contains_key(&child.uri) {
                self.visible_children(&child.uri, viewer).is_some()
            } else {
                self.sees_file(&child.uri, viewer)
            }
        };
        let children: Vec<&Resource> = children.iter().filter(is_visible).collect();
        (!children.is_empty()).then_some(children)
    }
}
