//! Adds and removes the entry of a server in the text of a YAML document. All other text stays.
//!
//! The parser says where the keys are, and the text is edited by lines. The caller compares the parsed documents, so that
//! a form that this module does not know causes an error and not a wrong file.

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

/// The number of spaces that a value is indented by in its mapping.
const STEP: usize = 2;

/// Returns the text with an entry in the mapping `group`. An existing entry of this name is replaced.
///
/// # Errors
/// Returns an error if the text has a form that cannot be edited.
pub(super) fn insert(text: &str, group: &str, name: &str, entry: &Value) -> Result<String, String> {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = Lines::new(text)?;
    let outline = Outline::of(&lines, group)?;
    let written = |column: usize| {
        let mut written = String::new();
        write_member(&mut written, column, name, entry, line_end);
        written
    };
    let (range, new) = match &outline.group {
        None => {
            let column = outline.column;
            let header = format!("{:column$}{group}:{line_end}", "");
            (lines.end()..lines.end(), header + &written(column + STEP))
        }
        Some((line, GroupForm::Empty)) => (line + 1..line + 1, written(outline.column + STEP)),
        Some((line, GroupForm::EmptyFlow { start, end })) => {
            let whole = lines.0[*line];
            let (before, after) = (&whole[..*start], &whole[*end..]);
            let after = if after.trim().is_empty() {
                line_end
            } else {
                after
            };
            let separator = if after.starts_with(['\r', '\n']) {
                ""
            } else {
                " "
            };
            let header = format!(
                "{}{separator}{}",
                before.trim_end(),
                after.trim_start_matches(' ')
            );
            (*line..line + 1, header + &written(outline.column + STEP))
        }
        Some((_, GroupForm::Block(entries))) => {
            let column = entries.first().map_or(STEP, |entry| entry.column);
            let range = match outline.range(&lines, name) {
                Some(range) => range,
                None => {
                    let last = entries
                        .last()
                        .and_then(|last| outline.range(&lines, &last.name));
                    let end = last.map_or(lines.end(), |last| last.end);
                    end..end
                }
            };
            (range, written(column))
        }
        Some((_, GroupForm::Other)) => {
            return Err(format!(
                "`{group}` is not a mapping with one entry in each line, so it cannot be edited safely"
            ));
        }
    };
    let mut before = lines.text(0..range.start);
    if !before.is_empty() && !before.ends_with('\n') {
        before.push_str(line_end);
    }
    Ok(before + &new + &lines.text(range.end..lines.0.len()))
}

/// Returns the text without an entry of the mapping `group`.
///
/// # Errors
/// Returns an error if the text has a form that cannot be edited.
pub(super) fn remove(text: &str, group: &str, name: &str) -> Result<String, String> {
    let lines = Lines::new(text)?;
    let outline = Outline::of(&lines, group)?;
    match outline.range(&lines, name) {
        Some(range) => Ok(lines.text(0..range.start) + &lines.text(range.end..lines.0.len())),
        None => Err(format!(
            "`{group}` is not a mapping with one entry in each line, so it cannot be edited safely"
        )),
    }
}

/// The lines of a text, with their ends.
#[derive(Debug)]
struct Lines<'a>(Vec<&'a str>);

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Result<Self, String> {
        // For YAML, a carriage return alone ends a line.
        if text.replace("\r\n", "\n").contains('\r') {
            return Err("it has line ends of other kinds than \\n and \\r\\n".to_owned());
        }
        Ok(Self(text.split_inclusive('\n').collect()))
    }

    fn text(&self, range: std::ops::Range<usize>) -> String {
        self.0[range].concat()
    }

    /// Returns the line after the document: the one with `...`, or the end of the text.
    fn end(&self) -> usize {
        let mut lines = self.0.iter();
        lines
            .position(|line| line.trim_end() == "...")
            .unwrap_or(self.0.len())
    }

    /// Returns the line after a value that starts in a line. Empty lines at its end do not belong to it, and neither do
    /// comments there that are not indented deeper than its key.
    fn value_end(&self, start: usize, limit: usize, column: usize) -> usize {
        let is_part = |line: &str| {
            let text = line.trim_start_matches(' ');
            let is_comment =
                text.trim_start().starts_with('#') && line.len() - text.len() <= column;
            !text.trim().is_empty() && !is_comment
        };
        let mut parts = (start + 1..limit).rev();
        parts
            .find(|index| is_part(self.0[*index]))
            .map_or(start + 1, |last| last + 1)
    }

    /// Returns the position in bytes of a column in characters.
    fn position(&self, line: usize, column: usize) -> Option<usize> {
        let line = self.0.get(line)?;
        let mut characters = line.char_indices().map(|(position, _)| position);
        characters.nth(column)
    }
}

