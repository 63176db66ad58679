//! The server for the official conformance suite, with every tool, prompt and resource of its scenarios.
//!
//! It is written like any server that uses toolwire. Texts, names and schemas are those of the scenarios.

#![expect(deprecated, reason = "the suite also tests deprecated features")]

mod client_requests;
mod content;
mod input_required;
mod list_changes;
mod prompts;
mod resources;
mod schemas;
mod skills;
mod streaming;
mod tasks;

use std::error::Error;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use toolwire::Server;
use toolwire::tasks::{FileTaskStore, Tasks};
use toolwire::transport::http::{HttpListener, HttpOptions};

/// Serves the fixtures of the conformance suite at `http://127.0.0.1:<port>/mcp`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The port; 0 selects a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Stores tasks in this directory, so that they survive the process.
    #[arg(long)]
    task_store: Option<PathBuf>,
    /// Only stores tasks. Workers run them.
    #[arg(long, requires = "task_store")]
    queued: bool,
    /// Runs stored tasks instead of serving clients.
    #[arg(long, requires = "task_store")]
    worker: bool,
    /// The lease of stored tasks in seconds, by default short so that tests of restarts are quick.
    #[arg(long, default_value_t = 1)]
    lease: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let server = tasks::add_to(server_with_fixtures(), open_tasks(&arguments)?);
    if arguments.worker {
        return Ok(server.serve_tasks(tasks::worker_options()).await?);
    }
    let listener = HttpListener::bind(server, address, HttpOptions::new()).await?;
    // The parent process waits for this line and reads the port from it.
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on http://{}/mcp", listener.local_addr())?;
    stdout.flush()?;
    listener.run().await?;
    Ok(())
}

/// Returns the tasks, which are in memory or in a directory.
fn open_tasks(arguments: &Arguments) -> Result<Tasks, Box<dyn Error>> {
    let Some(directory) = &arguments.task_store else {
        return Ok(Tasks::in_memory());
    };
    let lease = Duration::from_secs(arguments.lease);
    let tasks = Tasks::new(FileTaskStore::open(directory)?).with_lease(lease);
    let is_queued = arguments.queued || arguments.worker;
    Ok(if is_queued { tasks.queued() } else { tasks })
}

/// Returns the server with all fixtures. The first tool takes no arguments and succeeds, because the suite calls the
/// first one.
fn server_with_fixtures() -> Server {
    let server = Server::new("toolwire-conformance", env!("CARGO_PKG_VERSION"))
        .with_logging()
        .with_resource_subscriptions();
    let server = content::add_to(server);
    let server = streaming::add_to(server);
    let server = schemas::add_to(server);
    let server = client_requests::add_to(server);
    let server = input_required::add_to(server);
    let server = list_changes::add_to(server);
    let server = prompts::add_to(server);
    let server = resources::add_to(server);
    skills::add_to(server)
}
