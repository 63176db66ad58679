//! A server whose tools report their events to the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use toolwire::types::{ClientCapabilities, SamplingCapability};
use toolwire::{
    Error, PromptHandler, RequestContext, ResourceHandler, Server, Tool, ToolError, ToolHandler,
};

use crate::peer::{call, modern, plain, server, within};

/// An event of the tool `wait`, reported to the test.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandlerEvent {
    /// The handler has started.
    Started,
    /// The handler's future was dropped before it completed.
    Dropped,
    /// The handler has completed.
    Finished,
}

/// A server and the channels that connect its tools with the test.
#[derive(Debug)]
pub struct Fixture {
    /// The server with the tools.
    pub server: Server,
    runs: Arc<AtomicUsize>,
    events: UnboundedReceiver<HandlerEvent>,
    release: watch::Sender<usize>,
}

impl Fixture {
    /// Creates the server and its channels.
    pub fn new() -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let (sender, events) = unbounded_channel();
        let (release, released) = watch::channel(0);
        let server = server()
            .with_resource_subscriptions()
            .with_logging()
            .tool(count(Arc::clone(&runs)))
            .tool(routed(Arc::clone(&runs)))
            .tool(sampled(Arc::clone(&runs)))
            .tool(plain("steps", steps))
            .tool(plain("ask", ask))
            .tool(released_early(release.subscribe()))
            .tool(waiting(sender, released))
            .prompt(PromptHandler::new("greet", |_, _| async { "hi" }))
            .resource(ResourceHandler::new("notes://a", "a", |_, _| async { "a" }));
        Self {
            server,
            runs,
            events,
            release,
        }
    }

    /// Returns how often the counting tools have run.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Expects this event as the next one of `wait`.
    pub async fn expect(&mut self, expected: HandlerEvent) {
        let event = within(self.events.recv()).await;
        assert_eq!(event, Some(expected));
    }

    /// Expects that `wait` has reported no further event.
    pub fn expect_nothing(&mut self) {
        assert!(self.events.try_recv().is_err());
    }

    /// Releases one step of every running `wait`. A call ends after its second step.
    pub fn step(&self) {
        self.release.send_modify(|step| *step += 1);
    }
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns a valid request, whose result is the text `counted`.
pub fn count_call(id: impl Into<Value>) -> Value {
    call(id, "count", json!({"n": 1}))
}

/// Returns a call with a progress token.
pub fn with_token(id: impl Into<Value>, tool: &str, token: impl Into<Value>) -> Value {
    let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": token.into()}});
    modern(id, "tools/call", params)
}

/// Returns a tool that counts its runs and requires an integer argument.
fn count(runs: Arc<AtomicUsize>) -> ToolHandler {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    });
    ToolHandler::raw(Tool::new("count", schema), move |_, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { "counted" }
    })
}

/// Returns a tool that counts its runs and whose arguments are mirrored in headers.
fn routed(runs: Arc<AtomicUsize>) -> ToolHandler {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "shard": {"type": "integer", "x-mcp-header": "Shard"},
            "fast": {"type": "boolean", "x-mcp-header": "Fast"},
        },
    });
    ToolHandler::raw(Tool::new("routed", schema), move |_, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { "counted" }
    })
}

/// Returns a tool that counts its runs and requires the sampling capability.
fn sampled(runs: Arc<AtomicUsize>) -> ToolHandler {
    let needed = ClientCapabilities::new().with_sampling(SamplingCapability::new());
    plain("sampled", move |_| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { "counted" }
    })
    .requires(needed)
}

/// Reports two progress steps without waiting.
async fn steps(ctx: RequestContext) -> &'static str {
    ctx.report_steps(1, 2, Some("half"));
    ctx.report_steps(2, 2, None);
    "stepped"
}

/// Elicits a name from the user.
async fn ask(ctx: RequestContext) -> Result<String, ToolError> {
    let form = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let response = ctx.elicit("Who?", form).await;
    response.map_or_else(
        |error: Error| Err(ToolError::from(error)),
        |response| Ok(serde_json::to_string(&response).expect("responses are JSON")),
    )
}

/// Returns a tool that releases its response stream and ends after the next step.
fn released_early(released: watch::Receiver<usize>) -> ToolHandler {
    plain("release", move |ctx: RequestContext| {
        let mut released = released.clone();
        async move {
            let before = *released.borrow();
            ctx.report_progress(1.0, None, None);
            let polls = ctx.release_stream();
            if released.wait_for(|now| *now > before).await.is_err() {
                std::future::pending::<()>().await;
            }
            if polls { "polled" } else { "stayed" }
        }
    })
}

struct NotifyOnDrop {
    sender: UnboundedSender<HandlerEvent>,
    finished: bool,
}

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        let event = if self.finished {
            HandlerEvent::Finished
        } else {
            HandlerEvent::Dropped
        };
        // Fails if the test has ended.
        let _ = self.sender.send(event);
    }
}

/// Returns a tool that waits for two steps. It reports progress after each step and ends after the second.
fn waiting(sender: UnboundedSender<HandlerEvent>, released: watch::Receiver<usize>) -> ToolHandler {
    plain("wait", move |ctx: RequestContext| {
        let (sender, mut released) = (sender.clone(), released.clone());
        async move {
            let mut guard = NotifyOnDrop {
                sender: sender.clone(),
                finished: false,
            };
            let before = *released.borrow();
            // Fails if the test has ended.
            let _ = sender.send(HandlerEvent::Started);
            for step in 1..=2_u8 {
                let target = before + usize::from(step);
                if released.wait_for(|now| *now >= target).await.is_err() {
                    std::future::pending::<()>().await;
                }
                ctx.report_progress(f64::from(step), None, None);
            }
            guard.finished = true;
            "waited"
        }
    })
}
