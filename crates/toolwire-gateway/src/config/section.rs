//! Reads the tables of a TOML document key by key, so that every error names its line and its key.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toolwire_proto::relay::glob::Glob;
use toolwire_proto::similar_names::did_you_mean;

use crate::config::ConfigError;
use crate::config::duration::parse_duration;
use crate::config::variables;

/// A document, and the values that stand for `${NAME}`.
pub(super) struct Document<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Document<'a> {
    /// Returns the top of the document.
    pub(super) fn parse(&'a self) -> Result<Section<'a>, ConfigError> {
        match DeTable::parse(self.text) {
            Ok(table) => Ok(Section::new(self, String::new(), table.into_inner())),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                Err(self.error(start, error.message()))
            }
        }
    }

    fn error(&self, at: usize, message: impl Into<String>) -> ConfigError {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        ConfigError::new(self.file, message).at_line(line)
    }
}

/// A table whose keys are read one after the other. Keys that are not read are unknown.
pub(super) struct Section<'a> {
    document: &'a Document<'a>,
    /// The name of the table in messages, such as `upstream.files`. Empty for the top.
    name: String,
    entries: Vec<Entry<'a>>,
    known: Vec<&'static str>,
}

struct Entry<'a> {
    key: String,
    start: usize,
    value: Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    fn new(document: &'a Document<'a>, name: String, table: DeTable<'a>) -> Self {
        let mut entries: Vec<Entry<'a>> = table
            .into_iter()
            .map(|(key, value)| Entry {
                start: key.span().start,
                key: key.into_inner().into_owned(),
                value,
            })
            .collect();
        // The order of the file.
        entries.sort_by_key(|entry| entry.start);
        Self {
            document,
            name,
            entries,
            known: Vec::new(),
        }
    }

    /// Takes the value of a key.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Field<'a>> {
        self.known.push(key);
        let position = self.entries.iter().position(|entry| entry.key == key)?;
        let entry = self.entries.remove(position);
        Some(self.field(entry))
    }

    /// Takes all values, for a table whose keys are names.
    pub(super) fn take_all(&mut self) -> Vec<(String, Field<'a>)> {
        let entries = std::mem::take(&mut self.entries);
        let fields = entries.into_iter().map(|entry| {
            let name = entry.key.clone();
            (name, self.field(entry))
        });
        fields.collect()
    }

    fn field(&self, entry: Entry<'a>) -> Field<'a> {
        let separator = if self.name.is_empty() { "" } else { "." };
        Field {
            document: self.document,
            name: format!("{}{separator}{}", self.name, entry.key),
            start: entry.start,
            value: entry.value,
        }
    }

    /// Checks that every key was read.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        let Some(unknown) = self.entries.first() else {
            return Ok(());
        };
        let suggestion = did_you_mean(&unknown.key, self.known.iter().copied());
        let known = format!("the keys are {}", self.known.join(", "));
        Err(self.unknown(unknown, &suggestion).with_advice(known))
    }

    /// Returns the error about one of these keys, which the table needs and does not have: `missing`, or an error that
    /// names a misspelled key.
    pub(super) fn missing(&self, keys: &[&str], missing: ConfigError) -> ConfigError {
        let misspelled = self.entries.iter().find_map(|entry| {
            let suggestion = did_you_mean(&entry.key, keys.iter().copied());
            (!suggestion.is_empty()).then(|| self.unknown(entry, &suggestion))
        });
        misspelled.unwrap_or(missing)
    }

    fn unknown(&self, entry: &Entry<'_>, suggestion: &str) -> ConfigError {
        let place = match self.name.as_str() {
            "" => String::new(),
            name => format!(" in `{name}`"),
        };
        let message = format!("unknown key `{}`{place}{suggestion}", entry.key);
        self.document.error(entry.start, message)
    }

    /// Returns an error about the whole table.
    pub(super) fn error(&self, start: usize, message: impl Into<String>) -> ConfigError {
        self.document.error(start, message)
    }
}

/// A value and its key.
pub(super) struct Field<'a> {
    document: &'a Document<'a>,
    /// The path of the key in messages, such as `upstream.files.url`.
    name: String,
    start: usize,
    value: Spanned<DeValue<'a>>,
}

impl<'a> Field<'a> {
    /// Returns the position of the key, for an error about the table that it opens.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Returns an error about this value.
    pub(super) fn error(&self, problem: impl std::fmt::Display) -> ConfigError {
        let message = format!("`{}` {problem}", self.name);
        self.document
            .error(self.value.span().start.max(self.start), message)
    }

    fn expected(&self, what: &str) -> ConfigError {
        self.error(format_args!("must be {what}"))
    }

