//! The client of scripted handlers.

use serde_json::json;
use toolwire::types::{
    CreateMessageResult, ElicitResult, Root, SamplingMessageContentBlock, ToolUseContent,
};
use toolwire::{ClientBuilder, ClientLimits, ProtocolVersion};

use crate::scripts::Recorder;

/// Returns a client that performs the action in the message of an input request, and records the messages.
pub fn scripted_client(version: ProtocolVersion, requested: &Recorder) -> ClientBuilder {
    fn elicit_result(requested: &Recorder, message: &str) -> ElicitResult {
        requested.record(message);
        let (_, action) = message.rsplit_once(' ').expect("a key and an action");
        let result = match action {
            "Accept" => json!({"action": "accept", "content": {"name": message}}),
            other => json!({"action": other.to_lowercase()}),
        };
        serde_json::from_value(result).expect("an elicit result")
    }
    let (forms, urls, models) = (requested.clone(), requested.clone(), requested.clone());
    let mut limits = ClientLimits::default();
    limits.rounds = 1000;
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .with_limits(limits)
        .on_elicitation(move |input_request| {
            let result = elicit_result(&forms, &input_request.message);
            async move { Ok(result) }
        })
        .on_url_elicitation(move |input_request| {
            let mut result = elicit_result(&urls, &input_request.message);
            result.content = None;
            async move { Ok(result) }
        })
        .on_sampling_with_tools(move |input_request| {
            let message = input_request
                .messages
                .first()
                .map(|first| first.content.text());
            let model = message.unwrap_or_default();
            models.record(&*model);
            let first = input_request.messages.len() == 1;
            let content = match (input_request.tools, input_request.messages.last()) {
                (Some(_), _) if first => {
                    let used = ToolUseContent::new("1", "tool", json!({}));
                    SamplingMessageContentBlock::ToolUse(used)
                }
                (_, last) => {
                    let message = serde_json::to_string(&last).expect("a message is JSON");
                    SamplingMessageContentBlock::text(message)
                }
            };
            async move { Ok(CreateMessageResult::new(model, content)) }
        })
        .with_roots([Root::new("file:///project")])
}
