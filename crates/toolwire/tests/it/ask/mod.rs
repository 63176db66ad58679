//! Handlers that ask in the same words whatever the client's revision.

mod abilities;
mod bounds;
mod by_hand;
mod effects;
mod ending;
mod forms;
mod input_form;
mod keys;
mod model_tools;
mod models;
mod pairing;
mod places;
mod plain_state;
mod same_words;
mod scripts;
mod single_use;
mod strange_clients;
mod suspending;
mod typed_forms;
mod waiting;

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::types::{
    CallToolResult, CreateMessageResult, ElicitResult, Root, SamplingMessageContentBlock,
};
use toolwire::{Client, ClientBuilder, Elicit, Error, ProtocolVersion, Server};

pub(crate) const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
pub(crate) const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
pub(crate) const BOTH: [ProtocolVersion; 2] = [MODERN, LEGACY];

#[derive(Debug, Deserialize, Elicit)]
pub(crate) struct Name {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize, Elicit)]
pub(crate) struct Confirm {
    pub(crate) sure: bool,
}

/// What happened, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    /// Notes it, and tells how many things have happened by now.
    pub(crate) fn note(&self, what: impl Into<String>) -> usize {
        let mut notes = self.0.lock().expect("no test panics with it");
        notes.push(what.into());
        notes.len()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no test panics with it"))
    }
}

/// A client that fills in forms by what they say: the answer is the result for the first message that is part of the
/// question. What it is asked goes into the diary.
pub(crate) async fn client(
    server: &Server,
    version: ProtocolVersion,
    answers: &[(&'static str, Value)],
    asked: &Diary,
) -> Client {
    let (answers, forms, urls) = (answers.to_vec(), asked.clone(), asked.clone());
    let models = asked.clone();
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .on_elicitation(move |question| {
            let message = question.message;
            forms.note(&*message);
            let found = answers.iter().find(|(part, _)| message.contains(part));
            let result = found.map_or_else(|| json!({"action": "cancel"}), |(_, r)| r.clone());
            let result: ElicitResult = serde_json::from_value(result).expect("an answer");
            async move { Ok(result) }
        })
        .on_url_elicitation(move |question| {
            urls.note(&*question.url);
            async { Ok(ElicitResult::accept()) }
        })
        .on_sampling(move |question| {
            models.note(format!("{} messages", question.messages.len()));
            async {
                let text = SamplingMessageContentBlock::text("well");
                Ok(CreateMessageResult::new("model", text))
            }
        })
        .with_roots([Root::new("file:///project")])
        .in_process(server)
        .await
        .expect("it connects")
}

pub(crate) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

pub(crate) fn shown(outcome: Result<CallToolResult, Error>) -> String {
    match outcome {
        Ok(result) => {
            let failed = result.is_error == Some(true);
            let result = serde_json::to_value(result).expect("a result");
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            match failed {
                true => format!("failed: {text}"),
                false => text.to_owned(),
            }
        }
        Err(error) => error.to_string(),
    }
}
