//! The catalog: every skill of a server with the URIs, the entries and the bytes of its files.
//!
//! A catalog never changes. A reload builds the next one, and requests that are in flight continue with theirs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use toolwire_proto::skills::{SKILL_FILE, SkillUri, file_uri, skill_uri};
use toolwire_proto::subscriptions::Change;
use toolwire_types::Resource;
use toolwire_types::skills::{DIRECTORY_MIME_TYPE, SkillEntry, SkillResource, SkillResources};

use crate::server::registry::{NameMap, RegistrationError};
use crate::server::resource::{ResourceData, ResourceEntry, ResourceHandler, ResourceResponse};
use crate::server::skills::content::{SkillContent, SkillFile};
use crate::server::skills::mime_type::mime_type;
use crate::server::skills::source::SkillSource;

/// The skills of a server. The keys of all maps are URIs.
#[derive(Debug, Default)]
pub(crate) struct SkillCatalog {
    pub(crate) sources: Vec<SkillSource>,
    /// The skills, by the URI of their `SKILL.md`.
    pub(crate) skills: NameMap<ServedSkill>,
    /// All other files.
    pub(crate) files: NameMap<ServedFile>,
    /// The files and directories in each directory.
    pub(crate) directories: HashMap<String, Vec<Resource>>,
}

#[derive(Debug)]
pub(crate) struct ServedSkill {
    pub(crate) entry: SkillEntry,
    pub(crate) resource: Arc<ResourceEntry>,
}

#[derive(Debug)]
pub(crate) struct ServedFile {
    digest: String,
    pub(crate) resource: Arc<ResourceEntry>,
}

impl SkillCatalog {
    /// Builds the catalog of these sources.
    pub(super) fn build(sources: Vec<SkillSource>) -> Result<Self, RegistrationError> {
        let mut catalog = Self::default();
        let mut names = HashSet::new();
        for source in &sources {
            for skill in source.contents.iter() {
                catalog.add_skill(&source.prefix, skill)?;
                let name = skill.path.rsplit('/').next().unwrap_or(&skill.path);
                if !names.insert(name) {
                    tracing::warn!(
                        name,
                        "two skills have the same name; clients may confuse them"
                    );
                }
            }
        }
        // A `SKILL.md` in another skill is a file of that skill as well, so files come after all skills.
        for source in &sources {
            for skill in source.contents.iter() {
                catalog.add_files(&source.prefix, skill)?;
            }
        }
        for children in catalog.directories.values_mut() {
            children.sort_by(|left, right| left.uri.cmp(&right.uri));
            children.dedup_by(|left, right| left.uri == right.uri);
        }
        catalog.sources = sources;
        Ok(catalog)
    }

    fn add_skill(&mut self, prefix: &str, skill: &SkillContent) -> Result<(), RegistrationError> {
        let uri = uri_of(prefix, skill)?;
        if self.skills.contains_key(&uri) {
            return Err(RegistrationError::duplicate("skill", &uri));
        }
        let root = root_of(&uri);
        let resources = match skill.body {
            Some(_) => SkillResources::Dynamic,
            None => {
                let files = skill.files.iter().map(|file| {
                    let uri = path_uri(root, &file.path)?;
                    let size = file.bytes.len() as u64;
                    Ok(SkillResource::new(uri, file.digest(), size))
                });
                files.collect::<Result<Vec<_>, RegistrationError>>()?.into()
            }
        };
        let entry = SkillEntry::new(&uri, skill.front_matter.clone(), resources);
        let resource = skill_resource(&entry, skill)?;
        self.skills.insert(uri, ServedSkill { entry, resource });
        Ok(())
    }

    fn add_files(&mut self, prefix: &str, skill: &SkillContent) -> Result<(), RegistrationError> {
        let skill_uri = uri_of(prefix, skill)?;
        let root = root_of(&skill_uri);
        self.directories.entry(root.to_owned()).or_default();
        for path in &skill.directories {
            let uri = path_uri(root, path)?;
            self.directories.entry(uri.clone()).or_default();
            let directory = Resource::new(&uri, last_segment(path));
            self.add_child(&uri, directory.with_mime_type(DIRECTORY_MIME_TYPE));
        }
        if skill.body.is_some() {
            let descriptor = self.skills[&skill_uri].resource.descriptor.clone();
            self.add_child(&skill_uri, descriptor);
        }
        for file in &skill.files {
            let uri = path_uri(root, &file.path)?;
            let descriptor = match self.skills.get(&uri) {
                Some(nested) => {
                    check_equal(&uri, nested.entry.resources.find(&uri), file)?;
                    nested.resource.descriptor.clone()
                }
                None => self.add_file(&uri, file)?,
            };
            self.add_child(&uri, descriptor);
        }
        Ok(())
    }

