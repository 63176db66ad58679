//! The methods of a client for skills.

use serde::Serialize;
use serde_json::json;
use toolwire_types::skills::{
    EXTENSION_ID, GetSkillParams, GetSkillResult, ListSkillsResult, ReadDirectoryParams,
    ReadDirectoryResult, SkillEntry, SkillsSettings,
};
use toolwire_types::{RawJson, Resource};

use crate::client::Client;
use crate::client::arguments::serialize_error;
use crate::client::call::Call;
use crate::client::list::ListCall;
use crate::client::skills::LoadedSkill;
use crate::error::Error;

impl Client {
    /// Lists the skills of the server. Their files are not read.
    ///
    /// The entries are as the server sent them; [`load_skill`](Self::load_skill) checks them. Two servers, and also one
    /// server, may have skills with the same name: a skill is identified by its server and its URI.
    ///
    /// ```
    /// # async fn example(client: toolwire::Client) -> Result<(), toolwire::Error> {
    /// let skills = client.list_skills().await?;
    /// for entry in &skills {
    ///     println!("{}: {}", entry.uri, entry.description().unwrap_or_default());
    /// }
    /// let skill = client.load_skill(&skills[0]).await?;
    /// println!("{}", skill.instructions());
    /// let checklist = skill.read_text("references/CHECKLIST.md").await?;
    /// # drop(checklist);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The list fails if the server does not declare the extension `io.modelcontextprotocol/skills`. Nothing is sent then.
    pub fn list_skills(&self) -> ListCall<ListSkillsResult, SkillEntry> {
        ListCall::new(self, Self::list_skills_page, |page| {
            (page.skills, page.next_cursor)
        })
    }

    /// Lists one page of skills. `None` requests the first page.
    pub fn list_skills_page(&self, cursor: Option<String>) -> Call<ListSkillsResult> {
        let params = cursor.map(|cursor| RawJson::from(json!({ "cursor": cursor })));
        self.decoded_call("skills/list", self.skills_settings().map(|_| params))
    }

    /// Gets the entry of the skill with this URI, also of a skill that the server does not list. No file is read.
    ///
    /// The entry is never cached: request it after a file differed from the entry of the list.
    pub fn skill(&self, uri: impl Into<String>) -> Call<SkillEntry> {
        let uri = uri.into();
        let params = self.skills_params(&GetSkillParams::new(uri.as_str()));
        Call::new(self, "skills/get", params, move |_, result| {
            let result: GetSkillResult = result
                .parse()
                .map_err(|error| Error::decode("result of skills/get", error))?;
            if result.skill.uri == uri {
                Ok(result.skill)
            } else {
                Err(Error::skill_mismatch(format!(
                    "the server returned the skill {:?} instead of {uri:?}; report it to the author of the server",
                    result.skill.uri
                )))
            }
        })
    }

    /// Loads a skill: reads its `SKILL.md`, and verifies its size, its digest and its front matter.
    ///
    /// Digests prove that a skill is the one that was listed. They do not prove that it can be trusted: ask the user
    /// before its instructions are used, and before the first tool or program runs because of them.
    ///
    /// # Errors
    /// Returns [`Error::is_skill_mismatch`] if the entry is invalid, or if the file differs from it. The error says what
    /// differs. Returns an error if the server does not declare the extension, or if the request fails.
    pub async fn load_skill(&self, entry: &SkillEntry) -> Result<LoadedSkill, Error> {
        self.skills_settings()?;
        LoadedSkill::load(self, entry).await
    }

    /// Lists the files and directories in a directory of the server, such as the root directory of a skill.
    ///
    /// A listed file is not a part of a skill unless the skill's entry lists it, too.
    ///
    /// # Errors
    /// The list fails if the server does not declare `directoryRead` in the settings of the skills extension. Nothing is
    /// sent then.
    pub fn read_directory(
        &self,
        uri: impl Into<String>,
    ) -> ListCall<ReadDirectoryResult, Resource> {
        let uri = uri.into();
        let page = move |client: &Self, cursor| {
            let mut params = ReadDirectoryParams::new(uri.as_str());
            params.cursor = cursor;
            let settings = client.skills_settings();
            let declared = settings.and_then(|settings| match settings.directory_read {
                Some(true) => Ok(()),
                _ => Err(Error::invalid_request(
                    "the server does not declare `directoryRead`, so its directories cannot be read; use the files in the entries of its skills",
                )),
            });
            let params = declared.and_then(|()| client.skills_params(&params));
            client.decoded_call("resources/directory/read", params)
        };
        ListCall::new(self, page, |page: ReadDirectoryResult| {
            (page.resources, page.next_cursor)
        })
    }

    /// Returns the parameters of a request about skills.
    fn skills_params(&self, params: &impl Serialize) -> Result<Option<RawJson>, Error> {
        self.skills_settings()?;
        let params = RawJson::from_serialize(params);
        let params = params.map_err(|error| serialize_error("the parameters", error))?;
        Ok(Some(params))
    }

    /// Returns the settings with which the server declared the extension.
    ///
    /// # Errors
    /// Returns an error if the server did not declare it. A client must not send the methods of the extension then.
    fn skills_settings(&self) -> Result<SkillsSettings, Error> {
        let Some(server) = self.server() else {
            return Err(Error::invalid_request(
                "the extensions of the server are not known; connect without ClientBuilder::with_detected_era to use skills",
            ));
        };
        let settings = server.capabilities.extension(EXTENSION_ID);
        match settings.filter(|settings| !settings.is_null()) {
            // Settings that are not valid declare nothing more than the extension.
            Some(settings) => Ok(settings.parse().unwrap_or_default()),
            None => Err(Error::invalid_request(format!(
                "the server does not declare the extension {EXTENSION_ID}, so it has no skills"
            ))),
        }
    }
}
