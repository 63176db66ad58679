//! The example `onboarding` with toolwire's client: both eras, over stdio and over HTTP.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::process::Command;
use toolwire::Era;
use toolwire::types::{CallToolResult, ElicitResult};
use toolwire::{Client, ClientBuilder, ServerCommand};

use crate::client::program;
use crate::http::Example;

/// Creates an empty list of desks for one test and returns its path.
pub(crate) fn empty_desk_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.txt"));
    fs::write(&path, "").unwrap();
    path
}

/// The messages of the elicitations, in order.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<String>>>);

impl Asked {
    pub(crate) fn record(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Returns a client whose user selects a laptop of this size, or declines if `inches` is `None`.
fn client(asked: &Asked, inches: Option<u8>) -> ClientBuilder {
    let asked = asked.clone();
    Client::builder("test", "1.0.0").on_elicitation(move |form| {
        asked.record(&form.message);
        let content = match form.message.as_str() {
            "Who is new?" => Some(json!({"name": "Ada"})),
            "Which team does Ada join?" => Some(json!({"team": "Platform"})),
            _ => inches.map(|inches| json!({"inches": inches})),
        };
        let result = match content {
            Some(content) => json!({"action": "accept", "content": content}),
            None => json!({"action": "decline"}),
        };
        let result: ElicitResult = serde_json::from_value(result).unwrap();
        async move { Ok(result) }
    })
}

pub(crate) fn text(result: &CallToolResult) -> &str {
    result.content[0].as_text().unwrap()
}

const MESSAGES: [&str; 3] = [
    "Who is new?",
    "Which team does Ada join?",
    "Ada has desk 1 at Platform. Which laptop goes there?",
];

/// Calls the tool, and checks the elicitations, the desks and the outcome.
async fn check(client: Client, asked: &Asked, desks: &Path, outcome: &str) {
    let result = client.call_tool("welcome", ()).await.unwrap();
    assert_eq!(text(&result), outcome);
    assert_eq!(asked.take(), MESSAGES);
    assert_eq!(fs::read_to_string(desks).unwrap(), "Ada, Platform\n");
    client.close().await;
}

#[tokio::test]
async fn three_elicitations_and_one_desk_over_stdio() {
    for era in [Era::Modern, Era::Legacy] {
        let asked = Asked::default();
        let desks = empty_desk_file(&format!("stdio_{era:?}"));
        let command = ServerCommand::new(program("onboarding")).arg(&desks);
        let client = client(&asked, Some(13)).with_era(era).spawn(command);
        let outcome = "Ada sits at desk 1 at Platform, with a laptop of 13 inches.";
        check(client.await.unwrap(), &asked, &desks, outcome).await;
    }
}

#[tokio::test]
async fn three_elicitations_and_one_desk_over_http() {
    for era in [Era::Modern, Era::Legacy] {
        let asked = Asked::default();
        let desks = empty_desk_file(&format!("http_{era:?}"));
        let example = Example::run(Command::new(program("onboarding")).arg(&desks)).await;
        let client = client(&asked, Some(13))
            .with_era(era)
            .connect(example.url());
        let outcome = "Ada sits at desk 1 at Platform, with a laptop of 13 inches.";
        check(client.await.unwrap(), &asked, &desks, outcome).await;
    }
}

#[tokio::test]
async fn declined_elicitation_continues_the_call() {
    for era in [Era::Modern, Era::Legacy] {
        let asked = Asked::default();
        let desks = empty_desk_file(&format!("decline_{era:?}"));
        let command = ServerCommand::new(program("onboarding")).arg(&desks);
        let client = client(&asked, None).with_era(era).spawn(command);
        let outcome = "Ada sits at desk 1 at Platform, with no laptop.";
        check(client.await.unwrap(), &asked, &desks, outcome).await;
    }
}