    /// Adds a file other than the `SKILL.md` of a skill, and returns its descriptor.
    fn add_file(&mut self, uri: &str, file: &SkillFile) -> Result<Resource, RegistrationError> {
        if let Some(known) = self.files.get(uri) {
            if known.digest != file.digest() {
                return Err(RegistrationError::duplicate("file of a skill", uri));
            }
            return Ok(known.resource.descriptor.clone());
        }
        let resource = file_resource(uri, last_segment(&file.path), file);
        let resource = Arc::new(resource.prepare()?);
        let descriptor = resource.descriptor.clone();
        let digest = file.digest().to_owned();
        let served = ServedFile { digest, resource };
        self.files.insert(uri.to_owned(), served);
        Ok(descriptor)
    }

    fn add_child(&mut self, uri: &str, descriptor: Resource) {
        if let Some((parent, _)) = uri.rsplit_once('/') {
            let children = self.directories.entry(parent.to_owned()).or_default();
            children.push(descriptor);
        }
    }

    /// Returns what changed for clients: the list of resources, and the contents of files.
    pub(super) fn changes_since(&self, before: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        let descriptors = |catalog: &Self| -> Vec<Resource> {
            let skills = catalog.skills.values();
            skills
                .map(|skill| skill.resource.descriptor.clone())
                .collect()
        };
        // Clients also learn by this notification that the list of skills changed.
        if descriptors(self) != descriptors(before) || before.sources.is_empty() {
            changes.push(Change::ResourcesListChanged);
        }
        let earlier: HashMap<&str, &str> = before.digests().collect();
        for (uri, digest) in self.digests() {
            if earlier.get(uri).is_some_and(|earlier| *earlier != digest) {
                changes.push(Change::ResourceUpdated(uri.to_owned()));
            }
        }
        changes
    }

    /// Returns the digests of all files that are not created when they are read.
    fn digests(&self) -> impl Iterator<Item = (&str, &str)> {
        let skills = self.skills.iter().filter_map(|(uri, skill)| {
            let listed = skill.entry.resources.find(uri)?;
            Some((uri.as_str(), listed.digest.as_str()))
        });
        let files = self.files.iter();
        skills.chain(files.map(|(uri, file)| (uri.as_str(), file.digest.as_str())))
    }
}

/// Rejects a file with the URI of another skill's `SKILL.md`, if it has other bytes.
fn check_equal(
    uri: &str,
    listed: Option<&SkillResource>,
    file: &SkillFile,
) -> Result<(), RegistrationError> {
    match listed {
        Some(listed) if listed.digest == file.digest() => Ok(()),
        _ => Err(RegistrationError::duplicate("file of a skill", uri)),
    }
}

fn uri_of(prefix: &str, skill: &SkillContent) -> Result<String, RegistrationError> {
    let uri = skill_uri(prefix, &skill.path);
    uri.map_err(|error| RegistrationError::new(format!("skill `{}`: {error}", skill.path)))
}

fn root_of(uri: &str) -> &str {
    SkillUri::parse(uri).map_or(uri, SkillUri::root)
}

fn path_uri(root: &str, path: &str) -> Result<String, RegistrationError> {
    let uri = file_uri(root, path);
    uri.map_err(|error| RegistrationError::new(format!("skill `{root}`: {error}")))
}

fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the resource of a `SKILL.md`. Its name and description are those of the skill.
fn skill_resource(
    entry: &SkillEntry,
    skill: &SkillContent,
) -> Result<Arc<ResourceEntry>, RegistrationError> {
    let name = entry.name().unwrap_or_default();
    let resource = match (&skill.body, skill.files.first()) {
        (Some(body), _) => {
            let body = body.clone();
            ResourceHandler::new(&entry.uri, name, move |ctx, _| body.create(ctx))
                .with_mime_type(mime_type(SKILL_FILE, true))
        }
        (None, Some(file)) => file_resource(&entry.uri, name, file),
        (None, None) => {
            let message = format!("skill `{}` has no files", skill.path);
            return Err(RegistrationError::new(message));
        }
    };
    let description = entry.description().unwrap_or_default();
    Ok(Arc::new(resource.with_description(description).prepare()?))
}

