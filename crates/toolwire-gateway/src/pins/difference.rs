//! A readable difference of two descriptors.

use serde_json::Value;
use toolwire::RawJson;

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceLine {
    /// The member that the following lines belong to.
    Member(String),
    /// A line that is not offered any more.
    Removed(String),
    /// A line that is offered now.
    Added(String),
}

/// Returns the differences of two descriptors, member by member. The lines are text of the upstream: escape them before
/// they reach a terminal.
#[must_use]
pub fn differences(approved: &RawJson, offered: &RawJson) -> Vec<DifferenceLine> {
    let (approved, offered) = (members(approved), members(offered));
    let mut names: Vec<&String> = approved.iter().map(|(name, _)| name).collect();
    names.extend(offered.iter().map(|(name, _)| name));
    let mut seen = Vec::new();
    let mut lines = Vec::new();
    for name in names {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let (old, new) = (member(&approved, name), member(&offered, name));
        if old == new {
            continue;
        }
        lines.push(DifferenceLine::Member(name.clone()));
        lines.extend(line_differences(&shown(old), &shown(new)));
    }
    lines
}

/// Returns the differences of two texts, line by line.
#[must_use]
pub fn text_differences(approved: &str, offered: &str) -> Vec<DifferenceLine> {
    let of = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    line_differences(&of(approved), &of(offered))
}

fn members(descriptor: &RawJson) -> Vec<(String, Value)> {
    match serde_json::from_str(descriptor.get()) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        _ => Vec::new(),
    }
}

fn member<'a>(members: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    let mut members = members.iter();
    members.find_map(|(known, value)| (known == name).then_some(value))
}

/// Returns the lines of a value: those of a text as they are, others as JSON.
fn shown(value: Option<&Value>) -> Vec<String> {
    let text = match value {
        None => return Vec::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    text.lines().map(str::to_owned).collect()
}

/// Returns the lines between the equal start and the equal end of two texts.
fn line_differences(old: &[String], new: &[String]) -> Vec<DifferenceLine> {
    let start = old
        .iter()
        .zip(new)
        .take_while(|(old, new)| old == new)
        .count();
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let removed = &old[..old.len() - end];
    let added = &new[..new.len() - end];
    let removed = removed.iter().cloned().map(DifferenceLine::Removed);
    removed
        .chain(added.iter().cloned().map(DifferenceLine::Added))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_members_and_lines_are_shown() {
        use DifferenceLine::{Added, Member, Removed};

        let json = |text: &str| RawJson::from_string(text.to_owned()).unwrap();
        let old = json(r#"{"name":"a","description":"one\ntwo\nthree","title":"T"}"#);
        let new = json(r#"{"name":"a","description":"one\n2\nthree","annotations":{"x":1}}"#);
        let text = |text: &str| text.to_owned();
        assert_eq!(
            differences(&old, &new),
            [
                Member(text("description")),
                Removed(text("two")),
                Added(text("2")),
                Member(text("title")),
                Removed(text("T")),
                Member(text("annotations")),
                Added(text("{")),
                Added(text("  \"x\": 1")),
                Added(text("}")),
            ]
        );
        assert_eq!(differences(&old, &old), []);
        assert_eq!(text_differences("a\nb", "a"), [Removed(text("b"))]);
    }
}
