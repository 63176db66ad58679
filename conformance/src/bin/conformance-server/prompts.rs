//! The prompts and the completion of their arguments.

use serde::Deserialize;
use toolwire::types::TextResourceContents;
use toolwire::{
    CompletionValues, ContentBlock, Elicit, PromptMessage, RequestContext, Server, ToolError,
    prompt,
};

use crate::content::RED_PIXEL_PNG;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .prompt(test_simple_prompt)
        .prompt(test_prompt_with_arguments)
        .prompt(test_prompt_with_embedded_resource)
        .prompt(test_prompt_with_image)
        .prompt(test_input_required_result_prompt)
}

/// Returns a text.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// Repeats its arguments.
#[prompt]
fn test_prompt_with_arguments(
    /// First test argument.
    #[arg(complete = cities)]
    arg1: String,
    /// Second test argument.
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

fn cities(typed: &str) -> CompletionValues {
    CompletionValues::prefix_match(typed, ["paris", "park", "party"])
}

/// Returns an embedded resource.
#[prompt]
fn test_prompt_with_embedded_resource(
    /// URI of the resource to embed.
    #[arg(name = "resourceUri")]
    resource_uri: String,
) -> Vec<PromptMessage> {
    let resource =
        TextResourceContents::new(resource_uri, "Embedded resource content for testing.");
    vec![
        PromptMessage::user(ContentBlock::resource(
            resource.with_mime_type("text/plain"),
        )),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

/// Returns an image.
#[prompt]
fn test_prompt_with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(ContentBlock::image(RED_PIXEL_PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}

#[derive(Deserialize, Elicit)]
struct Background {
    context: String,
}

/// Asks the user for the context of the prompt.
#[prompt]
async fn test_input_required_result_prompt(ctx: &RequestContext) -> Result<String, ToolError> {
    let message = "What context should the prompt use?";
    let Background { context } = ctx.ask("user_context", message).await?;
    Ok(format!("Use this context: {context}"))
}
