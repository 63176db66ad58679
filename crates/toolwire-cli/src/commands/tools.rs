//! Lists the tools of a server.

use toolwire::Tool;
use toolwire_proto::similar_names::similar;

use crate::commands::{Session, failed, is_unknown_method};
use crate::failure::{Exit, Failure};
use crate::show;

/// Lists tools, or shows one tool.
pub(crate) async fn list_tools(session: &Session, name: Option<String>) -> Result<Exit, Failure> {
    let screen = &session.screen;
    let tools = offered_tools(session).await?;
    match (name, tools) {
        (None, None) => return session.no_list("tools"),
        (None, Some(tools)) if screen.json => screen.print_json(&tools)?,
        (None, Some(tools)) => screen.print(&show::tools(&tools, screen.style))?,
        (Some(name), tools) => {
            let tools = tools.unwrap_or_default();
            let tool = find_tool(&name, &tools)?;
            if screen.json {
                screen.print_json(tool)?;
            } else {
                screen.print(&show::tool(tool, screen.style))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns all tools. Returns `None` if the server does not offer a list of tools.
pub(super) async fn offered_tools(session: &Session) -> Result<Option<Vec<Tool>>, Failure> {
    if !session.declares(|capabilities| capabilities.tools.is_some()) {
        return Ok(None);
    }
    match session.client.list_tools().await {
        Ok(tools) => Ok(Some(tools)),
        Err(error) if is_unknown_method(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the tool with this name. The failure names similar tools.
pub(super) fn find_tool<'a>(name: &str, tools: &'a [Tool]) -> Result<&'a Tool, Failure> {
    let tool = tools.iter().find(|tool| tool.name == name);
    tool.ok_or_else(|| {
        let failure = Failure::new(Exit::Protocol, format!("the server has no tool `{name}`"));
        let candidates = similar(name, tools.iter().map(|tool| tool.name.as_str()));
        if candidates.is_empty() {
            failure.with_advice("`toolwire tools` lists the tools")
        } else {
            failure.with_advice(candidates.join(" or "))
        }
    })
}
