//! The `toolwire` command: try, serve and inspect MCP servers.

mod demo;
mod tour;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use toolwire::transport::http::{HttpListener, HttpOptions};

/// Tools for the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "toolwire", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A bundled server to try any client against; without `--stdio` or `--http`, a short tour of it
    Demo(DemoArguments),
}

#[derive(Debug, Args)]
struct DemoArguments {
    /// Serve on standard input and output, for a client that starts this command
    #[arg(long)]
    stdio: bool,
    /// Serve on HTTP until interrupted; port 0 is any free port
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:3000",
        conflicts_with = "stdio"
    )]
    http: Option<String>,
    /// With `--http`, a name under which clients elsewhere reach the server; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    public_host: Vec<String>,
    /// With `--http`, serve clients of 2024-11-05 too, at `/sse`
    #[arg(long, requires = "http")]
    sse: bool,
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
    let Command::Demo(arguments) = command;
    if arguments.stdio {
        return Ok(demo::server().serve_stdio().await?);
    }
    match arguments.http {
        Some(address) => serve_http(&address, arguments.public_host, arguments.sse).await,
        None => Ok(tour::run().await?),
    }
}

async fn serve_http(
    address: &str,
    public_hosts: Vec<String>,
    sse: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut options = HttpOptions::new().with_public_hosts(public_hosts);
    if sse {
        options = options.with_http_with_sse();
    }
    let listener = HttpListener::bind(demo::server(), address, options).await?;
    // With nobody to read it, serving still makes sense.
    let _ = writeln!(std::io::stderr(), "listening on {}", listener.url());
    Ok(listener.run().await?)
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("toolwire: {error}");
    ExitCode::FAILURE
}
