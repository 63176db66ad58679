//! The tools of `bench-server`, served by rmcp: `rmcp-server http PORT N` or `rmcp-server stdio 0 N`. `http2` is the
//! same as `http`, because the listener detects the version.
//!
//! Configured for speed: one router for all requests, JSON responses where the SDK permits them, no delayed writes.
//! `rmcp-server streams PORT N` is `http` with one more tool, `change`, which notifies all open streams that the list
//! of tools has changed.

use std::borrow::Cow;
use std::error::Error;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    ProgressNotificationParam, ProtocolVersion, RequestMetaObject, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::SubscriptionContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler, ServiceExt as _, tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::watch;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    n: usize,
}

struct Bench {
    tools: ToolRouter<Self>,
    changes: watch::Sender<u64>,
}

#[tool_router]
impl Bench {
    /// Repeats a text.
    #[tool]
    async fn echo(&self, Parameters(input): Parameters<Text>) -> String {
        input.text
    }

    /// Gives as many bytes as asked for.
    #[tool]
    async fn big(&self, Parameters(input): Parameters<Count>) -> String {
        "x".repeat(input.n)
    }

    /// Reports progress as often as asked for.
    #[tool]
    async fn progress(
        &self,
        Parameters(input): Parameters<Count>,
        meta: RequestMetaObject,
        client: Peer<RoleServer>,
    ) -> Result<String, ErrorData> {
        let token = meta
            .get_progress_token()
            .ok_or_else(|| ErrorData::invalid_params("no progress token", None))?;
        for step in 1..=input.n {
            let notification = ProgressNotificationParam::new(token.clone(), step as f64)
                .with_total(input.n as f64);
            client
                .notify_progress(notification)
                .await
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
        Ok("done".to_owned())
    }

    /// Notifies all streams.
    #[tool]
    async fn change(&self) -> String {
        self.changes.send_modify(|count| *count += 1);
        "changed".to_owned()
    }
}

impl Bench {
    fn new(tools: usize) -> Self {
        let mut router = Self::tool_router();
        let present = if tools >= 3 { 3 } else { 1 };
        if tools < 3 {
            router.remove_route("big");
            router.remove_route("progress");
        }
        let schema = Self::echo_tool_attr().input_schema;
        for number in present..tools {
            let tool = Tool::new(
                format!("tool_{number:04}"),
                "One of many.",
                Arc::clone(&schema),
            );
            router.add_route(ToolRoute::new(tool, Self::echo));
        }
        Self {
            tools: router,
            changes: watch::Sender::new(0),
        }
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Bench {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[ProtocolVersion::V_2026_07_28, ProtocolVersion::V_2025_11_25])
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

async fn serve(transport: &str, port: u16, tools: usize) -> Result<(), Box<dyn Error>> {
    let mut server = Bench::new(tools);
    if transport != "streams" {
        server.tools.remove_route("change");
    }
    let server = Arc::new(server);
    if transport == "stdio" {
        server
            .serve(rmcp::transport::stdio())
            .await?
            .waiting()
            .await?;
        return Ok(());
    }
    let service: StreamableHttpService<Arc<Bench>, LocalSessionManager> =
        StreamableHttpService::new(
            move || Ok(Arc::clone(&server)),
            Arc::default(),
            StreamableHttpServerConfig::default().with_json_response(true),
        );
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let listener = listener.tap_io(|stream| {
        // Without it, a stream is only slower.
        let _ = stream.set_nodelay(true);
    });
    let router = axum::Router::new().route_service("/mcp", service);
    Ok(axum::serve(listener, router).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: rmcp-server http|http2|streams PORT N | rmcp-server stdio 0 N";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [transport, port, tools] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    serve(transport, port.parse()?, tools.parse()?).await
}
