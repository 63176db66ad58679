//! The text of a configuration file, and edits of it.

use serde_json::{Map, Value};

use crate::hosts::entry::NewEntry;
use crate::hosts::entry_references::input;
use crate::hosts::table::{Format, Host, References};
use crate::hosts::{json_text, toml_text, yaml_text};
use crate::server_files;

const TOO_LARGE_EDIT: &str = "an edit would change more than the entry";

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a configuration file of a host. A file that does not exist has an empty text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    host: &'a Host,
    text: &'a str,
}

/// What removes an entry.
#[derive(Debug, PartialEq)]
pub(crate) enum Removal {
    /// There is no such entry.
    Absent,
    /// The file contains nothing else and did not exist before, so it can be deleted.
    DeleteFile,
    /// The file gets the text that it had before the entry was installed.
    Restore(String),
    /// The file gets this text.
    Edit(String),
}

impl<'a> Document<'a> {
    pub(crate) fn new(host: &'a Host, text: &'a str) -> Self {
        Self { host, text }
    }

    /// Returns the entries of the host.
    pub(crate) fn entries(&self) -> Result<Map<String, Value>, String> {
        let mut value = &self.parse()?;
        for member in self.host.path {
            match value.get(member) {
                Some(inner) => value = inner,
                None => return Ok(Map::new()),
            }
        }
        match value {
            Value::Object(entries) => Ok(entries.clone()),
            _ => Err(format!("`{}` is not an object", self.host.path.join("."))),
        }
    }

    /// Returns the text with an entry.
    ///
    /// # Errors
    /// Returns an error if the text cannot be parsed, or if an edit would change more than the entry.
    pub(crate) fn with(&self, new: &NewEntry) -> Result<String, String> {
        let path = self.host.path;
        self.check_version()?;
        let (mark, text) = self.without_mark();
        let edited = match self.host.format {
            Format::Json => json_text::insert(text, path, &new.name, &new.entry, &new.inputs)?,
            Format::Toml => {
                self.parse()?;
                toml_text::insert(text, path, &new.name, &new.entry)
            }
            Format::Yaml => {
                self.parse()?;
                yaml_text::insert(text, self.member(), &new.name, &new.entry)?
            }
        };
        let edited = format!("{mark}{edited}");
        let mut expected = self.entries()?;
        expected.insert(new.name.clone(), new.entry.clone());
        self.check_edit(&edited, expected)?;
        Ok(edited)
    }

    /// Checks that the file has no entry in the form of an older version of the host, which cannot read the new form.
    fn check_version(&self) -> Result<(), String> {
        let [outer, inner] = self.host.path else {
            return Ok(());
        };
        let document = self.parse()?;
        let members = document[outer].as_object().into_iter().flatten();
        let is_server = |entry: &Value| matches!(entry["type"].as_str(), Some("local" | "remote"));
        let mut older = members.filter(|(name, entry)| name != inner && is_server(entry));
        match older.next() {
            Some((name, _)) => Err(format!(
                "`{outer}` has the server {name:?} in the form of {} 1, which cannot read the form of version 2; \
                 version 2 expects its servers in `{outer}.{inner}`",
                self.host.name
            )),
            None => Ok(()),
        }
    }

    /// Returns how an entry is removed. `backup` is the text before the first edit, or `None` if there was no file.
    ///
    /// If installing the same entry in `backup` gives this text, the backup is restored, so that every byte is as
    /// before. Otherwise only the entry is removed.
    pub(crate) fn without(&self, name: &str, backup: Option<&str>) -> Result<Removal, String> {
        let mut entries = self.entries()?;
        // Order matters in the file, not in the comparison of documents.
        let Some(entry) = entries.shift_remove(name) else {
            return Ok(Removal::Absent);
        };
        let installed = NewEntry {
            name: name.to_owned(),
            inputs: self.own_inputs(name, &entry),
            entry,
        };
        let original = Document::new(self.host, backup.unwrap_or_default());
        if original
            .with(&installed)
            .is_ok_and(|text| text == self.text)
        {
            return Ok(match backup {
                Some(backup) => Removal::Restore(backup.to_owned()),
                None => Removal::DeleteFile,
            });
        }
        let (mark, text) = self.without_mark();
        let edited = match self.host.format {
            Format::Json => json_text::remove(text, self.host.path, name, &installed.inputs)?,
            Format::Toml => toml_text::remove(text, self.host.path, name),
            Format::Yaml => yaml_text::remove(text, self.member(), name)?,
        };
        let edited = format!("{mark}{edited}");
        self.check_edit(&edited, entries)?;
        Ok(Removal::Edit(edited))
    }

