//! State in `self`: a notebook whose methods are tools, a resource template and a prompt.
//!
//! Shows `#[toolwire::server]`, state behind a lock, completion from that state, and change notifications.
//! Run it with `cargo run -p toolwire-examples --example notes`, or give that command to an MCP client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolwire::{CompletionValues, RequestContext, ResourceHandler, ToolError};

/// Calls run concurrently, so methods take `&self`, and mutable state is behind a lock.
#[derive(Default)]
struct Notes {
    texts: Arc<Mutex<Texts>>,
}

type Texts = BTreeMap<String, String>;

#[toolwire::server(name = "notes", version = "1.0.0")]
impl Notes {
    /// Writes or replaces a note.
    #[tool]
    fn write(
        &self,
        ctx: &RequestContext,
        #[arg(pattern = "^[a-z0-9-]+$")] name: String,
        text: String,
    ) -> Result<String, ToolError> {
        let uri = format!("notes://{name}");
        let is_new = self.texts().insert(name.clone(), text).is_none();
        if is_new {
            // A resource adds the note to the list. Adding it notifies clients that the list changed.
            let texts = Arc::clone(&self.texts);
            let key = name.clone();
            let note = ResourceHandler::new(uri, name, move |_: RequestContext, _: String| {
                let text = lock(&texts).get(&key).cloned().unwrap_or_default();
                async move { text }
            });
            ctx.server()
                .add_resource(note.with_mime_type("text/plain"))?;
            Ok("written".to_owned())
        } else {
            // Only clients that subscribed to this note are notified.
            let count = ctx.server().resource_updated(uri);
            Ok(format!("replaced, {count} notified"))
        }
    }

    /// Deletes a note.
    #[tool(destructive, idempotent)]
    fn delete(&self, ctx: &RequestContext, name: String) -> &'static str {
        ctx.server().remove_resource(&format!("notes://{name}"));
        match self.texts().remove(&name) {
            Some(_) => "deleted",
            None => "there is no such note",
        }
    }

    /// One note.
    #[resource_template(uri = "notes://{name}", mime_type = "text/plain")]
    fn note(&self, #[arg(complete = self.names)] name: String) -> Result<String, ToolError> {
        let text = self.texts().get(&name).cloned();
        text.ok_or_else(|| ToolError::resource_not_found(format!("notes://{name}")))
    }

    /// Returns a prompt for a summary of a note.
    #[prompt]
    fn summarise(&self, #[arg(complete = self.names)] name: String) -> Result<String, ToolError> {
        Ok(format!("Summarise this note:\n\n{}", self.note(name)?))
    }

    /// Completes names of notes.
    fn names(&self, typed: &str) -> CompletionValues {
        CompletionValues::prefix_match(typed, self.texts().keys())
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        lock(&self.texts)
    }
}

fn lock(texts: &Mutex<Texts>) -> MutexGuard<'_, Texts> {
    texts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    let server = Notes::default().into_server().with_resource_subscriptions();
    server.serve_stdio().await
}
