//! The differences between two recordings as members of messages, for peers of different eras.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::mirror::recording::Recording;

/// Returns the members that differ between two recordings, one line each: `-` for a member that only the first one has,
/// `+` for one that only the second one has, and `~` for another value. The steps follow in parentheses. The elements of an
/// array have one name.
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
fn by_step(recording: &Recording) -> BTreeMap<(String, String), Vec<Value>> {
    let mut steps = BTreeMap::<_, Vec<Value>>::new();
    for ((_, name), messages) in recording.messages() {
        let step = name.split(": ").next().unwrap_or_default().to_owned();
        for mut message in messages {
            let kind = message["method"].as_str().unwrap_or("response").to_owned();
            // Ids are numbered by step, and a proxy may have fewer steps.
            if let Some(members) = message.as_object_mut() {
                members.remove("id");
            }
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

    fn compare(&mut self, step: &str, path: &str, one: &Value, other: &Value) {
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                for (name, value) in one {
                    let path = format!("{path} {name}");
                    match other.get(name) {
                        Some(other) => self.compare(step, &path, value, other),
                        None => self.add("-", &path, step),
                    }
                }
                for name in other.keys().filter(|name| !one.contains_key(*name)) {
                    self.add("+", &format!("{path} {name}"), step);
                }
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
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
