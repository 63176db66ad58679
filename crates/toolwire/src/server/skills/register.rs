//! Registration of skills, before and while the server runs.

use std::sync::Arc;

use toolwire_proto::extensions;
use toolwire_proto::subscriptions::Change;
use toolwire_types::skills::{EXTENSION_ID, SkillsSettings};
use toolwire_types::{RawJson, ResourcesCapability, ServerCapabilities};

use crate::server::Server;
use crate::server::extension_entry::ExtensionEntry;
use crate::server::optional_methods::{COMPLETION, RESOURCES};
use crate::server::register::unwrap_or_panic;
use crate::server::registry::RegistrationError;
use crate::server::skills::catalog::SkillCatalog;
use crate::server::skills::content::SkillContent;
use crate::server::skills::directory::SkillDirectory;
use crate::server::skills::source::{SkillSource, Skills};
use crate::server::skills::{methods, rescan};
use crate::server::snapshot::Snapshot;

impl Server {
    /// Serves skills: a [`Skill`](crate::skills::Skill), a [`SkillDirectory`], or files in the binary (`toolwire::skills::embedded!`).
    ///
    /// Clients read the files as resources, and each `SKILL.md` is in the list of resources. The guide page
    /// [`skills`](crate::guide::skills) describes them.
    ///
    /// ```
    /// use toolwire::Server;
    /// use toolwire::skills::Skill;
    ///
    /// let rules = Skill::new("git-workflow", "Our branching rules", "# Branches\nStart from `main`.")
    ///     .with_file("references/names.md", "# Names of branches");
    /// let server = Server::new("docs", "1.0.0").skills(rules);
    /// ```
    ///
    /// # Panics
    /// Panics if a skill is invalid, or if one of its URIs is registered already.
    #[must_use]
    #[track_caller]
    pub fn skills(self, skills: impl Into<Skills>) -> Self {
        unwrap_or_panic(self.add_skills(skills));
        self
    }

    /// Adds skills to a running server and notifies clients.
    ///
    /// # Errors
    /// Returns an error if a skill is invalid, or if one of its URIs is registered already.
    pub fn add_skills(&self, skills: impl Into<Skills>) -> Result<(), RegistrationError> {
        self.register_skills(skills.into())
    }

    fn register_skills(&self, skills: Skills) -> Result<(), RegistrationError> {
        let added = skills.into_sources()?;
        let contents = added.iter().flat_map(|source| source.contents.iter());
        contents.for_each(SkillContent::compute_digests);
        let directories: Vec<SkillDirectory> = added
            .iter()
            .filter_map(|source| source.directory.clone())
            .collect();
        self.change_skills(|sources| sources.extend(added))?;
        for directory in directories {
            directory.serve_on(self);
            rescan::start(&directory, self);
        }
        Ok(())
    }

    /// Serves what a directory contains now, in place of what it contained before.
    pub(super) fn replace_skills(
        &self,
        directory: &SkillDirectory,
    ) -> Result<(), RegistrationError> {
        self.change_skills(|sources| {
            for source in sources {
                if source.directory.as_ref() == Some(directory) {
                    source.contents = directory.contents();
                }
            }
        })
    }

    /// Changes the sources of skills, and notifies clients of the difference.
    fn change_skills(
        &self,
        change: impl FnOnce(&mut Vec<SkillSource>),
    ) -> Result<(), RegistrationError> {
        let changes = self.change(|snapshot| snapshot.change_skills(change))?;
        for change in &changes {
            self.publish(change);
        }
        Ok(())
    }
}

impl Snapshot {
    /// Replaces the catalog. Returns what changed for clients. After an error, nothing is changed.
    fn change_skills(
        &mut self,
        change: impl FnOnce(&mut Vec<SkillSource>),
    ) -> Result<Vec<Change>, RegistrationError> {
        if self.skills.is_none() && self.extensions.contains_key(EXTENSION_ID) {
            return Err(RegistrationError::duplicate("extension", EXTENSION_ID));
        }
        let before = self.skills.take().unwrap_or_default();
        let mut sources = before.sources.clone();
        change(&mut sources);
        let built = SkillCatalog::build(sources);
        let checked =
            built.and_then(|catalog| self.check_uris(&before, &catalog).map(|()| catalog));
        match checked {
            Ok(catalog) => {
                let changes = catalog.changes_since(&before);
                self.install_catalog(&before, catalog);
                Ok(changes)
            }
            Err(error) => {
                if !before.sources.is_empty() {
                    self.skills = Some(before);
                }
                Err(error)
            }
        }
    }

    /// Rejects a catalog with the URI of a resource that the author registered.
    fn check_uris(
        &self,
        before: &SkillCatalog,
        catalog: &SkillCatalog,
    ) -> Result<(), RegistrationError> {
        let mut uris = catalog.skills.keys().chain(catalog.files.keys());
        let taken =
            uris.find(|uri| self.resources.contains_key(*uri) && !before.skills.contains_key(*uri));
        match taken {
            Some(uri) => Err(RegistrationError::duplicate("resource", uri)),
            None => Ok(()),
        }
    }

    fn install_catalog(&mut self, before: &SkillCatalog, catalog: SkillCatalog) {
        self.install(&RESOURCES);
        self.install(&COMPLETION);
        self.install(&methods::SKILLS);
        // The resources capability belongs to the extension, even if there is no skill yet.
        self.emptied.resources = true;
        self.resources
            .retain(|uri, _| !before.skills.contains_key(uri) || catalog.skills.contains_key(uri));
        for (uri, skill) in &catalog.skills {
            self.resources
                .insert(uri.clone(), Arc::clone(&skill.resource));
        }
        self.extensions
            .entry(EXTENSION_ID.to_owned())
            .or_insert_with(declaration);
        self.skills = Some(Arc::new(catalog));
    }
}

fn declaration() -> Arc<ExtensionEntry> {
    let settings = SkillsSettings::new().with_directory_read();
    Arc::new(ExtensionEntry {
        id: EXTENSION_ID.to_owned(),
        settings: RawJson::from_serialize(&settings).expect("the settings are one member"),
        since: extensions::first_revision(EXTENSION_ID),
        requires_client: false,
        needs: vec![ServerCapabilities::new().with_resources(ResourcesCapability::new())],
    })
}
