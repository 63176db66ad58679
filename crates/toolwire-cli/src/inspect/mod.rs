//! `toolwire inspect`: a page in the browser for one server.
//!
//! ```text
//!   page (page/, built into this command) ── HTTP interface (http/) ── Inspector ── client of the server
//! ```
//!
//! Everything that the page does is a request of the HTTP interface. The page is served to this machine only, and each
//! request needs the token of this command.

mod call_outcome;
mod calls;
mod connector;
mod events;
mod faults;
mod faulty_body;
mod http;
mod http_layer;
mod inputs;
mod inspector;
mod lists;
mod log;
mod settings;
mod subscriptions;

use std::sync::Arc;

use serde_json::json;
use toolwire::ProcessTracker;
use toolwire_auth::client::open_browser;

use crate::closing::close;
use crate::commands::no_more_words;
use crate::failure::{Exit, Failure};
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
    let (target, words) = interrupts.or(target::find(server, screen)).await?;
    no_more_words(words)?;
    let listening = PageListener::bind(arguments.listen.as_deref());
    let listener = interrupts.or(listening).await?;
    let processes = ProcessTracker::new();
    let inspector = Arc::new(Inspector::new(target, server, screen, &processes));
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
        open_browser(&url);
    }
    tokio::select! {
        () = listener.run(inspector, None) => {}
        () = inspector.run() => {}
    }
    Ok(Exit::Success)
}
