//! Calls a tool and shows its view in the browser, and bundles the files of a view.
//!
//! ```text
//!   host page (first origin) ─── proxy frame (second origin) ─── view (opaque origin)
//!        │ messages
//!   this command: the rules, and the client of the server
//! ```
//!
//! The pages pass messages on and contain no rules. Two listeners on the local machine are the two origins, and their
//! paths contain a random token that other programs and pages do not know.

mod bundle;
mod http;
mod item_queue;
mod loaded_view;
mod requests;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolwire::Tool;
use toolwire::apps::host::ViewHost;
use toolwire::types::Implementation;

use crate::commands::call::tool_arguments;
use crate::commands::tools::{find_tool, offered_tools};
use crate::commands::view::http::ViewListeners;
use crate::commands::view::loaded_view::LoadedView;
use crate::commands::view::requests::HostRequests;
use crate::commands::{Session, failed, first_and_rest};
use crate::failure::{Exit, Failure};
use crate::opened_page::OpenedPage;
use crate::show::plain_text;
use crate::tool_arguments::ParsedArguments;
use crate::view_arguments::Open;

pub(crate) use bundle::bundle_view;

/// A view to show, checked as far as possible without the server.
#[derive(Debug)]
pub(crate) struct ViewPlan {
    tool: String,
    given: ParsedArguments,
    may_open_browser: bool,
}

impl ViewPlan {
    pub(crate) fn new(open: &Open, words: Vec<String>) -> Result<Self, Failure> {
        let example = "toolwire view open SERVER TOOL name=value";
        let (tool, rest) = first_and_rest(words, "tool", example)?;
        Ok(Self {
            tool,
            given: ParsedArguments::read(open.request.args.as_deref(), &rest)?,
            may_open_browser: !open.no_browser,
        })
    }

    /// Shows the view until the command is interrupted.
    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let screen = &session.screen;
        let tools = offered_tools(session).await?.unwrap_or_default();
        let tool = find_tool(&self.tool, &tools)?;
        let arguments = tool_arguments(&self.given, Some(tool))?;
        for warning in &arguments.warnings {
            screen.warn(warning);
        }
        let document = session.client.view(tool).await.map_err(failed)?;
        let document = document.ok_or_else(|| {
            Failure::new(Exit::Protocol, format!("tool `{}` has no view", self.tool))
                .with_advice("`toolwire call` calls it without a view")
        })?;
        for warning in document.warnings() {
            screen.warn(&plain_text(&warning));
        }
        let (view, requests) = LoadedView::new(host(tool, &tools), document);
        let view = Arc::new(view);
        let listeners = ViewListeners::bind(&view).await.map_err(cannot_listen)?;
        let url = listeners.url();
        if screen.json {
            screen.print_json(&json!({ "url": url }))?;
        } else {
            screen.print(&format!("{url}\n"))?;
        }
        let may_open = self.may_open_browser && screen.is_watched();
        let _opened = may_open.then(|| OpenedPage::new(&url, screen));
        let requests = HostRequests::new(session, &view, requests);
        tokio::select! {
            () = listeners.run() => {}
            () = requests.run(&self.tool, arguments.values) => {}
        }
        Ok(Exit::Success)
    }
}

/// Returns what this command offers to a view.
fn host(tool: &Tool, tools: &[Tool]) -> ViewHost {
    let info = Implementation::new("toolwire", env!("CARGO_PKG_VERSION"));
    let tool = serde_json::to_value(tool).unwrap_or_default();
    ViewHost::new(info)
        .with_tools(tools)
        .with_resources()
        .with_open_links()
        .with_messages()
        .with_model_context()
        .with_logging()
        .with_context("toolInfo", json!({ "tool": tool }))
        .with_context("displayMode", "inline")
        .with_context("availableDisplayModes", json!(["inline"]))
        .with_context("platform", "web")
        .with_context(
            "userAgent",
            format!("toolwire/{}", env!("CARGO_PKG_VERSION")),
        )
}

fn cannot_listen(error: std::io::Error) -> Failure {
    let message = format!("cannot listen on this machine: {error}");
    Failure::new(Exit::NoConnection, message)
}

/// The arguments of the call that a view shows.
type Arguments = Map<String, Value>;