/// A key of a block mapping.
#[derive(Debug)]
struct Key {
    name: String,
    /// The index of its line.
    line: usize,
    column: usize,
}

/// Where the mapping with the entries is.
#[derive(Debug)]
struct Outline {
    /// The column of the keys of the document.
    column: usize,
    /// The line of the mapping's key.
    group: Option<(usize, GroupForm)>,
    /// The line after the mapping, with the comments before the next key.
    limit: usize,
}

/// How the mapping with the entries is written.
#[derive(Debug)]
enum GroupForm {
    /// Nothing after the key.
    Empty,
    /// `{}` in the line of the key, with its range in bytes.
    EmptyFlow { start: usize, end: usize },
    /// One or more lines for each entry.
    Block(Vec<Key>),
    /// Something else, such as `{a: {…}}` or a text.
    Other,
}

impl Outline {
    fn of(lines: &Lines<'_>, group: &str) -> Result<Self, String> {
        let text = lines.0.concat();
        let mut outline = Self {
            column: 0,
            group: None,
            limit: lines.end(),
        };
        // For each open collection, whether it is a mapping whose next value is a key.
        let mut open: Vec<(bool, bool)> = Vec::new();
        let mut is_in_group = false;
        for event in Parser::new_from_str(&text) {
            let (event, span) = event.map_err(|error| error.info().to_owned())?;
            let (line, column) = (span.start.line() - 1, span.start.col());
            let starts_with = |c: char| {
                let position = lines.position(line, column);
                position.is_some_and(|position| lines.0[line][position..].starts_with(c))
            };
            let is_key = matches!(open.last(), Some((true, true)));
            let is_value = matches!(
                event,
                Event::Scalar(..) | Event::MappingStart(..) | Event::SequenceStart(..)
            );
            if let Some((true, expects_key)) = open.last_mut()
                && is_value
            {
                *expects_key = !*expects_key;
            }
            match (&event, open.len()) {
                (Event::MappingStart(..), 0) if starts_with('{') => {
                    return Err(
                        "the document is written as {…}, so it cannot be edited safely".to_owned(),
                    );
                }
                (Event::Scalar(name, ..), 1) if is_key => {
                    // An empty key can be at the end of the text.
                    let text = lines.0.get(line).copied();
                    let before =
                        text.map(|text| &text[..lines.position(line, column).unwrap_or(0)]);
                    if before.is_none_or(|before| before.contains(|c| c != ' ')) {
                        return Err(format!(
                            "line {} has more than a key and its value, so it cannot be edited safely",
                            line + 1
                        ));
                    }
                    outline.column = column;
                    if is_in_group {
                        outline.limit = outline.limit.min(line);
                    }
                    is_in_group = name == group;
                    if is_in_group {
                        outline.group = Some((line, GroupForm::Other));
                    }
                }
                (Event::Scalar(value, ..), 1) if is_in_group && value.is_empty() => {
                    if let Some((_, form)) = &mut outline.group
                        && !starts_with('"')
                        && !starts_with('\'')
                    {
                        *form = GroupForm::Empty;
                    }
                }
                (Event::MappingStart(..), 1) if is_in_group => {
                    if let Some((key_line, form)) = &mut outline.group {
                        let start = lines.position(line, column);
                        *form = match start {
                            Some(start) if starts_with('{') && line == *key_line => {
                                GroupForm::EmptyFlow { start, end: start }
                            }
                            _ if starts_with('{') => GroupForm::Other,
                            _ => GroupForm::Block(Vec::new()),
                        };
                    }
                }
                (Event::Scalar(name, ..), 2) if is_key && is_in_group => {
                    if let Some((_, form)) = &mut outline.group {
                        match form {
                            GroupForm::Block(entries) => entries.push(Key {
                                name: name.to_string(),
                                line,
                                column,
                            }),
                            // A flow mapping that is not empty.
                            form => *form = GroupForm::Other,
                        }
                    }
                }
                (Event::MappingEnd, 2) if is_in_group => {
                    let closing = lines.position(line, column);
                    if let Some((key_line, form)) = &mut outline.group
                        && let GroupForm::EmptyFlow { end, .. } = form
                    {
                        match closing {
                            Some(closing) if line == *key_line => *end = closing + 1,
                            _ => *form = GroupForm::Other,
                        }
                    }
                }
                _ => {}
            }
            match event {
                Event::MappingStart(..) => open.push((true, true)),
                Event::SequenceStart(..) => open.push((false, false)),
                Event::MappingEnd | Event::SequenceEnd => {
                    open.pop();
                }
                _ => {}
            }
        }
        if let Some((_, form @ GroupForm::Block(_))) = &mut outline.group
            && let GroupForm::Block(entries) = form
            && entries.iter().any(|key| !is_first_in_line(lines, key))
        {
            *form = GroupForm::Other;
        }
        Ok(outline)
    }

