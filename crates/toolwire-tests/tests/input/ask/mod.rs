//! `ctx.ask` and related methods, which work the same in every revision.

mod abandoned_requests;
mod both_eras;
mod capabilities;
mod effects;
mod forms;
mod handler_kinds;
mod input_form;
mod keys;
mod limits;
mod manual_call;
mod model_tools;
mod models;
mod random_clients;
mod random_handlers;
mod response_matching;
mod retry_and_url;
mod single_use;
mod single_values;
mod suspending;
mod typed_forms;
mod unsealed_state;

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::types::{
    CallToolResult, CreateMessageResult, ElicitResult, Root, SamplingMessageContentBlock,
};
use toolwire::{Client, ClientBuilder, Elicit, Error, ProtocolVersion, Server};

pub(crate) use toolwire_tests::scripts::Recorder;

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

/// Returns a client that accepts input requests. The response to a form is the first entry whose text is part of
/// the message. All input requests are recorded in `requested`.
pub(crate) async fn client(
    server: &Server,
    version: ProtocolVersion,
    responses: &[(&'static str, Value)],
    requested: &Recorder,
) -> Client {
    let (responses, forms, urls) = (responses.to_vec(), requested.clone(), requested.clone());
    let models = requested.clone();
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .on_elicitation(move |input_request| {
            let message = input_request.message;
            forms.record(&*message);
            let response = responses.iter().find(|(part, _)| message.contains(part));
            let result =
                response.map_or_else(|| json!({"action": "cancel"}), |(_, result)| result.clone());
            let result: ElicitResult = serde_json::from_value(result).expect("an elicit result");
            async move { Ok(result) }
        })
        .on_url_elicitation(move |input_request| {
            urls.record(&*input_request.url);
            async { Ok(ElicitResult::accept()) }
        })
        .on_sampling(move |input_request| {
            models.record(format!("{} messages", input_request.messages.len()));
            async {
                let text = SamplingMessageContentBlock::text("well");
                Ok(CreateMessageResult::new("model", text))
            }
        })
        .with_roots([Root::new("file:///project")])
        .in_process(server)
        .await
        .expect("the client connects")
}

pub(crate) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

pub(crate) fn result_text(outcome: Result<CallToolResult, Error>) -> String {
    match outcome {
        Ok(result) => {
            let failed = result.is_error == Some(true);
            let result = serde_json::to_value(result).expect("a result");
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            if failed {
                format!("failed: {text}")
            } else {
                text.to_owned()
            }
        }
        Err(error) => error.to_string(),
    }
}