    /// Returns the inputs that were installed with an entry and that no other entry uses.
    fn own_inputs(&self, name: &str, entry: &Value) -> Vec<Value> {
        let document = self.parse().unwrap_or_default();
        let defined = document[json_text::INPUTS].as_array();
        let own = defined.into_iter().flatten().filter(|defined| {
            let id = defined["id"].as_str().unwrap_or_default();
            let variable = id.strip_prefix(name).and_then(|id| id.strip_prefix('-'));
            let is_own = variable.is_some_and(|variable| **defined == input(variable, name));
            let reference = format!("${{input:{id}}}");
            let uses = |text: &str| text.matches(&reference).count();
            is_own && uses(&entry.to_string()) == uses(self.text)
        });
        own.cloned().collect()
    }

    /// Checks that an edited text differs from this one in these entries and in inputs only.
    fn check_edit(&self, edited: &str, entries: Map<String, Value>) -> Result<(), String> {
        let mut expected = self.parse()?;
        if let Some(group) = self.group(&mut expected) {
            *group = Value::Object(entries);
        }
        let edited = Document::new(self.host, edited).parse();
        // The text before the edit is valid, so a syntax error comes from the edit.
        let mut after = edited.map_err(|_| TOO_LARGE_EDIT)?;
        // Without entries, a missing object is equal to an empty one.
        self.group(&mut after);
        if self.host.references == References::Inputs {
            for document in [&mut expected, &mut after] {
                let members = document.as_object_mut();
                members.and_then(|members| members.shift_remove(json_text::INPUTS));
            }
        }
        if after != expected {
            return Err(TOO_LARGE_EDIT.to_owned());
        }
        Ok(())
    }

    /// Returns the value with the entries, and creates it if it is missing.
    fn group<'v>(&self, document: &'v mut Value) -> Option<&'v mut Value> {
        let mut inner = Some(document);
        for member in self.host.path {
            let members = inner.and_then(Value::as_object_mut);
            inner = members.map(|members| {
                let member = members.entry((*member).to_owned());
                member.or_insert_with(|| Value::Object(Map::new()))
            });
        }
        inner
    }

    fn parse(&self) -> Result<Value, String> {
        let (_, text) = self.without_mark();
        if text.trim().is_empty() {
            return Ok(Value::Object(Map::new()));
        }
        match self.host.format {
            Format::Json => server_files::parse_json(text),
            Format::Toml => server_files::parse_toml(text),
            Format::Yaml => {
                let mut document = server_files::parse_yaml(text)?;
                // A mapping whose last entry was removed is null.
                if let Some(group @ Value::Null) = document.get_mut(self.member()) {
                    *group = Value::Object(Map::new());
                }
                Ok(document)
            }
        }
    }

    /// Returns the only member of the path. Hosts with YAML have no objects inside of it.
    fn member(&self) -> &'static str {
        self.host.path.first().copied().unwrap_or_default()
    }

    /// Returns the byte order mark, if there is one, and the text after it.
    fn without_mark(&self) -> (&'a str, &'a str) {
        match self.text.strip_prefix(BYTE_ORDER_MARK) {
            Some(text) => self.text.split_at(self.text.len() - text.len()),
            None => ("", self.text),
        }
    }
}

#[cfg(test)]
mod tests;
