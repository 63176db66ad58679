//! Gateways in front of real servers.

mod exchange;
mod front;
mod hostile;
mod logins;
mod many_tools;
mod offers;
mod pins;
mod reload;
mod rules;
mod security;
mod tasks;
mod uri_rules;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::task::AbortHandle;
use toolwire::middleware::{Middleware, Next, Outcome, Request};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::types::ToolAnnotations;
use toolwire::{BoxFuture, Client, RequestContext, Server, ToolHandler};

use crate::config::GatewayConfig;
use crate::connection::GatewayOptions;
use crate::gateway::Gateway;
use crate::scratch::Scratch;

/// The longest time for one step of a test.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// A server behind the gateway, over HTTP.
pub(super) struct TestUpstream {
    pub(super) server: Server,
    pub(super) url: String,
    /// The number of discoveries, which is that of connections.
    pub(super) discoveries: Arc<AtomicUsize>,
    /// The requests for single entries that reached the server: the method, and the name or URI.
    pub(super) received: Arc<Mutex<Vec<String>>>,
    serving: AbortHandle,
}

impl TestUpstream {
    pub(super) async fn start(server: Server) -> Self {
        let discoveries = Arc::new(AtomicUsize::new(0));
        let received = Arc::new(Mutex::new(Vec::new()));
        let recorder = RequestRecorder {
            discoveries: Arc::clone(&discoveries),
            received: Arc::clone(&received),
        };
        let server = server.with_middleware(recorder);
        let options = HttpOptions::new().without_signals();
        let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options).await;
        let listener = listener.expect("a port is free");
        let url = listener.url().to_owned();
        let serving = tokio::spawn(listener.run()).abort_handle();
        Self {
            server,
            url,
            discoveries,
            received,
            serving,
        }
    }

    /// Returns the requests for single entries that reached the server since the last call.
    pub(super) fn take_received(&self) -> Vec<String> {
        std::mem::take(&mut self.received.lock().unwrap())
    }
}

impl Drop for TestUpstream {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct RequestRecorder {
    discoveries: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<String>>>,
}

impl Middleware for RequestRecorder {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        if request.method() == "server/discover" {
            self.discoveries.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(name) = request.name() {
            let received = format!("{} {name}", request.method());
            self.received.lock().unwrap().push(received);
        }
        Box::pin(next.run(request))
    }
}

/// Returns a tool that responds with its name.
pub(super) fn named_tool(name: &'static str, description: &str) -> ToolHandler {
    let mut tool = ToolHandler::typed(name, move |_: RequestContext, _: Value| async move { name });
    tool = tool.with_description(description);
    tool.with_annotations(ToolAnnotations::default())
}

/// Returns a server with these tools.
pub(super) fn server_with(tools: &[&'static str]) -> Server {
    let server = Server::new("upstream", "1.0.0");
    let add = |server: Server, name: &&'static str| server.tool(named_tool(name, "a tool"));
    tools.iter().fold(server, add)
}

/// Starts a gateway with a configuration in a directory of its own.
pub(super) async fn start(scratch: &Scratch, text: &str) -> Gateway {
    let gateway = Gateway::new(parse(scratch, text), GatewayOptions::new());
    let gateway = gateway.unwrap_or_else(|error| panic!("{error}"));
    within(gateway.connect_all()).await;
    gateway
}

pub(super) fn parse(scratch: &Scratch, text: &str) -> GatewayConfig {
    let file = scratch.path("gateway.toml").display().to_string();
    let config = GatewayConfig::parse(&file, text, &|_| None);
    config.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the table of an upstream, with further lines.
pub(super) fn table(name: &str, upstream: &TestUpstream, lines: &str) -> String {
    format!("[upstream.{name}]\nurl = {:?}\n{lines}\n", upstream.url)
}

pub(super) async fn client(gateway: &Gateway) -> Client {
    let client = within(Client::in_process(gateway.server())).await;
    client.expect("the server is in this process")
}

/// Returns the names of the tools.
pub(super) async fn tools(client: &Client) -> Vec<String> {
    let tools = within(
        client
            .list_tools()
            .with_cache(toolwire::CacheMode::Bypass)
            .into_future(),
    )
    .await;
    let tools = tools.expect("the list is returned");
    tools.into_iter().map(|tool| tool.name).collect()
}

/// Calls a tool without arguments, and returns its text or the message of the error.
pub(super) async fn call(client: &Client, name: &str) -> Result<String, String> {
    call_with(client, name, serde_json::json!({})).await
}

pub(super) async fn call_with(
    client: &Client,
    name: &str,
    arguments: Value,
) -> Result<String, String> {
    let result = within(client.call_tool(name, arguments).into_future()).await;
    match result {
        Ok(result) => Ok(result.content[0].as_text().unwrap_or_default().to_owned()),
        Err(error) => Err(error
            .rpc()
            .map_or(error.to_string(), |rpc| rpc.message.to_string())),
    }
}

pub(super) async fn within<T>(step: impl Future<Output = T>) -> T {
    let step = tokio::time::timeout(STEP_TIMEOUT, step).await;
    step.expect("the step ends in time")
}

/// Waits until a condition holds.
pub(super) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    within(async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
