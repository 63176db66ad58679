//! The server: an emitter of builds, and a source of notes with a history.

use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolwire::events::{
    Emitter, Event, EventContext, EventPage, EventSignal, EventSource, NoArguments, Since,
};
use toolwire::{ErrorObject, Server, server};

/// Which builds a client is interested in.
#[derive(Deserialize, JsonSchema)]
struct BuildFilter {
    /// Only builds of this branch.
    branch: Option<String>,
}

/// A build finished.
#[derive(Serialize, JsonSchema)]
struct Build {
    number: u64,
    branch: String,
}

/// A note was written. Fetch its text with the tool `read`.
#[derive(Serialize, JsonSchema)]
struct NoteWritten {
    number: usize,
}

/// The notes are stored, so their events need no emitter: the number of a note is its position.
#[derive(Clone, Default)]
struct Notes {
    texts: Arc<Mutex<Vec<String>>>,
    written: EventSignal,
}

impl Notes {
    fn texts(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.texts.lock().expect("no thread panics with the lock")
    }
}

impl EventSource for Notes {
    type Arguments = NoArguments;
    type Payload = NoteWritten;

    async fn after(
        &self,
        _: &EventContext,
        _: &NoArguments,
        since: Since<'_>,
    ) -> Result<EventPage<NoteWritten>, ErrorObject> {
        let count = self.texts().len();
        let Some(cursor) = since.cursor() else {
            return Ok(EventPage::empty(count.to_string()));
        };
        let Some(seen) = cursor.parse().ok().filter(|seen| *seen <= count) else {
            // An unknown cursor is not an error: the client learns that it may have missed events.
            return Ok(EventPage::empty(count.to_string()).truncated());
        };
        let end = count.min(seen + since.limit());
        let events = (seen..end).map(|note| {
            let number = note + 1;
            Event::new(NoteWritten { number }).with_id(format!("note-{number}"))
        });
        let page = EventPage::new(events, end.to_string());
        Ok(if end < count { page.with_more() } else { page })
    }

    fn signal(&self) -> Option<EventSignal> {
        Some(self.written.clone())
    }
}

struct Desk {
    notes: Notes,
    builds: Emitter<BuildFilter, Build>,
    next_build: Mutex<u64>,
}

#[server]
impl Desk {
    /// Builds a branch.
    #[tool]
    async fn build(&self, branch: String) -> Result<String, toolwire::Error> {
        let number = {
            let mut next = self
                .next_build
                .lock()
                .expect("no thread panics with the lock");
            *next += 1;
            *next
        };
        let text = format!("build {number} of {branch} finished");
        let event = Event::new(Build { number, branch });
        self.builds.emit(event.with_id(format!("build-{number}")))?;
        Ok(text)
    }

    /// Writes a note.
    #[tool]
    async fn write(&self, text: String) -> String {
        let mut texts = self.notes.texts();
        texts.push(text);
        let number = texts.len();
        drop(texts);
        self.notes.written.send();
        format!("note {number} is written")
    }

    /// Reads a note.
    #[tool]
    async fn read(&self, number: usize) -> Result<String, ErrorObject> {
        let text = number
            .checked_sub(1)
            .and_then(|at| self.notes.texts().get(at).cloned());
        text.ok_or_else(|| ErrorObject::invalid_params(format!("there is no note {number}")))
    }
}

pub(crate) fn server() -> Server {
    let notes = Notes::default();
    let builds = Emitter::new().matching(|filter: &BuildFilter, build: &Build| {
        filter
            .branch
            .as_ref()
            .is_none_or(|branch| *branch == build.branch)
    });
    let desk = Desk {
        notes: notes.clone(),
        builds: builds.clone(),
        next_build: Mutex::new(0),
    };
    Server::new("desk", "1.0.0")
        .handlers(desk)
        .event("build.finished", builds)
        .event("note.written", notes)
}
