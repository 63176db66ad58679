//! Finds the tools of a record that may change something if they are called again.

use toolwire::relay::Relay;
use toolwire::types::Tool;
use toolwire::{ClientBuilder, Error};

use crate::record::Record;
use crate::replay::against::called_tools;

/// Returns the names of the tools that a replay would call and that the server does not declare as read-only.
///
/// # Errors
/// Returns an error if the tools of the server cannot be listed.
pub(crate) async fn changing_tools(record: &Record, relay: &Relay) -> Result<Vec<String>, Error> {
    let mut called = called_tools(record);
    if called.is_empty() {
        return Ok(called);
    }
    let client = ClientBuilder::new("toolwire", env!("CARGO_PKG_VERSION"))
        .in_process(relay.server())
        .await?;
    let tools = client.list_tools().await;
    client.close().await;
    let tools = tools?;
    called.retain(|name| {
        let tool = tools.iter().find(|tool| tool.name == *name);
        !tool.is_some_and(is_read_only)
    });
    Ok(called)
}

fn is_read_only(tool: &Tool) -> bool {
    let hints = tool.annotations.as_ref();
    hints.and_then(|hints| hints.read_only_hint) == Some(true)
}
