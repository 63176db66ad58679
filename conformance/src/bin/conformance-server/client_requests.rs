//! Tools that send elicitations and sampling requests, with the forms and texts of the scenarios up to 2025-11-25.

use serde_json::{Map, Value};
use toolwire::ask::{self, ElicitOutcome};
use toolwire::types::{
    BooleanSchema, CreateMessageRequestParams, ElicitSchema, EnumOption, LegacyTitledEnumSchema,
    NumberSchema, SamplingMessage, StringSchema, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use toolwire::{RequestContext, Server, ToolError, tool};

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_sampling)
        .tool(test_elicitation)
        .tool(test_elicitation_sep1034_defaults)
        .tool(test_elicitation_sep1330_enums)
}

/// Sends a prompt to the client's model.
#[tool]
async fn test_sampling(
    ctx: &RequestContext,
    /// The prompt to send to the model.
    prompt: String,
) -> Result<String, ToolError> {
    let request = CreateMessageRequestParams::new([SamplingMessage::user(prompt)], 100);
    let response = ctx.ask_model("prompt", request).await?;
    let mut texts = response.content.blocks().iter();
    let text = texts.find_map(|block| block.as_text());
    Ok(format!("LLM response: {}", text.unwrap_or("(no text)")))
}

/// Asks the user for a name and an address.
#[tool]
async fn test_elicitation(
    ctx: &RequestContext,
    /// The message to show the user.
    message: String,
) -> Result<String, ToolError> {
    let form = ElicitSchema::new()
        .with_required(
            "username",
            StringSchema::new().with_description("User's response"),
        )
        .with_required(
            "email",
            StringSchema::new().with_description("User's email address"),
        );
    let (action, content) = fill_in(ctx, message, form).await?;
    Ok(format!(
        "User response: <action: {action}, content: {content}>"
    ))
}

/// Asks for one field of each type, all with defaults.
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: &RequestContext) -> Result<String, ToolError> {
    let states = ["active", "inactive", "pending"];
    let form = ElicitSchema::new()
        .with_optional("name", StringSchema::new().with_default("John Doe"))
        .with_optional("age", NumberSchema::integer().with_default(30.0))
        .with_optional("score", NumberSchema::number().with_default(95.5))
        .with_optional(
            "status",
            UntitledSingleSelectEnumSchema::new(states).with_default("active"),
        )
        .with_optional("verified", BooleanSchema::new().with_default(true));
    complete(ctx, "Please review the defaults", form).await
}

/// Asks for one choice of each kind.
#[tool]
async fn test_elicitation_sep1330_enums(ctx: &RequestContext) -> Result<String, ToolError> {
    let plain = ["option1", "option2", "option3"];
    let titled = |noun: &str| {
        [
            ("value1", "First"),
            ("value2", "Second"),
            ("value3", "Third"),
        ]
        .map(|(value, ordinal)| EnumOption::new(value, format!("{ordinal} {noun}")))
    };
    let form = ElicitSchema::new()
        .with_optional("untitledSingle", UntitledSingleSelectEnumSchema::new(plain))
        .with_optional(
            "titledSingle",
            TitledSingleSelectEnumSchema::new(titled("Option")),
        )
        .with_optional(
            "legacyEnum",
            LegacyTitledEnumSchema::new(
                ["opt1", "opt2", "opt3"],
                ["Option One", "Option Two", "Option Three"],
            ),
        )
        .with_optional("untitledMulti", UntitledMultiSelectEnumSchema::new(plain))
        .with_optional(
            "titledMulti",
            TitledMultiSelectEnumSchema::new(titled("Choice")),
        );
    complete(ctx, "Please choose", form).await
}

async fn complete(
    ctx: &RequestContext,
    message: &str,
    form: ElicitSchema,
) -> Result<String, ToolError> {
    let (action, content) = fill_in(ctx, message, form).await?;
    Ok(format!(
        "Elicitation completed: action={action}, content={content}"
    ))
}

/// Returns the user's action and the content of the form.
async fn fill_in(
    ctx: &RequestContext,
    message: impl Into<String>,
    form: ElicitSchema,
) -> Result<(&'static str, Value), ToolError> {
    let nothing = || Value::Object(Map::new());
    Ok(
        match ctx
            .ask_with(ask::dynamic_form("form", message, form))
            .await?
        {
            ElicitOutcome::Accepted(content) => ("accept", content.into_iter().collect()),
            ElicitOutcome::Declined => ("decline", nothing()),
            ElicitOutcome::Cancelled => ("cancel", nothing()),
        },
    )
}
