//! Sampling with tools: the client's model uses tools of this server.

use std::future::Future;

use toolwire_types::{
    CallToolResult, CreateMessageRequestParams, CreateMessageResult, ErrorObject, SamplingMessage,
    SamplingMessageContentBlock, ToolChoiceMode, ToolResultContent, ToolUseContent,
};

use crate::error::Error;
use crate::server::RequestContext;
use crate::server::response::{IntoToolResponse, ToolResponse};

impl RequestContext {
    /// Asks the client's model with the tools that `request` offers, and asks again with their results until the model
    /// finishes. This tool loop works in every revision with tools in sampling (2025-11-25 and later).
    ///
    /// `use_tool` receives each tool use and returns the same types as a tool. An error is sent to the model. Each use
    /// runs once in all runs of the handler. The model is asked at most `turns` times, the last time without tools.
    ///
    /// # Errors
    /// Returns an error as [`ask_model`](Self::ask_model) does, and if the model still uses tools in the last turn.
    #[deprecated(
        note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
    )]
    #[expect(deprecated, reason = "it is deprecated itself")]
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
                // The results would not be sent to the model any more.
                break;
            }
            let mut results = Vec::with_capacity(uses.len());
            for (number, used) in uses.into_iter().enumerate() {
                let effect = format!("{key}/{turn}/{number}");
                let result = self.try_once(effect, run_tool(used, &use_tool)).await?;
                results.push(SamplingMessageContentBlock::ToolResult(result));
            }
            let assistant = SamplingMessage::new(message.role, message.content);
            request.messages.push(assistant);
            request.messages.push(SamplingMessage::user(results));
        }
        Err(ErrorObject::internal(format!(
            "the model did not finish after {turns} turns with tools"
        ))
        .into())
    }
}

/// Returns the tool uses of a message.
fn uses(message: &CreateMessageResult) -> Vec<ToolUseContent> {
    let blocks = message.content.blocks().iter();
    blocks
        .filter_map(|block| match block {
            SamplingMessageContentBlock::ToolUse(used) => Some(used.clone()),
            _ => None,
        })
        .collect()
}

/// Runs a tool use. An error for the model is part of the result. Other errors, such as missing input, end the handler.
async fn run_tool<M, F, Fut>(used: ToolUseContent, use_tool: &F) -> Result<ToolResultContent, Error>
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
        #[cfg(feature = "tasks")]
        Ok(ToolResponse::Task(_)) => {
            return Err(ErrorObject::internal("a tool of a model cannot return a task").into());
        }
        Err(error) => CallToolResult::error(error.into_text()?),
    };
    let mut content = ToolResultContent::new(id, result.content);
    content.structured_content = result.structured_content;
    content.is_error = result.is_error;
    Ok(content)
}
