//! What a client received, and the differences between two recordings.

use std::collections::BTreeMap;

use crate::mirror::server::Message;

/// The messages that a client received, as text.
///
/// The messages of a call are in order: requests of the server, progress, and the response. A notification that belongs
/// to no call may arrive on another stream, so each method of a step has an order of its own.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recording(BTreeMap<(usize, String), Vec<String>>);

impl Recording {
    /// Adds a message that arrived in a step.
    pub(crate) fn add(&mut self, step: (usize, &str), text: &str) {
        let (number, name) = step;
        let (kind, text) = match serde_json::from_str::<Message<'_>>(text) {
            // A ping checks one connection, so a proxy may respond by itself.
            Ok(message) if message.method() == "ping" => return,
            Ok(_) if name == "ping" => ("call".to_owned(), "a response".to_owned()),
            Ok(message) => (kind_of(&message), without_id(&message, text)),
            Err(error) => ("not a message".to_owned(), format!("{error}: {text}")),
        };
        let key = (number, format!("{name}: {kind}"));
        self.0.entry(key).or_default().push(text);
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Returns `true` if the client received nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the messages by step.
    pub(crate) fn texts(&self) -> &BTreeMap<(usize, String), Vec<String>> {
        &self.0
    }

    fn lines(&self) -> Vec<String> {
        let entries = self.0.iter();
        let lines = entries.flat_map(|((number, kind), texts)| {
            let line = move |text: &String| format!("{number} {kind}\n    {text}");
            texts.iter().map(line)
        });
        lines.collect()
    }
}

/// Returns `true` for a message of a call, and not of the session.
pub(crate) fn is_of_call(method: &str) -> bool {
    matches!(method, "" | "notifications/progress") || !is_notification(method)
}

fn is_notification(method: &str) -> bool {
    method.starts_with("notifications/") || method.starts_with("com.example/")
}

fn kind_of(message: &Message<'_>) -> String {
    let method = message.method();
    if is_of_call(method) {
        "call".to_owned()
    } else {
        method.to_owned()
    }
}

/// Returns the text without the id of a request of the server, which a proxy replaces.
fn without_id(message: &Message<'_>, text: &str) -> String {
    match message.id {
        Some(id) if message.method.is_some() => {
            text.replacen(&format!(r#""id":{}"#, id.get()), r#""id":"…""#, 1)
        }
        _ => text.to_owned(),
    }
}

/// Returns the messages that only one of two recordings has: `-` for the first, and `+` for the second.
#[must_use]
pub fn differences(first: &Recording, second: &Recording) -> Vec<String> {
    let (first, second) = (first.lines(), second.lines());
    let missing = first.iter().filter(|line| !second.contains(line));
    let added = second.iter().filter(|line| !first.contains(line));
    let mut differences: Vec<_> = missing.map(|line| format!("- {line}")).collect();
    differences.extend(added.map(|line| format!("+ {line}")));
    if differences.is_empty() && first != second {
        differences.push("the same messages are in another order, or repeated".to_owned());
    }
    differences
}
