//! Shows a sampling request to the user, who writes the message of the model.

use serde::{Deserialize, Serialize};
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ErrorObject, Role, SamplingMessage,
    SamplingMessageContentBlock, StopReason,
};

use crate::input_requests::dialogue::Dialogue;

/// The code of the protocol for a request that the user rejects.
const REJECTED: i64 = -1;

/// The model that a response names: the user of this command.
const MODEL: &str = "user";

/// A response as it is saved with a call: a message, or the error of a rejection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplingResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<CreateMessageResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorObject>,
}

impl SamplingResponse {
    pub(super) fn new(result: &Result<CreateMessageResult, ErrorObject>) -> Self {
        Self {
            result: result.as_ref().ok().cloned(),
            error: result.as_ref().err().cloned(),
        }
    }

    /// Returns the message or the error, or `None` if there are both or neither.
    pub(crate) fn into_result(self) -> Option<Result<CreateMessageResult, ErrorObject>> {
        match (self.result, self.error) {
            (Some(result), None) => Some(Ok(result)),
            (None, Some(error)) => Some(Err(error)),
            _ => None,
        }
    }
}

/// Returns the message with a text.
pub(super) fn message(text: &str) -> CreateMessageResult {
    CreateMessageResult::new(MODEL, text).with_stop_reason(StopReason::EndTurn)
}

/// Returns the error for a request that the user rejects.
pub(super) fn rejection() -> ErrorObject {
    ErrorObject::new(REJECTED, "the user rejected the request")
}

/// Shows the conversation, and asks for the next message.
pub(super) fn ask(
    request: &CreateMessageRequestParams,
    dialogue: &mut dyn Dialogue,
) -> Result<CreateMessageResult, ErrorObject> {
    dialogue.show_line("\nThe server requests a message of a model (sampling):");
    if let Some(prompt) = &request.system_prompt {
        show(dialogue, "system", prompt);
    }
    for message in &request.messages {
        show_message(dialogue, message);
    }
    let prompt = format!(
        "The message, of at most {} tokens (Enter alone rejects the request): ",
        request.max_tokens
    );
    match dialogue.ask(&prompt) {
        Some(text) if !text.is_empty() => Ok(message(&text)),
        _ => Err(rejection()),
    }
}

fn show_message(dialogue: &mut dyn Dialogue, message: &SamplingMessage) {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    for block in message.content.blocks() {
        match block {
            SamplingMessageContentBlock::Text(text) => show(dialogue, role, &text.text),
            SamplingMessageContentBlock::Image(image) => {
                show(dialogue, role, &format!("[image, {}]", image.mime_type));
            }
            SamplingMessageContentBlock::Audio(audio) => {
                show(dialogue, role, &format!("[audio, {}]", audio.mime_type));
            }
            _ => show(dialogue, role, "[content of another type]"),
        }
    }
}

/// Shows a text below the name of its sender.
fn show(dialogue: &mut dyn Dialogue, sender: &str, text: &str) {
    dialogue.show_line(&format!("  {sender}:"));
    for line in text.lines() {
        dialogue.show_line(&format!("    {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input_requests::dialogue::Script;

    fn asked(inputs: &[&'static str]) -> (Result<CreateMessageResult, ErrorObject>, String) {
        let messages = [
            SamplingMessage::user("Hello.\nWho are you?"),
            SamplingMessage::assistant("A model."),
        ];
        let request =
            CreateMessageRequestParams::new(messages, 200).with_system_prompt("Be brief.");
        let mut user = Script::new(inputs);
        let result = ask(&request, &mut user);
        (result, user.shown)
    }

    #[test]
    fn user_writes_the_message_of_the_model() {
        let (result, shown) = asked(&["I am Ada."]);
        let result = result.expect("the user responds");
        assert_eq!(result.content.text(), "I am Ada.");
        assert_eq!(result.model, "user");
        let conversation = "  system:\n    Be brief.\n  user:\n    Hello.\n    Who are you?\n  model:\n    A model.\n";
        assert!(shown.contains(conversation), "{shown}");
        assert!(shown.contains("at most 200 tokens"), "{shown}");
    }

    #[test]
    fn user_without_a_message_rejects_the_request() {
        for inputs in [&[""][..], &[]] {
            let (result, _) = asked(inputs);
            assert_eq!(result, Err(rejection()), "{inputs:?}");
        }
    }
}
