//! Reads `sources.txt`.

use std::fmt;

use crate::steps::Outcome;

/// The start of the part with constants that are in no row.
const OTHER_CONSTANTS: &str = "Other constants";

/// The sources of all rows, in the order of the page.
#[derive(Debug)]
pub(super) struct Sources {
    /// The first cell of each row, and what defines its numbers.
    pub(super) rows: Vec<(String, Vec<Source>)>,
    /// Constants that are in no row, because users do not meet them.
    pub(super) other_constants: Vec<Source>,
}

/// A constant, a field or a text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) file: String,
    pub(super) item: Item,
}

/// What defines a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Name(String),
    Text(String),
}

impl Sources {
    pub(super) fn parse(text: &str) -> Outcome<Self> {
        let (mut rows, mut other_constants) = (Vec::<(String, Vec<Source>)>::new(), Vec::new());
        let mut is_row = true;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if line.trim().is_empty() {
                continue;
            }
            let Some(entry) = line.strip_prefix("    ") else {
                is_row = line != OTHER_CONSTANTS;
                if is_row {
                    rows.push((line.to_owned(), Vec::new()));
                }
                continue;
            };
            let (file, items) = entry
                .split_once(' ')
                .ok_or_else(|| format!("`{entry}` names no constant"))?;
            let sources = items_of(items)?.into_iter().map(|item| Source {
                file: file.to_owned(),
                item,
            });
            match rows.last_mut() {
                Some((_, of_row)) if is_row => of_row.extend(sources),
                _ => other_constants.extend(sources),
            }
        }
        Ok(Self {
            rows,
            other_constants,
        })
    }

    /// Returns `true` if a row or the list of other constants has this source.
    pub(super) fn names(&self, source: &Source) -> bool {
        let of_rows = self.rows.iter().flat_map(|(_, sources)| sources);
        of_rows
            .chain(&self.other_constants)
            .any(|known| known == source)
    }
}

fn items_of(mut text: &str) -> Outcome<Vec<Item>> {
    let mut items = Vec::new();
    while !text.is_empty() {
        let (item, rest) = match text.strip_prefix('"') {
            Some(quoted) => {
                let (quoted, rest) = quoted
                    .split_once("\" ")
                    .or_else(|| Some((quoted.strip_suffix('"')?, "")))
                    .ok_or_else(|| format!("`{text}` has no second quote"))?;
                (Item::Text(quoted.to_owned()), rest)
            }
            None => {
                let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
                (Item::Name(name.to_owned()), rest)
            }
        };
        items.push(item);
        text = rest;
    }
    Ok(items)
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Item::Name(item) | Item::Text(item)) = &self.item;
        write!(f, "{}: {item}", self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_several_sources() {
        let text = "# A comment.\n\nNames\n    a.rs MAX \"x = \"5\"\" count\n    b.rs AGE\nOther constants\n    c.rs C\n";
        let sources = Sources::parse(text).expect("it is valid");
        let shown = |sources: &[Source]| -> Vec<String> {
            sources.iter().map(ToString::to_string).collect()
        };
        assert_eq!(sources.rows.len(), 1);
        assert_eq!(sources.rows[0].0, "Names");
        assert_eq!(
            shown(&sources.rows[0].1),
            ["a.rs: MAX", "a.rs: x = \"5\"", "a.rs: count", "b.rs: AGE"]
        );
        assert_eq!(shown(&sources.other_constants), ["c.rs: C"]);
    }

    #[test]
    fn incomplete_entries_are_invalid() {
        for text in ["Names\n    a.rs\n", "Names\n    a.rs \"x\n"] {
            assert!(Sources::parse(text).is_err(), "{text}");
        }
    }
}
