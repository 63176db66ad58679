//! The step that reads the lists of a server.

use std::time::Instant;

use toolwire::Client;

use crate::commands::doctor::steps::Steps;
use crate::failure::{Failure, Phase};

/// Reads the lists that the server declares. Returns `false` if one cannot be read.
pub(super) async fn check_lists(client: &Client, steps: &mut Steps) -> bool {
    let begun = Instant::now();
    match counts(client).await {
        Ok(counts) if counts.is_empty() => {
            steps.passed("lists", begun, "the server declares no lists");
            true
        }
        Ok(counts) => {
            steps.passed("lists", begun, counts.join(", "));
            true
        }
        Err((list, error)) => {
            let failure = Failure::of(&error, Phase::Calling).with_context(&format!("{list}: "));
            let remedy = "see the messages with --verbose, and check the log of the server";
            steps.failed("lists", begun, &failure, remedy);
            false
        }
    }
}

async fn counts(client: &Client) -> Result<Vec<String>, (&'static str, toolwire::Error)> {
    let server = client.server();
    let capabilities = server.map(|server| server.capabilities.clone());
    let capabilities = capabilities.unwrap_or_default();
    let mut counts = Vec::new();
    if capabilities.tools.is_some() {
        let tools = client.list_tools().await;
        let tools = tools.map_err(|error| ("tools/list", error))?;
        counts.push(counted(tools.len(), "tool"));
    }
    if capabilities.prompts.is_some() {
        let prompts = client.list_prompts().await;
        let prompts = prompts.map_err(|error| ("prompts/list", error))?;
        counts.push(counted(prompts.len(), "prompt"));
    }
    if capabilities.resources.is_some() {
        let resources = client.list_resources().await;
        let resources = resources.map_err(|error| ("resources/list", error))?;
        counts.push(counted(resources.len(), "resource"));
    }
    Ok(counts)
}

fn counted(count: usize, name: &str) -> String {
    match count {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    }
}
