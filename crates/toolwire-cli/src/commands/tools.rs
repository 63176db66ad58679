//! Lists the tools of a server.

use toolwire::{Client, Tool};

use crate::commands::{Session, failed, is_unknown_method, similar};
use crate::failure::{Exit, Failure};
use crate::show;

/// Lists tools, or shows one tool.
pub(crate) async fn list_tools(session: &Session, name: Option<String>) -> Result<Exit, Failure> {
    let screen = &session.screen;
    let tools = session.client.list_tools().await.map_err(failed)?;
    match name {
        None if screen.json => screen.print_json(&tools)?,
        None => screen.print(&show::tools(&tools, screen.style))?,
        Some(name) => {
            let tool = tools.iter().find(|tool| tool.name == name);
            let tool = tool.ok_or_else(|| {
                with_similar_tools(
                    Failure::new(Exit::Protocol, format!("the server has no tool `{name}`")),
                    &name,
                    &tools,
                )
            })?;
            if screen.json {
                screen.print_json(tool)?;
            } else {
                screen.print(&show::tool(tool, screen.style))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns all tools. Returns no tools if the server has no tool list.
pub(super) async fn known_tools(client: &Client) -> Result<Vec<Tool>, Failure> {
    match client.list_tools().await {
        Ok(tools) => Ok(tools),
        Err(error) if is_unknown_method(&error) => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

/// Adds the names of similar tools to a failure.
pub(super) fn with_similar_tools(failure: Failure, name: &str, tools: &[Tool]) -> Failure {
    let candidates = similar(name, tools.iter().map(|tool| tool.name.as_str()));
    if candidates.is_empty() {
        failure.with_advice("`toolwire tools` lists the tools")
    } else {
        failure.with_advice(candidates.join(" or "))
    }
}
