//! The client's model with tools of this server at hand.

use std::future::Future;

use toolwire_types::{
    CallToolResult, CreateMessageRequestParams, CreateMessageResult, ErrorObject, SamplingMessage,
    SamplingMessageContentBlock, ToolChoiceMode, ToolResultContent, ToolUseContent,
};

use crate::error::Error;
use crate::server::RequestContext;
use crate::server::response::{IntoToolResponse, ToolResponse};

impl RequestContext {
    /// Asks the client's model, lets it use the tools that `request` offers, and asks again with their results until it
    /// has an answer: the tool loop, in every revision that has tools in sampling (2025-11-25 and later).
    ///
    /// `use_tool` gets each use and returns whatever a tool may return; a failure is told to the model. Each use happens
    /// once in all runs of the handler. The model is asked at most `turns` times, the last time without tools.
    ///
    /// The protocol deprecates sampling as of 2026-07-28: new servers should call a model of their own.
    ///
    /// # Errors
    /// As [`ask_model`](Self::ask_model), and when the model uses tools to the end.
    pub async fn ask_model_with_tools<M, F, Fut>(
        &self,
        key: impl Into<String>,
        mut request: CreateMessageRequestParams,
        turns: u32,
        use_tool: F,
    ) -> Result<CreateMessageResult, Error>
    where
        F: Fn(ToolUseContent) -> Fut,
        Fut: Future,
        Fut::Output: IntoToolResponse<M>,
    {
        let key = key.into();
        for turn in 1..=turns {
            if turn == turns {
                request = request.with_tool_choice(ToolChoiceMode::None);
            }
            let message = self
                .ask_model(format!("{key}/{turn}"), request.clone())
                .await?;
            let uses = uses(&message);
            if uses.is_empty() {
                return Ok(message);
            }
            if turn == turns {
                // Nobody would be told the results.
                break;
            }
            let mut results = Vec::with_capacity(uses.len());
            for (number, used) in uses.into_iter().enumerate() {
                let effect = format!("{key}/{turn}/{number}");
                let result = self.try_once(effect, answer(used, &use_tool)).await?;
                results.push(SamplingMessageContentBlock::ToolResult(result));
            }
            let assistant = SamplingMessage::new(message.role, message.content);
            request.messages.push(assistant);
            request.messages.push(SamplingMessage::user(results));
        }
        Err(ErrorObject::internal(format!(
            "the model has no answer after {turns} turns with tools"
        ))
        .into())
    }
}

/// The tools a message uses.
fn uses(message: &CreateMessageResult) -> Vec<ToolUseContent> {
    let blocks = message.content.blocks().iter();
    blocks
        .filter_map(|block| match block {
            SamplingMessageContentBlock::ToolUse(used) => Some(used.clone()),
            _ => None,
        })
        .collect()
}

/// Uses a tool. What the model should hear is a result; the rest, a question of the tool included, ends the handler.
async fn answer<M, F, Fut>(used: ToolUseContent, use_tool: &F) -> Result<ToolResultContent, Error>
where
    F: Fn(ToolUseContent) -> Fut,
    Fut: Future,
    Fut::Output: IntoToolResponse<M>,
{
    let id = used.id.clone();
    let result = match use_tool(used).await.into_tool_response() {
        Ok(ToolResponse::Complete(result)) => *result,
        Ok(ToolResponse::Text(text)) => CallToolResult::text(text),
        Ok(ToolResponse::InputRequired(_)) => {
            return Err(ErrorObject::internal(
                "a tool of a model cannot return `input_required`; use `ask` in it",
            )
            .into());
        }
        Err(error) => CallToolResult::error(error.into_text()?),
    };
    let mut answer = ToolResultContent::new(id, result.content);
    answer.structured_content = result.structured_content;
    answer.is_error = result.is_error;
    Ok(answer)
}
