//! `toolwire dev`: builds a server, serves it to clients and in the browser, and replaces it when its files change.
//!
//! ```text
//!   files ── Watcher ── Reloader ── build ── start ──┐
//!                                                    ▼
//!   clients ── Server (stdio, HTTP) ── mount ── ReloadingSource ── UpstreamSource ── server process
//!   page ── Inspector ── client over HTTP ──┘
//! ```
//!
//! Clients are connected to a server of this command, which mounts the developed one. So their connections stay when the
//! developed server is replaced, and every client is served in its own revision.

mod build;
mod build_output;
mod build_process;
mod build_state;
mod calls_in_flight;
mod cargo;
mod lines;
mod listening_address;
mod plan;
mod program_copy;
mod reloader;
mod replaced;
mod run_changes;
mod source;
mod start;
mod status;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch::Sender;
use toolwire::transport::StdioOptions;
use toolwire::{Mount, ProcessTracker};

use crate::closing::close;
use crate::connection_arguments::{Era, Server, TlsOptions};
use crate::dev::calls_in_flight::CallsInFlight;
use crate::dev::plan::DevPlan;
use crate::dev::reloader::Reloader;
use crate::dev::source::ReloadingSource;
use crate::dev::start::ServerStarter;
use crate::dev::status::DevStatus;
use crate::dev_arguments::Dev;
use crate::failure::{Exit, Failure};
use crate::inspect::{Inspector, McpEndpoint, PageListener};
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::target::{Endpoint, Target};
use crate::telemetry;

/// How long clients wait for the first start of the server. After that, they are served with empty lists, and notified
/// when these change.
const FIRST_START_WAIT: Duration = Duration::from_secs(20);

/// Builds and serves until a signal, or until the end of standard input with `--stdio`.
pub(crate) async fn dev(arguments: &Dev, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    // One receiver for all steps, so that no signal between two steps is lost.
    let mut interrupts = Interrupts::listen();
    let plan = interrupts.or(DevPlan::new(arguments, screen)).await?;
    let listening = PageListener::bind(arguments.listen.as_deref());
    let listener = interrupts.or(listening).await?;

    let (source, calls) = (ReloadingSource::default(), CallsInFlight::default());
    let mount = Mount::new(&plan.name, source.clone())
        .without_prefix()
        .with_middleware(calls.clone());
    let server = toolwire::Server::new(&plan.name, &plan.version)
        .with_logging()
        .mount_with(mount);
    let server = telemetry::observe_server(server);
    let is_started = Sender::new(false);
    let endpoint = McpEndpoint::new(server.clone(), is_started.subscribe());

    let processes = ProcessTracker::new();
    let page = Target::Http(Endpoint::new(listener.mcp_url()));
    let options = page_options(&arguments.server);
    let inspector = Inspector::new(page, &options, screen, &processes);
    let inspector = Arc::new(inspector.with_options(&arguments.page));
    let status = DevStatus::new(&inspector, &server, screen);
    let starter = ServerStarter::new(arguments, &plan.target, screen, &processes, &status)?;
    let mut reloader = Reloader::new(plan, starter, source, calls, status, arguments.grace);

    let serving = async {
        announce(arguments, &listener, screen)?;
        // The page connects as soon as the endpoint responds.
        inspector.reconnect();
        let client = endpoint.clone();
        tokio::select! {
            () = listener.run(&inspector, Some(endpoint)) => {}
            () = inspector.run() => {}
            () = reloader.run(&is_started) => {}
            () = serve_after_wait(&is_started) => {}
            served = serve_stdio(&server, &client), if arguments.stdio => served?,
        }
        Ok::<_, Failure>(Exit::Success)
    };
    let outcome = interrupts.or(serving).await;
    server.shutdown();
    let closing = async {
        inspector.close().await;
        reloader.close().await;
    };
    close(closing, &processes, &mut interrupts).await?;
    outcome
}

/// Prints the address, and opens the browser if that is wanted. Standard output belongs to a client on stdio.
fn announce(arguments: &Dev, listener: &PageListener, screen: &Screen) -> Result<(), Failure> {
    let (url, mcp) = (listener.url(), listener.mcp_url());
    let line = json!({ "url": url, "token": listener.token(), "mcp": mcp });
    match (screen.json, arguments.stdio) {
        (true, true) => screen.show_line(&line.to_string()),
        (true, false) => screen.print_json_line(&line)?,
        (false, true) => screen.show_line(&url),
        (false, false) => screen.print(&format!("{url}\n"))?,
    }
    if !screen.json {
        screen.show_line(&format!("MCP clients connect to {mcp}"));
    }
    if arguments.open {
        listener.open(screen);
    }
    Ok(())
}

/// Lets clients go on without a server when its first start takes long.
async fn serve_after_wait(is_started: &Sender<bool>) {
    tokio::time::sleep(FIRST_START_WAIT).await;
    is_started.send_replace(true);
    std::future::pending::<()>().await;
}

/// Serves a client on standard input and output until it closes its end.
async fn serve_stdio(server: &toolwire::Server, endpoint: &McpEndpoint) -> Result<(), Failure> {
    endpoint.wait_until_ready().await;
    let options = StdioOptions::new().without_start_message();
    let served = server.clone().serve_stdio_with(options).await;
    served.map_err(|error| Failure::new(Exit::NoConnection, error.to_string()))
}

/// Returns the options for the connection of the page, which is to this command itself.
fn page_options(server: &Server) -> Server {
    Server {
        era: Era::Auto,
        protocol_version: None,
        headers: Vec::new(),
        login: false,
        tls: TlsOptions {
            cacert: None,
            insecure: false,
        },
        ..server.clone()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn clients_wait_20_seconds_for_the_first_start() {
        let is_started = Sender::new(false);
        let mut started = is_started.subscribe();
        let start = Instant::now();
        tokio::select! {
            () = serve_after_wait(&is_started) => {}
            started = started.wait_for(|is_started| *is_started) => assert!(started.is_ok()),
        }
        assert_eq!(start.elapsed(), Duration::from_secs(20));
        // The wait itself never ends the command.
        let serving = serve_after_wait(&is_started);
        assert!(timeout(2 * FIRST_START_WAIT, serving).await.is_err());
    }
}
