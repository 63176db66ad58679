//! The constants and fields of the code.

use std::collections::BTreeMap;
use std::path::Path;

use super::sources::{Item, Source};
use crate::docs::values::{Value, constant, evaluate, is_constant_name};
use crate::docs::{files_below, read};
use crate::steps::Outcome;

/// The directories with code that defines limits.
const DIRECTORIES: [&str; 2] = ["crates", "page/src"];

/// Parts of paths of files whose constants users never meet.
const OTHER_FILES: [&str; 7] = [
    "/toolwire-tests/",
    "/toolwire-macro-errors/",
    "/tests/",
    "/tests.rs",
    "/testing/",
    "/contract/",
    "/contract.rs",
];

/// How the names of limits start and end.
const STARTS: [&str; 3] = ["MAX_", "LONGEST_", "LARGEST_"];
const ENDS: [&str; 2] = ["_TIMEOUT", "_DEADLINE"];

/// The text of all files, without their tests.
#[derive(Debug)]
pub(super) struct Code {
    files: BTreeMap<String, String>,
    limits: Vec<Source>,
}

impl Code {
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let mut files = BTreeMap::new();
        for directory in DIRECTORIES {
            for file in files_below(&root.join(directory))? {
                let path = format!("{directory}/{file}");
                let is_code =
                    path.ends_with(".ts") || path.ends_with(".rs") && path.contains("/src/");
                if is_code && !OTHER_FILES.iter().any(|part| path.contains(part)) {
                    files.insert(path.clone(), read(&root.join(&path))?);
                }
            }
        }
        Ok(Self::new(files))
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter();
        let files = files.map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
        Self::new(files.collect())
    }

    fn new(mut files: BTreeMap<String, String>) -> Self {
        let mut limits = Vec::new();
        for (file, text) in &mut files {
            if let Some(tests) = text.find("#[cfg(test)]\nmod tests {") {
                text.truncate(tests);
            }
            let names = text.lines().filter_map(limit_of_line);
            limits.extend(names.map(|name| Source {
                file: file.clone(),
                item: Item::Name(name.to_owned()),
            }));
        }
        Self { files, limits }
    }

    /// Returns the constants that are limits by their name.
    pub(super) fn limits(&self) -> &[Source] {
        &self.limits
    }

    /// Returns `true` if the file defines this constant.
    pub(super) fn defines(&self, source: &Source) -> bool {
        let text = self.files.get(&source.file);
        match &source.item {
            Item::Name(name) => text.is_some_and(|text| constant(name, text).is_some()),
            Item::Text(_) => false,
        }
    }

    /// Returns the value of a source, or `None` for a text without a number.
    pub(super) fn value(&self, source: &Source) -> Result<Option<Value>, String> {
        let file = &source.file;
        let text = self
            .files
            .get(file)
            .ok_or_else(|| format!("there is no file {file}"))?;
        let evaluated = |expression: &str| evaluate(expression, &|name| self.constant(name, file));
        let name = match &source.item {
            Item::Text(part) => {
                if !text.contains(part.as_str()) {
                    return Err(format!("{file} has no text `{part}`"));
                }
                return Ok(evaluated(part).or_else(|| last_number(part)));
            }
            Item::Name(name) => name.as_str(),
        };
        let value = if is_constant_name(name) {
            constant(name, text).and_then(|_| evaluated(name))
        } else {
            let start = format!("{name}: ");
            let expressions = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix(&start));
            let mut values =
                expressions.filter_map(|expression| evaluated(expression.trim_end_matches(',')));
            values.next()
        };
        value
            .map(Some)
            .ok_or_else(|| format!("{source} has no value"))
    }

    /// Returns the expression of a constant of a file, else of the only one with this name in its crate or in all crates.
    fn constant(&self, name: &str, file: &str) -> Option<&str> {
        let own = self.files.get(file).and_then(|text| constant(name, text));
        let package: String = file.split_inclusive('/').take(2).collect();
        own.or_else(|| self.only(name, &package))
            .or_else(|| self.only(name, ""))
    }

    fn only(&self, name: &str, directory: &str) -> Option<&str> {
        let files = self.files.iter();
        let files = files.filter(|(file, _)| file.starts_with(directory));
        let mut found = files.filter_map(|(_, text)| constant(name, text));
        found.next().filter(|_| found.next().is_none())
    }
}

/// Returns the name of the constant that a line defines, if it is the name of a limit.
fn limit_of_line(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("const ")?;
    let is_definition =
        before.is_empty() || before.trim_start().starts_with("pub") || before == "export ";
    let name = rest.split([':', ' ']).next()?;
    let is_limit = STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end));
    (is_definition && is_limit && is_constant_name(name)).then_some(name)
}

fn last_number(text: &str) -> Option<Value> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '_');
    let mut numbers = words.filter_map(|word| word.replace('_', "").parse().ok());
    numbers.next_back().map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_other_files_are_found() {
        let code = Code::of(&[
            (
                "crates/a/src/a.rs",
                "        size: MAX_A,\nconst MAX_B: u8 = 2 * MAX_A;\n",
            ),
            ("crates/a/src/b.rs", "pub(crate) const MAX_A: u8 = 3;\n"),
            (
                "crates/b/src/a.rs",
                "const MAX_A: u8 = 4;\n#[cfg(test)]\nmod tests {\nconst MAX_C: u8 = 1;\n",
            ),
        ]);
        let check = |file: &str, name: &str, expected: Option<u64>| {
            let source = Source {
                file: file.to_owned(),
                item: Item::Name(name.to_owned()),
            };
            let value = code.value(&source).ok().flatten();
            assert_eq!(value, expected.map(Value::Number), "{source}");
        };
        check("crates/a/src/a.rs", "size", Some(3));
        check("crates/a/src/a.rs", "MAX_B", Some(6));
        check("crates/a/src/a.rs", "MAX_A", None);
        check("crates/b/src/a.rs", "MAX_A", Some(4));
        check("crates/b/src/a.rs", "MAX_C", None);
        assert_eq!(code.limits().len(), 3);
    }

    #[test]
    fn limits_are_recognised_by_their_names() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(limit_of_line(line), expected, "{line}");
        };
        check("const MAX_ROWS: usize = 5;", Some("MAX_ROWS"));
        check(
            "    pub const LONGEST_LINE: usize = 5;",
            Some("LONGEST_LINE"),
        );
        check("export const MAX_DEPTH = 64;", Some("MAX_DEPTH"));
        check("const CALL_TIMEOUT: Duration =", Some("CALL_TIMEOUT"));
        check("const CHUNK: usize = 5;", None);
        check("        const MAX_ROWS: usize = 5;", None);
        check("// const MAX_ROWS: usize = 5;", None);
    }
}
