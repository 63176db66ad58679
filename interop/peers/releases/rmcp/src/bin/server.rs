//! A small server with rmcp: two tools, one more tool whose calls become tasks, a resource and a prompt.
//!
//! `interop-rmcp-server stdio`, or `interop-rmcp-server http PORT`.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    CreateTaskResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, GetTaskParams,
    GetTaskResult, Implementation, JsonObject, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, Role, ServerCapabilities, ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskManager, TaskOptions};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::json;

const MOTTO: &str = "demo://motto";

const POLL_INTERVAL_MS: u64 = 100;

/// The server. Over HTTP every request has a clone of it, and all share the tasks.
#[derive(Clone, Default)]
struct Small {
    tasks: TaskManager,
}

impl ServerHandler for Small {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_tasks()
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
        let mut tools = Vec::from(tools);
        tools.push(Tool::new("bake", "Bakes a cake.", Arc::new(cake_schema())));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "bake" {
            let cake = Cake::of(&request.arguments.unwrap_or_default())?;
            let options = TaskOptions::new().with_poll_interval_ms(POLL_INTERVAL_MS);
            let baking = |task| -> TaskFuture { Box::pin(cake.bake(task)) };
            let task = self.tasks.spawn(options, baking);
            return Ok(CallToolResponse::Task(CreateTaskResult::new(task)));
        }
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

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let UpdateTaskParams {
            task_id,
            input_responses,
            ..
        } = request;
        self.tasks.update_task(&task_id, input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}

/// The arguments of the tool `bake`, which are those of the tool of `toolwire demo`.
struct Cake {
    layers: u64,
    delay: Duration,
    degrees: u64,
    ask: bool,
}

impl Cake {
    fn of(arguments: &JsonObject) -> Result<Self, ErrorData> {
        let number = |name: &str| arguments.get(name)?.as_u64();
        let missing = || ErrorData::invalid_params("the argument layers is missing", None);
        Ok(Self {
            layers: number("layers").ok_or_else(missing)?,
            delay: Duration::from_millis(number("delay_ms").unwrap_or(100)),
            degrees: number("degrees").unwrap_or(180),
            ask: arguments.get("ask").is_some_and(|ask| ask == true),
        })
    }

    async fn bake(self, task: TaskContext) -> Result<CallToolResult, TaskExit> {
        let layers = self.layers;
        for layer in 1..=layers {
            tokio::select! {
                () = task.cancelled() => return Err(TaskExit::Cancelled),
                () = tokio::time::sleep(self.delay) => {}
            }
            task.set_status_message(format!("{layer}/{layers} layers"));
        }
        if self.degrees > 300 {
            let content = vec![ContentBlock::text("the cake burned")];
            return Ok(CallToolResult::error(content));
        }
        let icing = self.ask && is_accepted(&task, "Add icing?").await?;
        let with_icing = if icing { " with icing" } else { "" };
        let text = format!("a cake of {layers} layers{with_icing}");
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }
}

/// Asks the client of a task.
async fn is_accepted(task: &TaskContext, message: &str) -> Result<bool, TaskExit> {
    let schema = json!({"type": "object", "properties": {}});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let request = json!({"method": "elicitation/create", "params": params});
    let request = serde_json::from_value(request)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let response = task.request_input("icing", request).await?;
    Ok(response["action"] == "accept")
}

fn cake_schema() -> JsonObject {
    let number = json!({"type": "integer"});
    let properties = json!({
        "layers": number, "delay_ms": number, "degrees": number, "ask": {"type": "boolean"},
    });
    [
        ("type", json!("object")),
        ("properties", properties),
        ("required", json!(["layers"])),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
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
            let service = Small::default().serve(rmcp::transport::stdio()).await?;
            service.waiting().await?;
        }
        ["http", port] => {
            let small = Small::default();
            let service: StreamableHttpService<Small, LocalSessionManager> =
                StreamableHttpService::new(
                    move || Ok(small.clone()),
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