    /// Reads a text, with the values of its `${NAME}`.
    pub(super) fn text(&self) -> Result<String, ConfigError> {
        match self.value.get_ref() {
            DeValue::String(text) => self.expand(text),
            _ => Err(self.expected("a text")),
        }
    }

    /// Reads a path. A relative one starts at the directory of the file.
    pub(super) fn path(&self) -> Result<PathBuf, ConfigError> {
        let directory = Path::new(self.document.file).parent();
        Ok(directory.unwrap_or(Path::new("")).join(self.text()?))
    }

    fn expand(&self, text: &str) -> Result<String, ConfigError> {
        variables::expand(text, self.document.environment).map_err(|problem| {
            self.error(format_args!("needs {}", problem.message))
                .with_advice(problem.advice)
        })
    }

    /// Returns `true` if the value is a table.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    pub(super) fn flag(&self) -> Result<bool, ConfigError> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.expected("true or false")),
        }
    }

    /// Reads a whole number in a range.
    pub(super) fn number(&self, range: Range<u64>) -> Result<u64, ConfigError> {
        let number = match self.value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let (least, most) = (range.start, range.end - 1);
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.expected(&format!("a whole number from {least} to {most}")))
    }

    /// Reads a duration such as `"30s"`.
    pub(super) fn duration(&self) -> Result<Duration, ConfigError> {
        let text = self.text()?;
        parse_duration(&text)
            .ok_or_else(|| self.expected("a duration such as \"500ms\", \"30s\", \"5m\" or \"1h\""))
    }

    pub(super) fn pattern(&self) -> Result<Glob, ConfigError> {
        let text = self.text()?;
        Glob::from_str(&text).map_err(|error| self.error(format_args!("is invalid: {error}")))
    }

    /// Reads one of several words.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, ConfigError> {
        let text = self.text()?;
        let known = words.iter().find(|(word, _)| *word == text);
        known.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.expected(&format!("one of {}", names.join(", ")))
        })
    }

    /// Reads a list with at most `most` elements.
    pub(super) fn list(self, most: usize) -> Result<Vec<Field<'a>>, ConfigError> {
        let (document, name, start) = (self.document, self.name.clone(), self.start);
        let DeValue::Array(elements) = self.value.get_ref() else {
            return Err(self.expected("a list"));
        };
        if elements.len() > most {
            return Err(self.error(format_args!("has more than {most} elements")));
        }
        let DeValue::Array(elements) = self.value.into_inner() else {
            return Ok(Vec::new());
        };
        let fields = elements
            .into_iter()
            .enumerate()
            .map(|(index, value)| Field {
                document,
                name: format!("{name}[{index}]"),
                start,
                value,
            });
        Ok(fields.collect())
    }

    /// Reads a list of texts.
    pub(super) fn texts(self, most: usize) -> Result<Vec<String>, ConfigError> {
        self.list(most)?.iter().map(Field::text).collect()
    }

    /// Reads a table, or a list of tables.
    pub(super) fn tables<T>(
        self,
        most: usize,
        read: impl Fn(Self) -> Result<T, ConfigError>,
    ) -> Result<Vec<T>, ConfigError> {
        if matches!(self.value.get_ref(), DeValue::Array(_)) {
            return self.list(most)?.into_iter().map(read).collect();
        }
        Ok(vec![read(self)?])
    }

    /// Reads a table.
    pub(super) fn section(self) -> Result<Section<'a>, ConfigError> {
        if !matches!(self.value.get_ref(), DeValue::Table(_)) {
            return Err(self.expected("a table"));
        }
        let DeValue::Table(table) = self.value.into_inner() else {
            return Ok(Section::new(self.document, self.name, DeTable::new()));
        };
        Ok(Section::new(self.document, self.name, table))
    }

    /// Reads a table of texts by name, in the order of the file.
    pub(super) fn named_texts(self, most: usize) -> Result<Vec<(String, String)>, ConfigError> {
        let too_many = self.error(format_args!("has more than {most} elements"));
        let entries = self.section()?.take_all();
        if entries.len() > most {
            return Err(too_many);
        }
        let read = entries
            .into_iter()
            .map(|(name, field)| Ok((name, field.text()?)));
        read.collect()
    }

    /// Reads any value except a date as JSON.
    pub(super) fn json(&self) -> Result<serde_json::Value, ConfigError> {
        use serde_json::Value;

        match self.value.get_ref() {
            DeValue::String(text) => Ok(Value::String(self.expand(text)?)),
            DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(Value::from)
                .map_err(|_| self.expected("a number of 64 bits")),
            DeValue::Float(number) => number
                .as_str()
                .parse::<f64>()
                .map(Value::from)
                .map_err(|_| self.expected("a finite number")),
            _ => Err(self.expected("a text, a number, true or false")),
        }
    }
}
