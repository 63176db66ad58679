//! Lists, shows and loads the skills of a server, and checks a directory of skills.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use toolwire::skills::{LoadedSkill, SkillDirectory, SkillEntry, SkillFault, approval_hash};
use toolwire::types::skills::EXTENSION_ID;
use toolwire::{Client, Error, Server};
use toolwire_proto::similar_names::similar;
use toolwire_proto::skills::check_entry;

use crate::commands::save::save;
use crate::commands::{Session, failed, first_and_rest, is_unknown_method};
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::show::{self, Attachment};
use crate::skill_arguments::{Check, Load};

/// Lists the skills. No file is read.
pub(crate) async fn list_skills(session: &Session, (): ()) -> Result<Exit, Failure> {
    let screen = &session.screen;
    let Some(skills) = offered_skills(session).await? else {
        return session.no_list("skills");
    };
    if screen.json {
        screen.print_json(&skills)?;
    } else {
        screen.print(&show::skills(&skills, screen.style))?;
    }
    for skill in &skills {
        if let Err(reason) = check_entry(skill) {
            let warning = format!("the skill {} cannot be loaded: {reason}", skill.uri);
            screen.warn(&warning);
        }
    }
    Ok(Exit::Success)
}

/// Returns the listed skills. Returns `None` if the server does not offer skills.
async fn offered_skills(session: &Session) -> Result<Option<Vec<SkillEntry>>, Failure> {
    if !session.declares(|capabilities| capabilities.extension(EXTENSION_ID).is_some()) {
        return Ok(None);
    }
    match session.client.list_skills().await {
        Ok(skills) => Ok(Some(skills)),
        Err(error) if is_unknown_method(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// A skill, and one of its files.
#[derive(Debug)]
pub(crate) struct SkillPlan {
    skill: String,
    file: Option<String>,
}

impl SkillPlan {
    /// Reads the words of `skills show`.
    pub(crate) fn of_show(words: Vec<String>) -> Result<Self, Failure> {
        let (skill, rest) = first_and_rest(words, "skill", "toolwire skills show SERVER SKILL")?;
        match rest.first() {
            Some(extra) => Err(unexpected(extra, "give one skill")),
            None => Ok(Self { skill, file: None }),
        }
    }

    /// Reads the words of `skills load`.
    pub(crate) fn of_load(words: Vec<String>) -> Result<Self, Failure> {
        let example = "toolwire skills load SERVER SKILL [FILE]";
        let (skill, rest) = first_and_rest(words, "skill", example)?;
        let mut rest = rest.into_iter();
        let file = rest.next();
        match rest.next() {
            Some(extra) => Err(unexpected(&extra, "give one skill and one file")),
            None => Ok(Self { skill, file }),
        }
    }

    /// Shows the entry of the skill. No file is read.
    pub(crate) async fn show(self, session: &Session) -> Result<Exit, Failure> {
        let screen = &session.screen;
        let entry = self.entry(session).await?;
        if screen.json {
            screen.print_json(&entry)?;
        } else {
            screen.print(&show::skill(&entry, screen.style))?;
        }
        Ok(Exit::Success)
    }

    /// Loads the skill and prints its instructions, or one of its files.
    pub(crate) async fn load(self, session: &Session, load: &Load) -> Result<Exit, Failure> {
        let entry = self.entry(session).await?;
        let loading = session.client.load_skill(&entry).await;
        let skill = loading.map_err(of_skill)?;
        match &self.file {
            Some(file) => print_file(session, &skill, file, load.output.as_deref()).await,
            None if load.output.is_some() => {
                print_file(session, &skill, "SKILL.md", load.output.as_deref()).await
            }
            None => print_instructions(&session.screen, &skill),
        }
    }

    /// Returns the entry with the name or the URI.
    async fn entry(&self, session: &Session) -> Result<SkillEntry, Failure> {
        if self.skill.contains("://") {
            // The server may have skills that it does not list.
            let getting = session.client.skill(&self.skill).await;
            return getting.map_err(of_skill);
        }
        let skills = offered_skills(session).await?.unwrap_or_default();
        find_skill(&self.skill, skills)
    }
}

/// Returns the skill with this name. The failure names similar skills, or all skills with that name.
fn find_skill(name: &str, skills: Vec<SkillEntry>) -> Result<SkillEntry, Failure> {
    let (mut named, others): (Vec<_>, Vec<_>) = skills
        .into_iter()
        .partition(|entry| entry.name() == Some(name));
    if named.len() > 1 {
        let uris: Vec<_> = named.iter().map(|entry| entry.uri.as_str()).collect();
        let message = format!("the server has {} skills `{name}`", uris.len());
        return Err(Failure::usage(message).with_advice(uris.join(" or ")));
    }
    named.pop().ok_or_else(|| {
        let failure = Failure::new(Exit::Protocol, format!("the server has no skill `{name}`"));
        let candidates = similar(name, others.iter().filter_map(SkillEntry::name));
        if candidates.is_empty() {
            failure.with_advice("`toolwire skills list` lists the skills")
        } else {
            failure.with_advice(candidates.join(" or "))
        }
    })
}

fn print_instructions(screen: &Screen, skill: &LoadedSkill) -> Result<Exit, Failure> {
    if screen.json {
        let entry = skill.entry();
        screen.print_json(&json!({
            "uri": entry.uri,
            "approval": approval_hash(entry),
            "instructions": skill.instructions(),
        }))?;
    } else {
        screen.print(&with_line_end(&screen.style.content(skill.instructions())))?;
    }
    Ok(Exit::Success)
}

/// Prints or saves a file of the skill.
async fn print_file(
    session: &Session,
    skill: &LoadedSkill,
    file: &str,
    output: Option<&Path>,
) -> Result<Exit, Failure> {
    let screen = &session.screen;
    let bytes = skill.read(file).await.map_err(of_skill)?;
    let base64 = || STANDARD.encode(&bytes);
    if let Some(path) = output {
        let base64 = base64();
        if save(path, &[Attachment::Bytes(&base64)], screen)? || !screen.json {
            return Ok(Exit::Success);
        }
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) if screen.json => screen.print_json(&json!({"path": file, "text": text}))?,
        Ok(text) => screen.print(&with_line_end(&screen.style.content(text)))?,
        Err(_) if screen.json => {
            screen.print_json(&json!({"path": file, "blob": base64()}))?;
        }
        Err(_) => {
            let message = format!("`{file}` is not text ({})", show::size(bytes.len()));
            return Err(Failure::usage(message).with_advice("save it with --output FILE"));
        }
    }
    Ok(Exit::Success)
}

/// Checks a directory of skills, and lists them as a server would.
pub(crate) async fn check_skills(check: &Check, screen: &Screen) -> Result<Exit, Failure> {
    let directory = &check.directory;
    let faults = SkillDirectory::check(directory);
    if !faults.is_empty() {
        return Err(faulty(&faults));
    }
    let failure = |error: Error| Failure::new(Exit::ToolFailed, error.to_string());
    let skills = SkillDirectory::open(directory).map_err(failure)?;
    let server = Server::new("check", env!("CARGO_PKG_VERSION"));
    let added = server.add_skills(skills);
    added.map_err(|error| Failure::new(Exit::ToolFailed, error.to_string()))?;
    let client = Client::in_process(&server).await.map_err(failure)?;
    let entries = client.list_skills().await.map_err(failure)?;
    if screen.json {
        screen.print_json(&entries)?;
    } else {
        screen.print(&show::skills(&entries, screen.style))?;
    }
    if entries.is_empty() {
        let path = directory.display();
        screen.warn(&format!(
            "{path} and the directories below it have no SKILL.md"
        ));
    }
    Ok(Exit::Success)
}

/// Returns the failure for a directory with faults, one per line.
fn faulty(faults: &[SkillFault]) -> Failure {
    let lines: Vec<_> = faults.iter().map(|fault| format!("  {fault}")).collect();
    let message = match faults.len() {
        1 => "the directory has a fault".to_owned(),
        count => format!("the directory has {count} faults"),
    };
    Failure::new(Exit::ToolFailed, message).with_details(lines.join("\n"))
}

fn unexpected(word: &str, advice: &str) -> Failure {
    Failure::usage(format!("`{word}` is an unexpected argument")).with_advice(advice)
}

/// Returns the failure for a failed request about a skill.
fn of_skill(error: Error) -> Failure {
    let is_mismatch = error.is_skill_mismatch();
    let failure = failed(error);
    if is_mismatch {
        // Every command requests the entry again.
        failure.with_default_advice(
            "run the command again; if it fails again, report it to the author of the server",
        )
    } else {
        failure
    }
}

/// Ends a text with a line break, for a terminal or a pipe.
fn with_line_end(text: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(uri: &str, name: &str) -> SkillEntry {
        let entry = json!({
            "uri": uri,
            "frontmatter": {"name": name, "description": "d"},
            "resources": "dynamic",
        });
        serde_json::from_value(entry).expect("an entry")
    }

    #[test]
    fn skill_is_found_by_its_name() {
        fn check(name: &str, expected: Result<&str, &str>) {
            let skills = vec![
                entry("skill://a/release/SKILL.md", "release"),
                entry("skill://b/review/SKILL.md", "review"),
                entry("skill://c/review/SKILL.md", "review"),
            ];
            match (find_skill(name, skills), expected) {
                (Ok(entry), expected) => assert_eq!(Ok(entry.uri.as_str()), expected),
                (Err(failure), Err(part)) => {
                    assert!(failure.text().contains(part), "{}", failure.text());
                }
                (Err(failure), _) => panic!("{}", failure.text()),
            }
        }
        check("release", Ok("skill://a/release/SKILL.md"));
        check("relaese", Err("try: release"));
        check("weather", Err("`toolwire skills list`"));
        let uris = "skill://b/review/SKILL.md or skill://c/review/SKILL.md";
        check("review", Err(uris));
    }

    #[test]
    fn unexpected_words_are_rejected() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        assert!(SkillPlan::of_show(words("release")).is_ok());
        assert!(SkillPlan::of_show(words("release a.md")).is_err());
        assert!(SkillPlan::of_show(words("")).is_err());
        assert!(SkillPlan::of_load(words("release a.md")).is_ok());
        assert!(SkillPlan::of_load(words("release a.md b.md")).is_err());
        assert!(SkillPlan::of_load(words("")).is_err());
    }
}
