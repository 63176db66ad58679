//! The commands that use a connected client.

mod call;
mod complete;
mod discover;
mod listen;
mod prompts;
mod resources;
mod save;
mod tools;

use std::sync::Arc;

use toolwire::types::{ErrorObject, code};
use toolwire::{Client, Error};

use crate::failure::{Failure, Phase};
use crate::screen::Screen;

pub(crate) use call::CallPlan;
pub(crate) use complete::CompletePlan;
pub(crate) use discover::{discover, ping};
pub(crate) use listen::ListenPlan;
pub(crate) use prompts::{PromptPlan, list_prompts};
pub(crate) use resources::{ReadPlan, list_resources};
pub(crate) use tools::list_tools;

/// A connected client and the output of its results.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) screen: Arc<Screen>,
}

/// Returns the failure for a failed call.
fn failed(error: Error) -> Failure {
    Failure::of(&error, Phase::Calling)
}

/// Returns `true` if the server does not know the method.
fn is_unknown_method(error: &Error) -> bool {
    let is_unknown = |rpc: &ErrorObject| rpc.code == code::METHOD_NOT_FOUND;
    error.rpc().is_some_and(is_unknown)
}

/// Returns the only word, or `None` without words.
pub(crate) fn at_most_one(words: Vec<String>, what: &str) -> Result<Option<String>, Failure> {
    let mut words = words.into_iter();
    let first = words.next();
    match words.next() {
        Some(extra) => Err(
            Failure::usage(format!("`{extra}` is an unexpected argument")).with_advice(
                if what.is_empty() {
                    "give only the server".to_owned()
                } else {
                    format!("give one {what}; quote it if it contains spaces")
                },
            ),
        ),
        None => Ok(first),
    }
}

/// Returns an error if there are words besides the server.
pub(crate) fn no_more_words(mut words: Vec<String>) -> Result<(), Failure> {
    words.insert(0, String::new());
    at_most_one(words, "").map(drop)
}

/// Returns the first word and the others.
fn first_and_rest(
    words: Vec<String>,
    what: &str,
    example: &str,
) -> Result<(String, Vec<String>), Failure> {
    let mut words = words.into_iter();
    match words.next() {
        Some(first) => Ok((first, words.collect())),
        None => Err(Failure::usage(format!("no {what} is given")).with_advice(example)),
    }
}

/// Returns the known names that are most similar to `name`.
fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const MAX_NAMES: usize = 3;
    let name = name.to_lowercase();
    let mut close: Vec<_> = known
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let distance = if lower.contains(&name) || name.contains(&lower) {
                1
            } else {
                distance(&name, &lower)
            };
            (distance <= 2.max(name.len() / 4)).then_some((distance, candidate))
        })
        .collect();
    close.sort();
    close
        .into_iter()
        .take(MAX_NAMES)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Counts the letters that have to be changed, added or removed.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        let known = ["add", "echo", "countdown", "change_list"];
        assert_eq!(similar("ad", known), ["add"]);
        assert_eq!(similar("ehco", known), ["echo"]);
        assert_eq!(similar("count_down", known), ["countdown"]);
        assert_eq!(similar("Echo", known), ["echo"]);
        assert_eq!(similar("weather", known), [""; 0]);
    }

    #[test]
    fn distance_counts_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn unexpected_words_are_rejected() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(at_most_one(words(&[]), "tool").unwrap(), None);
        assert!(at_most_one(words(&["a", "b"]), "tool").is_err());
        assert!(no_more_words(words(&[])).is_ok());
        assert!(no_more_words(words(&["a"])).is_err());
    }
}
