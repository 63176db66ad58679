//! The differences between two recordings as members of messages, for peers of different eras.

use std::collections::{BTreeMap, BTreeSet};

use crate::mirror::recording::Recording;
use crate::mirror::written::Written;

/// Returns the members that differ between two recordings, one line each: `-` for a member that only the first one has,
/// `+` for one that only the second one has, `~` for another value, and `%` for an object whose common members are in another
/// order. The steps follow in parentheses. The elements of an array have one name.
///
/// Values are compared as they are written, so that `1e2` and `100` differ.
#[must_use]
pub fn member_differences(first: &Recording, second: &Recording) -> Vec<String> {
    let mut found = Found::default();
    let (first, second) = (by_step(first), by_step(second));
    let keys: BTreeSet<_> = first.keys().chain(second.keys()).collect();
    let none = Vec::new();
    for key in keys {
        let (step, kind) = key;
        let (one, other) = (
            first.get(key).unwrap_or(&none),
            second.get(key).unwrap_or(&none),
        );
        for index in 0..one.len().max(other.len()) {
            match (one.get(index), other.get(index)) {
                (Some(one), Some(other)) => found.compare(step, kind, one, other),
                (Some(_), None) => found.add("-", kind, step),
                (None, _) => found.add("+", kind, step),
            }
        }
    }
    found.lines()
}

/// Returns the messages by the name of their step and by their kind: a method, or a response.
fn by_step(recording: &Recording) -> BTreeMap<(String, String), Vec<Written>> {
    let mut steps = BTreeMap::<_, Vec<Written>>::new();
    for ((_, name), texts) in recording.texts() {
        let step = name.split(": ").next().unwrap_or_default().to_owned();
        for text in texts {
            let mut message = Written::parse(text);
            let method = message.member("method").and_then(Written::text);
            let kind = method.unwrap_or_else(|| "response".to_owned());
            // Ids are numbered by step, and a proxy may have fewer steps.
            message.remove("id");
            let key = (step.clone(), kind);
            steps.entry(key).or_default().push(message);
        }
    }
    steps
}

/// The steps of each difference.
#[derive(Default)]
struct Found(BTreeMap<(String, &'static str), BTreeSet<String>>);

impl Found {
    fn add(&mut self, sign: &'static str, path: &str, step: &str) {
        let steps = self.0.entry((path.to_owned(), sign)).or_default();
        steps.insert(step.to_owned());
    }

    fn compare(&mut self, step: &str, path: &str, one: &Written, other: &Written) {
        match (one, other) {
            (Written::Object(members), Written::Object(others)) => {
                for (name, value) in members {
                    let path = format!("{path} {name}");
                    match other.member(name) {
                        Some(other) => self.compare(step, &path, value, other),
                        None => self.add("-", &path, step),
                    }
                }
                for (name, _) in others {
                    if one.member(name).is_none() {
                        self.add("+", &format!("{path} {name}"), step);
                    }
                }
                if one.names_in(other) != other.names_in(one) {
                    self.add("%", path, step);
                }
            }
            (Written::Array(one), Written::Array(other)) if one.len() == other.len() => {
                let path = format!("{path}[]");
                for (one, other) in one.iter().zip(other) {
                    self.compare(step, &path, one, other);
                }
            }
            _ if one == other => {}
            _ => self.add("~", path, step),
        }
    }

    fn lines(self) -> Vec<String> {
        let lines = self.0.into_iter().map(|((path, sign), steps)| {
            let steps: Vec<_> = steps.into_iter().collect();
            format!("{sign} {path} ({})", steps.join(", "))
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_orders_are_compared_as_they_are_written() {
        let check = |one: &str, other: &str, expected: &[&str]| {
            let mut found = Found::default();
            found.compare("step", "m", &Written::parse(one), &Written::parse(other));
            assert_eq!(found.lines(), expected, "{one} {other}");
        };
        check(r#"{"a":1e2,"b":[1.0]}"#, r#"{ "a": 1e2, "b": [1.0] }"#, &[]);
        check(r#"{"a":1e2}"#, r#"{"a":100.0}"#, &["~ m a (step)"]);
        check("[1.0]", "[1]", &["~ m[] (step)"]);
        check(r#""\u00e9""#, r#""é""#, &["~ m (step)"]);
        check(
            r#"{"a":1,"x":0,"b":2}"#,
            r#"{"b":2,"a":1,"y":0}"#,
            &["% m (step)", "- m x (step)", "+ m y (step)"],
        );
        check(
            r#"{"a":1,"b":2}"#,
            r#"{"a":1,"c":0,"b":2}"#,
            &["+ m c (step)"],
        );
    }
}