    /// Returns the lines of an entry.
    fn range(&self, lines: &Lines<'_>, name: &str) -> Option<std::ops::Range<usize>> {
        let Some((_, GroupForm::Block(entries))) = &self.group else {
            return None;
        };
        let index = entries.iter().position(|entry| entry.name == name)?;
        let entry = &entries[index];
        let limit = entries.get(index + 1).map_or(self.limit, |next| next.line);
        Some(entry.line..lines.value_end(entry.line, limit, entry.column))
    }
}

/// Returns `true` if only spaces are before a key in its line.
fn is_first_in_line(lines: &Lines<'_>, key: &Key) -> bool {
    let position = lines.position(key.line, key.column).unwrap_or(0);
    let line = lines.0.get(key.line);
    line.is_some_and(|line| line[..position].chars().all(|c| c == ' '))
}

/// Writes a member of a block mapping. Arrays are written in one line.
fn write_member(text: &mut String, column: usize, name: &str, value: &Value, line_end: &str) {
    let key = key(name);
    match value {
        Value::Object(members) if !members.is_empty() => {
            text.push_str(&format!("{:column$}{key}:{line_end}", ""));
            write_members(text, column + STEP, members, line_end);
        }
        value => text.push_str(&format!("{:column$}{key}: {}{line_end}", "", json(value))),
    }
}

fn write_members(text: &mut String, column: usize, members: &Map<String, Value>, line_end: &str) {
    for (name, value) in members {
        write_member(text, column, name, value, line_end);
    }
}

/// Returns a key, in quotes if other parsers could read it as a number or a truth value.
fn key(name: &str) -> String {
    const OTHER_VALUES: [&str; 7] = ["null", "true", "false", "yes", "no", "on", "off"];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_part)
        && name.len() > 1
        && !OTHER_VALUES.contains(&name.to_ascii_lowercase().as_str());
    if is_plain {
        name.to_owned()
    } else {
        json(&Value::from(name))
    }
}

