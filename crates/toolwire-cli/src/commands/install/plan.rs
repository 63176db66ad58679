//! The change that `toolwire install` makes in one host.

use serde_json::{Value, json};

use crate::commands::install::{invalid, path, print_change};
use crate::failure::Failure;
use crate::hosts::{ConfigFile, Document, Host, NewEntry, OwnCommand, changed_lines};
use crate::install_arguments::{EditOptions, Install};
use crate::screen::Screen;
use crate::server_files::shown_path;

/// The change of one host.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) host: &'static Host,
    new: &'a NewEntry,
    file: ConfigFile,
    /// The new text of the file, or `None` if it has the entry.
    text: Option<String>,
    /// The entry that the file has.
    existing: Option<Value>,
    commands: Vec<OwnCommand>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        host: &'static Host,
        new: &'a NewEntry,
        arguments: &Install,
    ) -> Result<Self, Failure> {
        let scope = arguments.edit.scope;
        let file = ConfigFile::read(&path(host, scope)?)?;
        let document = Document::new(host, file.text());
        let entries = document
            .entries()
            .map_err(|problem| invalid(&file, &problem))?;
        let existing = entries.get(&new.name);
        let shown = shown_path(file.path());
        if existing.is_some_and(|entry| *entry != new.entry) && !arguments.replace {
            let name = &new.name;
            return Err(
                Failure::usage(format!("{shown} has another entry `{name}`"))
                    .with_advice("replace it with --replace, or choose a name with --name"),
            );
        }
        let text = match existing {
            Some(entry) if *entry == new.entry => None,
            _ => Some(
                document
                    .with(new)
                    .map_err(|problem| invalid(&file, &problem))?,
            ),
        };
        let mut commands = Vec::new();
        if !arguments.edit.edit_file
            && text.is_some()
            && let Some(add) = OwnCommand::add(host, scope, new)
        {
            if existing.is_some() {
                commands.extend(OwnCommand::remove(host, scope, &new.name));
            }
            commands.push(add);
        }
        Ok(Self {
            host,
            new,
            existing: existing.cloned(),
            file,
            text,
            commands,
        })
    }

    /// Makes the change, or shows it, and returns a report about it.
    pub(super) async fn run(
        &self,
        options: &EditOptions,
        screen: &Screen,
    ) -> Result<Value, Failure> {
        let shown = shown_path(self.file.path());
        let change = match (&self.text, &self.existing) {
            (None, _) => "unchanged",
            (Some(_), Some(_)) => "replaced",
            (Some(_), None) => "added",
        };
        let mut report = json!({
            "host": self.host.id,
            "name": self.new.name,
            "scope": options.scope.name(),
            "change": change,
            "file": shown,
        });
        if !self.commands.is_empty() {
            let commands: Vec<_> = self.commands.iter().map(OwnCommand::shown).collect();
            report["commands"] = json!(commands);
        }
        let Some(text) = &self.text else {
            print_change(screen, &format!("{shown} has the entry already\n"))?;
            return Ok(report);
        };
        if options.dry_run {
            let change = if self.commands.is_empty() {
                let lines = changed_lines(self.host, self.file.text(), text);
                report["diff"] = lines.as_str().into();
                format!("{shown}\n{lines}")
            } else {
                let commands: Vec<_> = self.commands.iter().map(OwnCommand::shown).collect();
                format!("$ {}\n", commands.join("\n$ "))
            };
            print_change(screen, &change)?;
            return Ok(report);
        }
        if self.commands.is_empty() {
            self.file.replace(text)?;
            print_change(
                screen,
                &format!("{change} `{}` in {shown}\n", self.new.name),
            )?;
        } else {
            for command in &self.commands {
                command
                    .run()
                    .await
                    .map_err(|failure| self.restore(failure))?;
            }
            print_change(
                screen,
                &format!("{change} `{}` in {}\n", self.new.name, self.host.name),
            )?;
        }
        Ok(report)
    }

    /// Writes the entry back that the first command has removed, because the second one failed. Returns the failure.
    fn restore(&self, failure: Failure) -> Failure {
        match self.restore_entry() {
            Ok(false) => failure,
            Ok(true) => {
                let advice =
                    "the entry that was there is restored; edit the file instead with --edit-file";
                failure.with_advice(advice)
            }
            Err(problem) => failure.with_advice(format!(
                "the entry that was there is removed and cannot be restored ({}); add it again",
                problem.message()
            )),
        }
    }

    /// Writes the entry to the file that was there before, if it is missing. Returns `false` if there is nothing to do.
    fn restore_entry(&self) -> Result<bool, Failure> {
        let Some(existing) = &self.existing else {
            return Ok(false);
        };
        let file = ConfigFile::read(self.file.path())?;
        let document = Document::new(self.host, file.text());
        let entries = document
            .entries()
            .map_err(|problem| invalid(&file, &problem))?;
        if entries.contains_key(&self.new.name) {
            return Ok(false);
        }
        let removed = NewEntry {
            name: self.new.name.clone(),
            entry: existing.clone(),
            inputs: Vec::new(),
        };
        let text = document
            .with(&removed)
            .map_err(|problem| invalid(&file, &problem))?;
        file.replace(&text)?;
        Ok(true)
    }
}
