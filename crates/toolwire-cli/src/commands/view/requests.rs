//! Serves the requests of a view: tool calls, resources, links and messages.

use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::apps::host::{ViewEvent, ViewRequest};
use toolwire::{Client, Error, ErrorObject, RawJson};

use crate::commands::Session;
use crate::commands::view::Arguments;
use crate::commands::view::loaded_view::{LoadedView, PageEvent, Requests, shortened};
use crate::screen::Screen;
use crate::show::plain_text;

/// The work of the host for a view.
pub(super) struct HostRequests {
    client: Client,
    screen: Arc<Screen>,
    view: Arc<LoadedView>,
    requests: Requests,
}

impl HostRequests {
    pub(super) fn new(session: &Session, view: &Arc<LoadedView>, requests: Requests) -> Self {
        Self {
            client: session.client.clone(),
            screen: Arc::clone(&session.screen),
            view: Arc::clone(view),
            requests,
        }
    }

    /// Calls the tool, and serves the requests of its view as long as the command runs.
    pub(super) async fn run(mut self, tool: &str, arguments: Arguments) {
        self.view
            .tool_input(Value::Object(arguments.clone()).into());
        let params = json!({"name": tool, "arguments": arguments});
        let call = self.client.request("tools/call", params);
        let (view, screen) = (Arc::clone(&self.view), Arc::clone(&self.screen));
        tokio::spawn(async move {
            let result = call.await.map_err(|error| {
                let error = plain_text(&error.to_string()).into_owned();
                screen.warn(&format!("the call failed: {error}"));
                error
            });
            view.tool_result(result);
        });
        while let Some((load, event)) = self.requests.recv().await {
            match event {
                PageEvent::View(event) => self.serve(load, event),
                PageEvent::Log(text) => {
                    let text = format!("log of the view: {text}");
                    self.screen.show_line(&plain_text(&text));
                }
                PageEvent::Blocked(report) => {
                    let text = format!("stopped the view from loading another page: {report}");
                    self.screen.warn(&plain_text(&text));
                }
            }
        }
    }

    fn serve(&self, load: u64, event: ViewEvent) {
        let show = |text: String| self.screen.show_line(&plain_text(&shortened(&text)));
        match event {
            ViewEvent::CallTool {
                request,
                name,
                arguments,
            } => {
                let arguments = arguments.to_value().unwrap_or_default();
                let params = json!({"name": name, "arguments": arguments});
                self.forward(load, request, "tools/call", params);
            }
            ViewEvent::ReadResource { request, uri } => {
                self.forward(load, request, "resources/read", json!({ "uri": uri }));
            }
            ViewEvent::OpenLink { request, url } => {
                show(format!("the view asks to open {url}"));
                self.view.show_url(load, &url);
                self.accept(load, request);
            }
            ViewEvent::Message { request, content } => {
                show(format!("message of the view: {content}"));
                self.accept(load, request);
            }
            ViewEvent::UpdateModelContext { request, params } => {
                show(format!("context for the model: {params}"));
                self.accept(load, request);
            }
            ViewEvent::Ignored(reason) => show(format!("ignored a message of the view: {reason}")),
            ViewEvent::Initialized => show("the view is ready".to_owned()),
            _ => {}
        }
    }

    /// Sends a request of the view to its server.
    fn forward(&self, load: u64, request: ViewRequest, method: &'static str, params: Value) {
        let view = Arc::clone(&self.view);
        let call = self.client.request(method, params);
        tokio::spawn(async move {
            let outcome = call.await.map_err(error_of);
            view.respond(load, request, outcome);
        });
    }

    fn accept(&self, load: u64, request: ViewRequest) {
        self.view
            .respond(load, request, Ok(RawJson::empty_object()));
    }
}

/// Returns the error of the server, or an error that the call failed on the way.
fn error_of(error: Error) -> ErrorObject {
    match error.rpc() {
        Some(rpc) => rpc.clone(),
        None => ViewRequest::declined(error.to_string()),
    }
}
