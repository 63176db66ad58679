//! A server whose tools tell the test what happens to them.

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

/// What happens inside the tool `wait`, as the test sees it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Started,
    /// The handler's future is gone.
    Dropped,
    Finished,
}

/// The server and what the test holds of it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) server: Server,
    runs: Arc<AtomicUsize>,
    happenings: UnboundedReceiver<Happening>,
    release: watch::Sender<usize>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let (tell, happenings) = unbounded_channel();
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
            .tool(waiting(tell, released))
            .prompt(PromptHandler::new("greet", |_, _| async { "hi" }))
            .resource(ResourceHandler::new("notes://a", "a", |_, _| async { "a" }));
        Self {
            server,
            runs,
            happenings,
            release,
        }
    }

    /// How often the tools that count were run.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// The next thing that happens in `wait`.
    pub(crate) async fn expect(&mut self, expected: Happening) {
        let happening = within(self.happenings.recv()).await;
        assert_eq!(happening, Some(expected));
    }

    /// Nothing happened in `wait` that was not expected.
    pub(crate) fn expect_nothing(&mut self) {
        assert!(self.happenings.try_recv().is_err());
    }

    /// Lets every `wait` go one step on: the first says something, the second ends it.
    pub(crate) fn step(&self) {
        self.release.send_modify(|step| *step += 1);
    }
}

/// A good request; its answer is [`counted`].
pub(crate) fn count_call(id: impl Into<Value>) -> Value {
    call(id, "count", json!({"n": 1}))
}

/// A call with a token for progress.
pub(crate) fn with_token(id: impl Into<Value>, tool: &str, token: impl Into<Value>) -> Value {
    let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": token.into()}});
    modern(id, "tools/call", params)
}

/// Counts its runs; wants a number.
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

/// Counts its runs; its arguments are repeated in headers.
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

/// Counts its runs; needs a client that samples.
fn sampled(runs: Arc<AtomicUsize>) -> ToolHandler {
    let needed = ClientCapabilities::new().with_sampling(SamplingCapability::new());
    plain("sampled", move |_| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { "counted" }
    })
    .requires(needed)
}

/// Reports two steps at once.
async fn steps(ctx: RequestContext) -> &'static str {
    ctx.report_steps(1, 2, Some("half"));
    ctx.report_steps(2, 2, None);
    "stepped"
}

/// Asks the client's user for a name.
async fn ask(ctx: RequestContext) -> Result<String, ToolError> {
    let form = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let answer = ctx.elicit("Who?", form).await;
    answer.map_or_else(
        |error: Error| Err(ToolError::from(error)),
        |answer| Ok(serde_json::to_string(&answer).expect("answers are JSON")),
    )
}

/// Sends its client away, and ends after the next step.
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

struct TellWhenDropped {
    tell: UnboundedSender<Happening>,
    finished: bool,
}

impl Drop for TellWhenDropped {
    fn drop(&mut self) {
        let happening = match self.finished {
            true => Happening::Finished,
            false => Happening::Dropped,
        };
        // The test may be over.
        let _ = self.tell.send(happening);
    }
}

/// Waits for two steps: it says something after the first and ends after the second.
fn waiting(tell: UnboundedSender<Happening>, released: watch::Receiver<usize>) -> ToolHandler {
    plain("wait", move |ctx: RequestContext| {
        let (tell, mut released) = (tell.clone(), released.clone());
        async move {
            let mut guard = TellWhenDropped {
                tell: tell.clone(),
                finished: false,
            };
            let before = *released.borrow();
            // The test may be over.
            let _ = tell.send(Happening::Started);
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
