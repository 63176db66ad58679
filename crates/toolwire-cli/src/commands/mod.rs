//! The commands that use a connected client.

mod bundle;
mod call;
mod complete;
mod crate_name;
mod discover;
mod doctor;
mod domain;
#[cfg(feature = "events")]
mod events;
mod gateway;
mod install;
mod listen;
mod new;
mod prompts;
mod proxy;
mod publish;
mod replay;
mod resources;
mod save;
mod saved;
mod server_summary;
mod serving;
mod skills;
mod tasks;
mod tools;
mod view;

use std::sync::Arc;

use serde_json::json;
use toolwire::types::{ErrorObject, ServerCapabilities, code};
use toolwire::{Client, Error};

use crate::connection_arguments::Era;
use crate::failure::{Exit, Failure, Phase};
use crate::input_kind::InputCapabilities;
use crate::screen::Screen;
use crate::snippet_form::SnippetForm;
use crate::snippets::{self, Exchange, SnippetServer};
use crate::target::Target;

pub(crate) use bundle::bundle;
pub(crate) use call::CallPlan;
pub(crate) use complete::CompletePlan;
pub(crate) use discover::{discover, ping};
pub(crate) use doctor::{check_redis, check_server, find_program};
pub(crate) use domain::Domain;
#[cfg(feature = "events")]
pub(crate) use events::{WatchPlan, list_events};
pub(crate) use gateway::{gateway, pins};
pub(crate) use install::{install, installed, uninstall};
pub(crate) use listen::ListenPlan;
pub(crate) use new::new;
pub(crate) use prompts::{PromptPlan, list_prompts};
pub(crate) use proxy::{proxy, record};
pub(crate) use publish::publish;
pub(crate) use replay::replay;
pub(crate) use resources::{ReadPlan, list_resources};
pub(crate) use saved::saved;
pub(crate) use skills::{SkillPlan, check_skills, list_skills};
pub(crate) use tasks::{RespondPlan, TaskPlan, list_tasks};
pub(crate) use tools::list_tools;
pub(crate) use view::{ViewPlan, bundle_view};

/// A connected client and the output of its results.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) screen: Arc<Screen>,
    /// The input requests of the server that get a response.
    pub(crate) responds: InputCapabilities,
    pub(crate) target: Target,
    /// The era that the user has chosen.
    pub(crate) era: Era,
}

impl Session {
    /// Prints a request instead of sending it.
    fn print_request(&self, form: SnippetForm, exchange: &Exchange) -> Result<Exit, Failure> {
        let connection = (self.client.detected_era(), self.client.version());
        let server = SnippetServer::new(&self.target, self.era, Some(connection));
        let text = snippets::text(form, exchange, &server);
        if self.screen.json {
            let title = form.title();
            self.screen
                .print_json(&json!({"title": title, "text": text}))?;
        } else {
            self.screen.print(&format!("{text}\n"))?;
        }
        Ok(Exit::Success)
    }

    /// Returns `true` if the server has declared the capability. Without details of the server it may have it.
    fn declares(&self, capability: impl FnOnce(&ServerCapabilities) -> bool) -> bool {
        let server = self.client.server();
        server.is_none_or(|server| capability(&server.capabilities))
    }

    /// Reports that the server has no list of these items.
    fn no_list(&self, items: &str) -> Result<Exit, Failure> {
        self.screen
            .show_line(&format!("the server does not offer {items}"));
        if self.screen.json {
            self.screen.print("[]\n")?;
        }
        Ok(Exit::Success)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_words_are_rejected() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(at_most_one(words(&[]), "tool").unwrap(), None);
        assert!(at_most_one(words(&["a", "b"]), "tool").is_err());
        assert!(no_more_words(words(&[])).is_ok());
        assert!(no_more_words(words(&["a"])).is_err());
    }
}
