//! `toolwire inspect`: a page in the browser for one server, or for a record of one.
//!
//! ```text
//!   page (page/, built into this command) ── HTTP interface (http/) ── Inspector ── client of the server
//! ```
//!
//! Everything that the page does is a request of the HTTP interface. The page is served to this machine only, and each
//! request needs the token of this command.

mod account;
mod call_outcome;
mod call_table;
mod calls;
mod comparison;
mod connecting;
mod connector;
mod events;
mod faults;
mod faulty_body;
mod http;
mod http_layer;
mod inputs;
mod inside;
mod inspector;
mod lists;
mod log;
mod log_head;
mod log_search;
mod recordings;
mod saved;
mod schema_check;
mod settings;
mod source;
mod subscriptions;
#[cfg(test)]
mod tests;
mod trace_ids;

use std::sync::Arc;

use serde_json::json;
use toolwire::ProcessTracker;

use crate::closing::close;
use crate::commands::no_more_words;
use crate::connection_arguments::Server;
use crate::failure::{Exit, Failure};
use crate::inspect::source::{OpenRecord, Source};
use crate::inspect_arguments::Inspect;
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::target;

pub(crate) use self::http::{McpEndpoint, PageListener};
pub(crate) use self::inspector::Inspector;

/// Connects to the server and serves the page until a signal.
pub(crate) async fn inspect(arguments: &Inspect, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let server = &arguments.server;
    // One receiver for all steps, so that no signal between two steps is lost.
    let mut interrupts = Interrupts::listen();
    let source = interrupts.or(source(server, screen)).await?;
    let recorder = server.recording.open(source.transport(), screen)?;
    let listening = PageListener::bind(arguments.listen.as_deref());
    let listener = interrupts.or(listening).await?;
    let processes = ProcessTracker::new();
    let inspector = Inspector::new(source, server, screen, &processes);
    let inspector = inspector.with_options(&arguments.page);
    let inspector = Arc::new(inspector.with_recorder(recorder));
    inspector.show_record()?;
    let outcome = match interrupts.or(inspector.connect()).await {
        Ok(()) => {
            interrupts
                .or(serve(arguments, listener, &inspector, screen))
                .await
        }
        Err(failure) => Err(failure),
    };
    close(inspector.close(), &processes, &mut interrupts).await?;
    outcome
}

/// Returns the server or the record that the command line names.
async fn source(server: &Server, screen: &Arc<Screen>) -> Result<Source, Failure> {
    let is_record = server.command.is_empty();
    let Some(file) = OpenRecord::file(&server.words).filter(|_| is_record) else {
        let (target, words) = target::find(server, screen).await?;
        no_more_words(words)?;
        return Ok(target.into());
    };
    if server.recording.file.is_some() {
        return Err(Failure::usage("a record of a record is not possible")
            .with_advice("remove --record, or inspect a server"));
    }
    Ok(Source::Record(OpenRecord::read(file, screen)?))
}

/// Prints the address and serves the page. It ends with the future.
async fn serve(
    arguments: &Inspect,
    listener: PageListener,
    inspector: &Arc<Inspector>,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let url = listener.url();
    if screen.json {
        screen.print_json_line(&json!({ "url": url, "token": listener.token() }))?;
    } else {
        screen.print(&format!("{url}\n"))?;
    }
    if arguments.open {
        listener.open(screen);
    }
    tokio::select! {
        () = listener.run(inspector, None) => {}
        () = inspector.run() => {}
    }
    Ok(Exit::Success)
}
