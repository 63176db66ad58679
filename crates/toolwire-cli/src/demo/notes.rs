//! Resources and a prompt: a clock that changes, and a few notes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwire::{
    CompletionValues, PromptMessage, RequestContext, ResourceHandler, Server, ToolError, prompt,
    resource_template,
};

const CLOCK: &str = "demo://clock";

/// The notes, by name.
const NOTES: [(&str, &str); 3] = [
    ("first", "This is the first note."),
    ("second", "This is the second note."),
    ("todo", "Write a server of your own."),
];

/// The names that the prompt suggests as completions.
const NAMES: [&str; 6] = ["Ada", "Alan", "Barbara", "Edsger", "Grace", "Tony"];

pub(super) fn register(server: Server) -> Server {
    let clock = ResourceHandler::new(CLOCK, "clock", clock)
        .with_title("Clock")
        .with_description("Seconds since 1970; changes every second.")
        .with_mime_type("text/plain");
    start_ticking(server.clone());
    let server = server.resource(clock).resource_template(note).prompt(greet);
    NOTES.iter().fold(server, |server, (name, text)| {
        let uri = format!("demo://notes/{name}");
        let listed =
            ResourceHandler::new(uri, *name, move |_: RequestContext, _: String| async move {
                *text
            })
            .with_mime_type("text/plain");
        server.resource(listed)
    })
}

async fn clock(_ctx: RequestContext, _uri: String) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    now.as_secs().to_string()
}

/// Notifies subscribers of the clock every second.
fn start_ticking(server: Server) {
    tokio::spawn(async move {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            server.resource_updated(CLOCK);
        }
    });
}

/// A note.
#[resource_template(uri = "demo://notes/{name}", mime_type = "text/plain")]
fn note(#[arg(complete = "note_names")] name: String) -> Result<String, ToolError> {
    let text = NOTES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| (*text).to_owned());
    text.ok_or_else(|| ToolError::resource_not_found(format!("demo://notes/{name}")))
}

fn note_names(typed: &str) -> CompletionValues {
    CompletionValues::prefix_match(typed, NOTES.map(|(name, _)| name))
}

/// Greets a person.
#[prompt]
fn greet(
    /// The person to greet.
    #[arg(complete = "names")]
    name: String,
) -> PromptMessage {
    PromptMessage::user(format!("Greet {name} warmly, in one sentence."))
}

fn names(typed: &str) -> CompletionValues {
    CompletionValues::prefix_match(typed, NAMES)
}
