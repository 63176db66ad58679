//! A gateway: tools that are known only at run time, and JSON that passes through unparsed.
//!
//! The descriptors come from a file, the arguments go to another service, and the results come back. Nothing is decoded
//! unnecessarily, so numbers retain all digits and members retain their order.
//! Run it with `cargo run -p toolwire-examples --example raw_gateway`, or give that command to an MCP client.

use std::error::Error;

use toolwire::{CallToolResult, RawJson, RequestContext, Server, Tool, ToolHandler};

/// The tools of the service behind the gateway, as it describes them.
const OFFERED: &str = include_str!("raw_gateway.json");

/// The service behind the gateway. A real one is reached over a network; this one echoes the arguments.
async fn ask_upstream(tool: &str, arguments: &RawJson) -> String {
    format!(
        r#"{{"content":[{{"type":"text","text":"{tool} responded"}}],"structuredContent":{{"got":{arguments}}}}}"#
    )
}

/// Returns a tool that forwards calls.
fn pass_on(descriptor: Tool) -> ToolHandler {
    let name = descriptor.name.clone();
    let checks_for_itself = name == "ledger.search";
    let tool = ToolHandler::raw(descriptor, move |_: RequestContext, arguments: RawJson| {
        let name = name.clone();
        async move {
            let answer = ask_upstream(&name, &arguments).await;
            serde_json::from_str::<CallToolResult>(&answer)
        }
    });
    // Arguments are checked against the descriptor's schema, unless the service checks them itself.
    if checks_for_itself {
        tool.without_argument_check()
    } else {
        tool
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let offered: Vec<Tool> = serde_json::from_str(OFFERED)?;
    let gateway = Server::new("gateway", "1.0.0");
    for descriptor in offered {
        // External data may be invalid, so this uses `add_tool`, which returns an error, and not `tool`, which panics.
        gateway.add_tool(pass_on(descriptor))?;
    }
    Ok(gateway.serve_stdio().await?)
}
