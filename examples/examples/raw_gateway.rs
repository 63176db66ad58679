//! A gateway: tools that are known only at run time, and JSON that passes through unparsed.
//!
//! The descriptors come from a file, the arguments go to another service, and the results come back. The JSON is not
//! converted, so numbers retain all digits and members retain their order.
//! Run it with `cargo run -p toolwire-examples --example raw_gateway`, or give that command to an MCP client.

use std::error::Error;

use toolwire::{CallToolResult, RawJson, RequestContext, Server, Tool, ToolHandler};

/// The descriptors of the service's tools.
const DESCRIPTORS: &str = include_str!("raw_gateway.json");

/// The service behind the gateway. A real gateway sends a network request. This function echoes the arguments.
async fn call_service(tool: &str, arguments: &RawJson) -> String {
    format!(
        r#"{{"content":[{{"type":"text","text":"{tool} responded"}}],"structuredContent":{{"got":{arguments}}}}}"#
    )
}

/// Returns a tool that forwards its calls to the service.
fn forwarding_tool(descriptor: Tool) -> ToolHandler {
    let name = descriptor.name.clone();
    let service_checks_arguments = name == "payments.search";
    let tool = ToolHandler::raw(descriptor, move |_: RequestContext, arguments: RawJson| {
        let name = name.clone();
        async move {
            let result = call_service(&name, &arguments).await;
            serde_json::from_str::<CallToolResult>(&result)
        }
    });
    // Arguments are checked against the descriptor's schema, unless the service checks them itself.
    if service_checks_arguments {
        tool.without_argument_check()
    } else {
        tool
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let descriptors: Vec<Tool> = serde_json::from_str(DESCRIPTORS)?;
    let gateway = Server::new("gateway", "1.0.0");
    for descriptor in descriptors {
        // External data may be invalid, so this uses `add_tool`, which returns an error, and not `tool`, which panics.
        gateway.add_tool(forwarding_tool(descriptor))?;
    }
    Ok(gateway.serve_stdio().await?)
}
