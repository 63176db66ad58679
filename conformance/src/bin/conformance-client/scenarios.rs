//! The calls of each scenario.

use std::error::Error;

use serde::Serialize;
use serde_json::json;
use toolwire::types::CallToolResult;
use toolwire::{Client, RawJson};

use crate::parameters::{Context, Parameters};

/// The reason why a scenario failed to run.
pub(crate) type Problem = Box<dyn Error + Send + Sync>;

/// Makes the calls of the scenario.
pub(crate) async fn run_scenario(client: &Client, parameters: &Parameters) -> Result<(), Problem> {
    match parameters.scenario.as_str() {
        // These scenarios check connecting and listing.
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => list(client).await,
        "tools_call" => call(client, "add_numbers", json!({"a": 5, "b": 3})).await,
        "elicitation-sep1034-client-defaults" => {
            call(client, "test_client_elicitation_defaults", json!({})).await
        }
        "sse-retry" => call(client, "test_reconnection", json!({})).await,
        "sep-2322-client-request-state" => respond_to_elicitation(client).await,
        "http-standard-headers" => use_all_features(client).await,
        "http-custom-headers" => make_calls(client, &parameters.context).await,
        "http-invalid-tool-headers" => call_listed_tools(client).await,
        "json-schema-2020-12-preservation" => echo_schema(client).await,
        "sep-2640-client-no-prefetch" => list_skills(client).await,
        // The files of these skills differ from their entries, so that loading them must fail.
        verify if verify.starts_with("sep-2640-client-verify-") => load_skills(client).await,
        // These scenarios check authorization. Some servers also need a call afterwards.
        auth if auth.starts_with("auth/") => call_all_tools(client).await,
        other => Err(format!("{other} is not a scenario of this client").into()),
    }
}

async fn list(client: &Client) -> Result<(), Problem> {
    client.list_tools().await?;
    Ok(())
}

async fn call_all_tools(client: &Client) -> Result<(), Problem> {
    for tool in client.list_tools().await? {
        succeeded(&tool.name, &client.call_tool(&tool.name, json!({})).await?)?;
    }
    Ok(())
}

/// Lists the tools and calls one.
async fn call(client: &Client, tool: &str, arguments: impl Serialize) -> Result<(), Problem> {
    client.list_tools().await?;
    succeeded(tool, &client.call_tool(tool, arguments).await?)
}

/// Makes an unrelated call while the first one waits for input, so that the suite can check that they are separate.
async fn respond_to_elicitation(client: &Client) -> Result<(), Problem> {
    client.list_tools().await?;
    let (elicited, unrelated) = tokio::join!(
        client
            .call_tool("test_mrtr_echo_state", json!({}))
            .into_future(),
        client
            .call_tool("test_mrtr_unrelated", json!({}))
            .into_future(),
    );
    succeeded("test_mrtr_echo_state", &elicited?)?;
    succeeded("test_mrtr_unrelated", &unrelated?)?;
    for tool in ["test_mrtr_no_state", "test_mrtr_no_result_type"] {
        succeeded(tool, &client.call_tool(tool, json!({})).await?)?;
    }
    Ok(())
}

async fn use_all_features(client: &Client) -> Result<(), Problem> {
    for tool in client.list_tools().await? {
        succeeded(&tool.name, &client.call_tool(&tool.name, json!({})).await?)?;
    }
    for resource in client.list_resources().await? {
        client.read_resource(resource.uri).await?;
    }
    for prompt in client.list_prompts().await? {
        client.get_prompt(prompt.name, NO_ARGUMENTS).await?;
    }
    Ok(())
}

const NO_ARGUMENTS: [(&str, &str); 0] = [];

async fn make_calls(client: &Client, context: &Context) -> Result<(), Problem> {
    client.list_tools().await?;
    if context.tool_calls.is_empty() {
        return Err("the scenario names no calls".into());
    }
    for call in &context.tool_calls {
        let result = client.call_tool(&call.name, &call.arguments).await?;
        succeeded(&call.name, &result)?;
    }
    Ok(())
}

/// Tools with invalid annotations are not listed, so they are not called.
async fn call_listed_tools(client: &Client) -> Result<(), Problem> {
    for tool in client.list_tools().await? {
        let call = client.call_tool(&tool.name, json!({"region": "us-west1"}));
        succeeded(&tool.name, &call.await?)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Echo {
    schema: RawJson,
}

async fn echo_schema(client: &Client) -> Result<(), Problem> {
    let tools = client.list_tools().await?;
    let tool = tools
        .into_iter()
        .find(|tool| tool.name == "json_schema_2020_12_tool")
        .ok_or("json_schema_2020_12_tool is not in the list")?;
    let echo = Echo {
        schema: tool.input_schema,
    };
    let result = client.call_tool("json_schema_echo", echo).await?;
    succeeded("json_schema_echo", &result)
}

/// Lists the skills, and reads none of them.
async fn list_skills(client: &Client) -> Result<(), Problem> {
    if client.list_skills().await?.is_empty() {
        return Err("the server lists no skills".into());
    }
    Ok(())
}

/// Loads every skill, and reads another file of it.
async fn load_skills(client: &Client) -> Result<(), Problem> {
    for entry in client.list_skills().await? {
        let skill = client.load_skill(&entry).await?;
        skill.read("references/FORMS.md").await?;
    }
    Ok(())
}

/// Returns an error if the tool reported an error, which no scenario expects.
fn succeeded(tool: &str, result: &CallToolResult) -> Result<(), Problem> {
    match result.is_error {
        Some(true) => Err(format!("{tool} failed: {:?}", result.content).into()),
        _ => Ok(()),
    }
}
