//! The hash that an approval of a skill is stored with.

use sha2::{Digest as _, Sha256};
use toolwire_types::skills::SkillEntry;

use crate::skills::digest::hexadecimal;

/// Returns a hash over the set of all files of a skill and their digests. The order of the files does not matter.
///
/// A stored approval is valid as long as the hash is equal. Returns `None` if the entry does not list its files: no
/// stored approval covers a dynamic skill.
#[must_use]
pub fn approval_hash(entry: &SkillEntry) -> Option<String> {
    let resources = entry.resources.listed()?.iter();
    let mut files: Vec<(&str, &str)> = resources
        .map(|resource| (resource.uri.as_str(), resource.digest.as_str()))
        .collect();
    files.sort_unstable();
    files.dedup();
    // JSON separates the texts unambiguously.
    let text = serde_json::to_vec(&(&entry.uri, files)).expect("texts can be serialized");
    Some(hexadecimal(&Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use toolwire_types::skills::{JsonObject, SkillResource, SkillResources};

    use super::*;

    fn hash(uri: &str, files: &[(&str, &str)]) -> Option<String> {
        let files = files.iter();
        let files = files.map(|(uri, digest)| SkillResource::new(*uri, *digest, 1));
        let files: Vec<_> = files.collect();
        approval_hash(&SkillEntry::new(uri, JsonObject::new(), files))
    }

    #[test]
    fn hash_depends_on_the_set_of_files_and_digests() {
        let original = hash("a", &[("a", "1"), ("b", "2")]);
        assert_eq!(hash("a", &[("b", "2"), ("a", "1")]), original);
        for other in [
            hash("a", &[("a", "1")]),
            hash("a", &[("a", "1"), ("b", "3")]),
            hash("a", &[("a", "1"), ("c", "2")]),
            hash("a", &[("a", "1"), ("b", "2"), ("c", "3")]),
            hash("a", &[("a", "1b"), ("", "2")]),
            hash("b", &[("a", "1"), ("b", "2")]),
        ] {
            assert!(other.is_some());
            assert_ne!(other, original);
        }
    }

    #[test]
    fn dynamic_skill_has_no_hash() {
        let entry = SkillEntry::new("a", JsonObject::new(), SkillResources::Dynamic);
        assert_eq!(approval_hash(&entry), None);
    }
}
