//! The `toolwire` command: try, serve and inspect MCP servers.

mod accounts;
mod arguments;
mod asking;
mod commands;
mod config_file;
mod connect;
mod demo;
mod failure;
mod given;
mod interrupts;
mod run;
mod screen;
mod show;
mod target;
mod tour;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let verbose = arguments
        .command
        .output()
        .is_some_and(|output| output.verbose);
    let filter = match verbose {
        true => EnvFilter::new("toolwire=debug,toolwire::wire=trace"),
        false => EnvFilter::from_default_env(),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
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
        Err(error) => {
            eprintln!("toolwire: {error}");
            return ExitCode::FAILURE;
        }
    };
    let exit = runtime.block_on(run::run(arguments.command));
    // The thread that reads standard input may still be waiting; it must not hold the process back.
    runtime.shutdown_background();
    ExitCode::from(exit as u8)
}
