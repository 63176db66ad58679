//! A loaded skill, and the verified reading of its files.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use toolwire_proto::skills::{
    MAX_FILES, MAX_SKILL_BYTES, SKILL_FILE, SkillUri, check_entry, file_uri, instructions,
    verify_file, verify_front_matter,
};
use toolwire_types::skills::{SkillEntry, SkillResources};
use toolwire_types::{ReadResourceResult, ResourceContents};

use crate::client::Client;
use crate::client::cache::CacheMode;
use crate::error::Error;

/// What to do about a file that differs from its entry.
const REMEDY: &str =
    "request its entry again with skills/get; if it has changed, earlier approvals are void";

/// A skill whose `SKILL.md` was read and verified. Create it with [`Client::load_skill`].
///
/// It reads further files on demand, from the server that the skill came from. Only files that the entry lists exist.
#[derive(Clone)]
pub struct LoadedSkill {
    client: Client,
    entry: SkillEntry,
    /// The text of the `SKILL.md`.
    text: String,
}

impl LoadedSkill {
    /// Reads and verifies the `SKILL.md` of a skill.
    pub(super) async fn load(client: &Client, entry: &SkillEntry) -> Result<Self, Error> {
        check(entry)?;
        let mut skill = Self {
            client: client.clone(),
            entry: entry.clone(),
            text: String::new(),
        };
        let bytes = skill.read_uri(&entry.uri).await?;
        skill.text = String::from_utf8(bytes).map_err(|_| {
            let what = format!("its {SKILL_FILE} is not UTF-8");
            skill.mismatch(&what, "report it to the author of the server")
        })?;
        Ok(skill)
    }

    /// Returns the entry that the files are verified against.
    #[must_use]
    pub fn entry(&self) -> &SkillEntry {
        &self.entry
    }

    /// Returns the instructions: the text of the `SKILL.md` after its front matter.
    #[must_use]
    pub fn instructions(&self) -> &str {
        instructions(&self.text)
    }

    /// Reads a file of the skill and verifies its size and its digest.
    ///
    /// The path is relative to the directory of the skill, such as `references/CHECKLIST.md`. It may be in the form of the
    /// URI, with percent-encoding. Nothing is sent for a path that the entry does not list. The files of a dynamic skill
    /// cannot be verified.
    ///
    /// # Errors
    /// Returns [`Error::is_skill_mismatch`] if the entry does not list the file, or if the file differs from the entry.
    /// Returns an error if the request fails.
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        let uri = self.uri_of(path)?;
        self.read_uri(&uri).await
    }

    /// Reads a file like [`read`](Self::read), and returns its text.
    ///
    /// # Errors
    /// Returns the same errors as [`read`](Self::read), and an error if the file is not UTF-8.
    pub async fn read_text(&self, path: &str) -> Result<String, Error> {
        let bytes = self.read(path).await?;
        String::from_utf8(bytes).map_err(|_| {
            let message = format!("the file {path:?} is not UTF-8; read it with LoadedSkill::read");
            Error::invalid_request(message)
        })
    }

    /// Returns the URI of a file with a relative path.
    fn uri_of(&self, path: &str) -> Result<String, Error> {
        let skill = SkillUri::parse(&self.entry.uri);
        let skill = skill.expect("the entry was checked when the skill was loaded");
        let path = path.strip_prefix("./").unwrap_or(path);
        let unchanged = format!("{}/{path}", skill.root());
        let unchanged = skill.path_of(&unchanged).is_some().then_some(unchanged);
        let is_dynamic = self.entry.resources == SkillResources::Dynamic;
        // Without a list of files, encoded dots must not be encoded again and sent.
        let may_encode = !is_dynamic || !path.contains('%');
        let encoded = may_encode.then(|| file_uri(skill.root(), path).ok());
        let exists = |uri: &String| is_dynamic || self.entry.resources.find(uri).is_some();
        let forms = [unchanged, encoded.flatten()];
        let uri = forms.into_iter().flatten().find(exists);
        uri.ok_or_else(|| {
            let what = format!("its entry does not list the file {path:?}");
            self.mismatch(&what, REMEDY)
        })
    }

    /// Reads the file with this URI and verifies it.
    async fn read_uri(&self, uri: &str) -> Result<Vec<u8>, Error> {
        // An outdated file in the cache would look like a changed one.
        let reading = self.client.read_resource(uri).with_cache(CacheMode::Bypass);
        let bytes = match bytes_of(uri, reading.await?) {
            Ok(bytes) => bytes,
            Err(what) => return Err(self.mismatch(&what, "report it to the author of the server")),
        };
        let mut verified = verify_file(&self.entry, uri, &bytes);
        if verified.is_ok() && uri == self.entry.uri {
            verified = verify_front_matter(&self.entry, &bytes);
        }
        match verified {
            Ok(()) => Ok(bytes),
            Err(difference) => Err(self.mismatch(&difference.to_string(), REMEDY)),
        }
    }

    fn mismatch(&self, what: &str, remedy: &str) -> Error {
        mismatch(&self.entry.uri, what, remedy)
    }
}

impl fmt::Debug for LoadedSkill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedSkill")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// Checks an entry before a file is read: the rules of entries, and the limits of this client.
fn check(entry: &SkillEntry) -> Result<(), Error> {
    let invalid = |what: String| {
        let what = format!("its entry is invalid: {what}");
        mismatch(&entry.uri, &what, "report it to the author of the server")
    };
    check_entry(entry).map_err(|error| invalid(error.to_string()))?;
    let files = entry.resources.listed().unwrap_or_default();
    let bytes = files
        .iter()
        .fold(0, |sum: u64, file| sum.saturating_add(file.size));
    if files.len() > MAX_FILES || bytes > MAX_SKILL_BYTES {
        return Err(Error::limit(format!(
            "the skill {:?} has {} files with {bytes} bytes; the limits are {MAX_FILES} files and {MAX_SKILL_BYTES} bytes",
            entry.uri,
            files.len()
        )));
    }
    Ok(())
}

fn mismatch(uri: &str, what: &str, remedy: &str) -> Error {
    Error::skill_mismatch(format!("the skill {uri:?} is not used: {what}; {remedy}"))
}

/// Returns the bytes of the only contents in the result of `resources/read`.
fn bytes_of(uri: &str, result: ReadResourceResult) -> Result<Vec<u8>, String> {
    let count = result.contents.len();
    let mut contents = result.contents.into_iter();
    let (Some(contents), None) = (contents.next(), contents.next()) else {
        return Err(format!(
            "the file {uri:?} has {count} contents instead of one"
        ));
    };
    let (read, bytes) = match contents {
        ResourceContents::Text(contents) => (contents.uri, Ok(contents.text.into_bytes())),
        ResourceContents::Blob(contents) => (contents.uri, STANDARD.decode(contents.blob)),
        _ => return Err(format!("the file {uri:?} has neither text nor bytes")),
    };
    if read != uri {
        return Err(format!(
            "the server returned {read:?} instead of the file {uri:?}"
        ));
    }
    bytes.map_err(|error| format!("the file {uri:?} is not valid base64: {error}"))
}