/// Returns a value as JSON, which is YAML if the characters that YAML does not allow are escaped.
fn json(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        let is_allowed = !c.is_control()
            && !matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            );
        if is_allowed {
            text.push(c);
        } else {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::server_files::parse_yaml;

    fn entry() -> Value {
        json!({"cmd": "a\"b\u{7f}", "args": ["x", "y: #z"], "envs": {"A B": "1"}, "headers": {}})
    }

    const WRITTEN: &str = "  notes:\n    cmd: \"a\\\"b\\u007f\"\n    args: [\"x\",\"y: #z\"]\n    envs:\n      \"A B\": \"1\"\n    headers: {}\n";

    fn check(text: &str, expected: &str) {
        let new = insert(text, "extensions", "notes", &entry());
        assert_eq!(new.as_deref(), Ok(expected));
        let value = parse_yaml(expected).expect("it is valid");
        assert_eq!(value["extensions"]["notes"], entry());
    }

    #[test]
    fn entry_is_added_after_the_others() {
        let group = format!("extensions:\n{WRITTEN}");
        check("", &group);
        check("# mine\n", &format!("# mine\n{group}"));
        check("a: 1 # a\n", &format!("a: 1 # a\n{group}"));
        check("a: 1", &format!("a: 1\n{group}"));
        check("---\na: 1\n...\n", &format!("---\na: 1\n{group}...\n"));
        check(
            "extensions: # mine\n\nb: 2\n",
            &format!("extensions: # mine\n{WRITTEN}\nb: 2\n"),
        );
        check("extensions: {}\nb: 2\n", &format!("{group}b: 2\n"));
        check(
            "extensions: { } # none\n",
            &format!("extensions: # none\n{WRITTEN}"),
        );
        check(
            "extensions:\n  a:\n    cmd: x # x\n    # inside\n  # after\n\n# b\nb: 2\n",
            &format!(
                "extensions:\n  a:\n    cmd: x # x\n    # inside\n{WRITTEN}  # after\n\n# b\nb: 2\n"
            ),
        );
        let text = "x: é\nextensions:\n    a: {cmd: x}\n";
        let indented = WRITTEN.replace('\n', "\n  ");
        check(text, &format!("{text}  {}", indented.trim_end_matches(' ')));
        let text = "extensions:\n  a:\n    description: |\n      # a text\n";
        check(text, &format!("{text}{WRITTEN}"));
        check("a: 1\r\n", &format!("a: 1\n{group}").replace('\n', "\r\n"));
    }

    #[test]
    fn existing_entry_is_replaced_in_its_place() {
        check(
            "extensions:\n  # mine\n  notes: {cmd: x}\n  # other\n  z:\n    cmd: y\n",
            &format!("extensions:\n  # mine\n{WRITTEN}  # other\n  z:\n    cmd: y\n"),
        );
        check(
            "extensions:\n  \"notes\":\n    cmd: x\nb: 2\n",
            &format!("extensions:\n{WRITTEN}b: 2\n"),
        );
    }

    #[test]
    fn entry_is_removed_and_comments_around_it_stay() {
        fn check(text: &str, expected: &str) {
            assert_eq!(remove(text, "extensions", "notes").as_deref(), Ok(expected));
        }
        check(
            "extensions:\n  # one\n  notes:\n    cmd: x\n    # inside\n\n  # two\n  z:\n    cmd: y\n",
            "extensions:\n  # one\n\n  # two\n  z:\n    cmd: y\n",
        );
        check(
            "extensions:\n  notes: {cmd: x}\nb: 1\n",
            "extensions:\nb: 1\n",
        );
    }

    #[test]
    fn forms_that_cannot_be_edited_are_rejected() {
        for text in [
            "{extensions: {a: {cmd: x}}}\n",
            "extensions: {a: {cmd: x}}\n",
            "extensions: {\n}\n",
            "extensions:\n  {a: {cmd: x}}\n",
            "extensions: ''\n",
            "extensions: [a]\n",
            "extensions:\n  ? a\n  : {cmd: x}\n",
            "? extensions\n: {a: {cmd: x}}\n",
            "extensions:\r  a: {cmd: x}\r",
            "a: 1\n?\n",
            "extensions:\n  a: {cmd: x}\n  ?\n",
        ] {
            let problem = insert(text, "extensions", "notes", &entry());
            assert!(problem.is_err(), "{text}: {problem:?}");
        }
    }

    #[test]
    fn keys_that_look_like_other_values_are_quoted() {
        for (name, expected) in [
            ("notes", "notes"),
            ("7", "\"7\""),
            ("True", "\"True\""),
            ("N", "\"N\""),
        ] {
            assert_eq!(key(name), expected);
        }
    }
}
