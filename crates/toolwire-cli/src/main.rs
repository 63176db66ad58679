//! The `toolwire` command: try, serve and inspect MCP servers.

#![expect(
    deprecated,
    reason = "the command also supports the deprecated features of servers"
)]

mod access_log;
mod accounts;
mod argument_values;
mod arguments;
mod bundle_arguments;
mod cargo_package;
mod certificates;
mod closing;
mod command_line_error;
#[cfg(all(test, feature = "events", feature = "otel"))]
mod command_reference;
mod commands;
mod connect;
mod connection_arguments;
mod connection_wait;
mod demo;
mod demo_arguments;
mod dev;
mod dev_arguments;
mod doctor_arguments;
#[cfg(all(test, feature = "events", feature = "otel"))]
mod documented_commands;
#[cfg(feature = "events")]
mod event_arguments;
mod exchange_reports;
mod failure;
mod gateway_arguments;
mod help_texts;
mod hosts;
mod input_kind;
mod input_requests;
mod inspect;
mod inspect_arguments;
mod install_arguments;
mod interrupts;
mod legacy_servers;
mod listen_arguments;
mod logging;
mod new_arguments;
mod opened_page;
mod output_arguments;
mod own_program;
mod page_server;
mod private_file;
mod proxy_arguments;
mod publish_arguments;
mod record;
mod record_arguments;
mod replay;
mod replay_arguments;
mod request_arguments;
mod run;
mod saved_calls;
mod screen;
mod server_files;
mod server_hints;
mod server_list_arguments;
mod server_settings;
mod shell_words;
mod show;
mod skill_arguments;
mod snippet_form;
mod snippets;
mod state_key;
mod sync;
mod target;
mod task_arguments;
mod telemetry;
mod temporary_directory;
mod terminal_input;
mod tool_arguments;
mod tour;
#[cfg(all(test, feature = "events", feature = "otel"))]
mod variables_reference;
mod view_arguments;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = match parse_arguments() {
        Ok(arguments) => arguments,
        Err(error) => return command_line_error::report(error),
    };
    logging::start(&arguments.command);
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
    {
        let _runtime = runtime.enter();
        telemetry::start(arguments.command.telemetry());
    }
    let exit = runtime.block_on(run::run(arguments.command));
    // What is not yet exported needs the runtime.
    telemetry::stop();
    // The thread that reads standard input may still be blocked. It must not delay the exit.
    runtime.shutdown_background();
    ExitCode::from(exit as u8)
}

fn parse_arguments() -> Result<Arguments, clap::Error> {
    let command = Arguments::command().color(screen::help_colours());
    Arguments::from_arg_matches(&command.try_get_matches()?)
}