/// Returns the resource of a file. Text is sent as it is, other bytes as base64.
fn file_resource(uri: &str, name: &str, file: &SkillFile) -> ResourceHandler {
    let bytes = file.bytes.clone();
    let is_text = std::str::from_utf8(&bytes).is_ok();
    let (size, mime_type) = (bytes.len() as u64, mime_type(&file.path, is_text));
    let read = move |_, _| {
        let data = match std::str::from_utf8(&bytes) {
            Ok(text) => ResourceData::Text(text.to_owned()),
            Err(_) => ResourceData::Bytes(bytes.to_vec()),
        };
        std::future::ready(ResourceResponse::Contents(data))
    };
    ResourceHandler::new(uri, name, read)
        .with_mime_type(mime_type)
        .with_size(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::skills::Skills;
    use crate::server::skills::skill::Skill;

    fn catalog(skills: impl IntoIterator<Item = Skill>) -> Result<SkillCatalog, String> {
        let skills: Vec<Skill> = skills.into_iter().collect();
        let sources = Skills::from(skills).into_sources();
        let built = sources.and_then(SkillCatalog::build);
        built.map_err(|error| error.to_string())
    }

    fn skill(name: &str) -> Skill {
        Skill::new(name, "d", "body")
    }

    #[test]
    fn files_and_directories_have_uris() {
        let outer = skill("a")
            .with_file("x/y/ü z.md", "1")
            .with_file("b", [0xff]);
        let catalog = catalog([outer.under("team")]).expect("valid");
        let keys = |map: &NameMap<ServedFile>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            catalog.skills.keys().collect::<Vec<_>>(),
            ["skill://team/a/SKILL.md"]
        );
        assert_eq!(
            keys(&catalog.files),
            ["skill://team/a/b", "skill://team/a/x/y/%C3%BC%20z.md"]
        );
        let children = |uri: &str| -> Option<Vec<(String, String)>> {
            let children = catalog.directories.get(uri)?.iter();
            let child = |child: &Resource| {
                let mime_type = child.mime_type.clone().unwrap_or_default();
                (child.name.clone(), mime_type)
            };
            Some(children.map(child).collect())
        };
        let pairs = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let owned = |(name, kind): &(&str, &str)| ((*name).to_owned(), (*kind).to_owned());
            Some(pairs.map(owned).collect::<Vec<_>>())
        };
        assert_eq!(
            children("skill://team/a"),
            pairs(&[
                ("a", "text/markdown"),
                ("b", "application/octet-stream"),
                ("x", "inode/directory")
            ])
        );
        assert_eq!(
            children("skill://team/a/x"),
            pairs(&[("y", "inode/directory")])
        );
        assert_eq!(
            children("skill://team/a/x/y"),
            pairs(&[("ü z.md", "text/markdown")])
        );
        assert_eq!(children("skill://team"), None);
    }

    #[test]
    fn duplicate_uris_are_rejected() {
        let check = |skills: Vec<Skill>, expected: &str| {
            let error = catalog(skills).expect_err("duplicate");
            assert!(error.contains(expected), "{error}");
        };
        check(
            vec![skill("a"), skill("a")],
            "skill `skill://a/SKILL.md` is registered twice",
        );
        let outer = || skill("a").with_file("b/SKILL.md", "other");
        check(
            vec![outer(), skill("b").under("a")],
            "file of a skill `skill://a/b/SKILL.md` is registered twice",
        );
        assert!(catalog([skill("a"), skill("a").under("b")]).is_ok());
        check(vec![skill("a").under("..")], "skill `a`: the path");
    }

    #[test]
    fn changes_are_found_by_descriptors_and_digests() {
        let check = |before: &[Skill], after: &[Skill], expected: &[&str]| {
            let [before, after] =
                [before, after].map(|skills| catalog(skills.iter().cloned()).expect("valid"));
            let changes = after.changes_since(&before).into_iter();
            let changes = changes.map(|change| match change {
                Change::ResourceUpdated(uri) => uri,
                other => format!("{other:?}"),
            });
            assert_eq!(changes.collect::<Vec<_>>(), expected);
        };
        let a = || skill("a").with_file("b", "1");
        check(&[], &[a()], &["ResourcesListChanged"]);
        check(&[a()], &[a()], &[]);
        check(&[a()], &[a(), skill("c")], &["ResourcesListChanged"]);
        check(&[a(), skill("c")], &[a()], &["ResourcesListChanged"]);
        check(&[a()], &[skill("a").with_file("b", "2")], &["skill://a/b"]);
        check(&[a()], &[skill("a").with_file("c", "2")], &[]);
        check(
            &[a()],
            &[Skill::new("a", "d", "Body").with_file("b", "1")],
            &["skill://a/SKILL.md"],
        );
        check(
            &[a()],
            &[Skill::new("a", "e", "body").with_file("b", "1")],
            &["ResourcesListChanged", "skill://a/SKILL.md"],
        );
    }
}
