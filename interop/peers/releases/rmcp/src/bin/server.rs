//! A small server with rmcp: two tools, a resource and a prompt.
//!
//! `interop-rmcp-server stdio`, or `interop-rmcp-server http PORT`.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument,
    PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, Role, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;

const MOTTO: &str = "demo://motto";

#[derive(Clone, Copy)]
struct Small;

impl ServerHandler for Small {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("interop-release", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Arc::new(text_schema());
        let tools = [("echo", "Repeats a text."), ("fail", "Fails with a text.")];
        let tools = tools.map(|(name, description)| Tool::new(name, description, schema.clone()));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = text_of(request.arguments.as_ref(), "text")?;
        let content = vec![ContentBlock::text(text)];
        match &*request.name {
            "echo" => Ok(CallToolResult::success(content).into()),
            "fail" => Ok(CallToolResult::error(content).into()),
            name => Err(ErrorData::invalid_params(
                format!("there is no tool {name}"),
                None,
            )),
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(
            MOTTO, "motto",
        )]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != MOTTO {
            return Err(ErrorData::resource_not_found(
                format!("there is no {}", request.uri),
                None,
            ));
        }
        let contents = ResourceContents::text("less is more", MOTTO);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        let greet = Prompt::new("greet", Some("Greets a person."), Some(vec![name]));
        Ok(ListPromptsResult::with_all_items(vec![greet]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = text_of(request.arguments.as_ref(), "name")?;
        let message = PromptMessage::new_text(Role::User, format!("Say hello to {name}."));
        Ok(GetPromptResult::new(vec![message]).into())
    }
}

fn text_schema() -> JsonObject {
    [
        ("type", json!("object")),
        ("properties", json!({"text": {"type": "string"}})),
        ("required", json!(["text"])),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn text_of(arguments: Option<&JsonObject>, name: &str) -> Result<String, ErrorData> {
    arguments
        .and_then(|arguments| arguments.get(name)?.as_str())
        .map(str::to_owned)
        .ok_or_else(|| ErrorData::invalid_params(format!("the argument {name} is missing"), None))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["stdio"] => {
            let service = Small.serve(rmcp::transport::stdio()).await?;
            service.waiting().await?;
        }
        ["http", port] => {
            let service: StreamableHttpService<Small, LocalSessionManager> =
                StreamableHttpService::new(
                    || Ok(Small),
                    Arc::default(),
                    StreamableHttpServerConfig::default(),
                );
            let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port.parse()?));
            let router = axum::Router::new().route_service("/mcp", service);
            axum::serve(listener.await?, router).await?;
        }
        _ => return Err("usage: interop-rmcp-server stdio | http PORT".into()),
    }
    Ok(())
}
