//! The `toolwire` command: try, serve and inspect MCP servers.

mod demo;
mod tour;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tools for the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "toolwire", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A bundled server to try any client against; without `--stdio`, a short tour of it
    Demo {
        /// Serve on standard input and output, for a client that starts this command
        #[arg(long)]
        stdio: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // It would complain on standard error that standard error is gone, and panic.
        .log_internal_errors(false)
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let outcome = runtime.block_on(run(arguments.command));
    // The thread that reads standard input may still be waiting; it must not hold the process back.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&*error),
    }
}

async fn run(command: Command) -> Result<(), Box<dyn std::error::Error>> {
    match command {
        Command::Demo { stdio: true } => Ok(demo::server().serve_stdio().await?),
        Command::Demo { stdio: false } => Ok(tour::run().await?),
    }
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("toolwire: {error}");
    ExitCode::FAILURE
}
