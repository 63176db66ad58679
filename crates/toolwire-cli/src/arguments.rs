//! The commands of the `toolwire` command line.

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::accounts::arguments::{LogIn, LogOut, WhoAmI};
use crate::bundle_arguments::{BUNDLE_HELP, BundleServer};
use crate::connection_arguments::Server;
use crate::demo_arguments::Demo;
use crate::dev_arguments::{DEV_HELP, Dev};
use crate::doctor_arguments::{DOCTOR_HELP, Doctor};
#[cfg(feature = "events")]
use crate::event_arguments::Events;
use crate::gateway_arguments::{GATEWAY_HELP, Gateway, PINS_HELP, Pins};
use crate::help_texts::{ARGUMENT_HELP, DOMAIN_HELP, EXIT_CODES, SERVER_HELP};
use crate::inspect_arguments::{INSPECT_HELP, Inspect};
use crate::install_arguments::{
    INSTALL_ENV_HELP, INSTALL_HELP, Install, Installed, NOT_INSTALLED, Uninstall,
};
use crate::new_arguments::{NEW_HELP, New};
use crate::output_arguments::Output;
use crate::proxy_arguments::{PROXY_HELP, PROXY_TIMEOUT_HELP, Proxy};
use crate::publish_arguments::{PUBLISH_HELP, Publish};
use crate::record_arguments::{RECORD_HELP, RecordOptions};
use crate::replay_arguments::{REPLAY_HELP, Replay};
use crate::request_arguments::{
    ArgumentRequest, Call, Complete, Listen, Plain, Read, Resources, Saved,
};
use crate::server_list_arguments::Servers;
use crate::skill_arguments::Skills;
use crate::task_arguments::Task;
use crate::telemetry::TelemetryDemands;
use crate::view_arguments::View;

/// The maximum width of the help, also in a wider terminal.
const MAX_HELP_WIDTH: usize = 110;

/// Try, inspect and serve MCP servers.
#[derive(Debug, Parser)]
#[command(name = "toolwire", version, arg_required_else_help = true)]
#[command(max_term_width = MAX_HELP_WIDTH)]
#[command(after_help = format!("{SERVER_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the server's name, version and capabilities, or list the servers of a domain
    #[command(
        override_usage = "toolwire discover [OPTIONS] <SERVER>\n       toolwire discover [OPTIONS] <DOMAIN>\n       toolwire discover [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = format!("{DOMAIN_HELP}\n\n{SERVER_HELP}"))]
    Discover(Plain),
    /// List tools, or show one tool
    #[command(
        override_usage = "toolwire tools [OPTIONS] <SERVER> [TOOL]\n       toolwire tools [OPTIONS] [TOOL] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Tools(Plain),
    /// Call a tool
    #[command(
        override_usage = "toolwire call [OPTIONS] <SERVER> <TOOL> [ARGUMENT]...\n       toolwire call [OPTIONS] <TOOL> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    Call(Call),
    /// List or delete the calls that `call --save` or the page of `toolwire inspect` saved
    Saved(Saved),
    /// Get, wait for or cancel a task that `call --task` started
    #[command(subcommand)]
    Task(Task),
    /// Show the view of a tool, or bundle the files of a view
    #[command(subcommand)]
    View(View),
    /// List resources and resource templates
    #[command(
        override_usage = "toolwire resources [OPTIONS] <SERVER>\n       toolwire resources [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Resources(Resources),
    /// Read a resource; for a template, pass the values of its variables
    #[command(
        override_usage = "toolwire read [OPTIONS] <SERVER> <URI> [VARIABLE=VALUE]...\n       toolwire read [OPTIONS] <URI> [VARIABLE=VALUE]... -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Read(Read),
    /// List, show, load and check skills
    #[command(subcommand)]
    Skills(Skills),
    /// List the types of events, and show events as they happen (experimental)
    #[cfg(feature = "events")]
    #[command(subcommand)]
    Events(Events),
    /// List prompts, or show one prompt
    #[command(
        override_usage = "toolwire prompts [OPTIONS] <SERVER> [PROMPT]\n       toolwire prompts [OPTIONS] [PROMPT] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Prompts(Plain),
    /// Get a prompt with its arguments filled in
    #[command(
        override_usage = "toolwire prompt [OPTIONS] <SERVER> <PROMPT> [ARGUMENT]...\n       toolwire prompt [OPTIONS] <PROMPT> [ARGUMENT]... -- <COMMAND>..."
    )]
    #[command(after_help = format!("{ARGUMENT_HELP}\n\n{SERVER_HELP}"))]
    Prompt(ArgumentRequest),
    /// List completions for an argument of a prompt or a resource template
    #[command(
        override_usage = "toolwire complete [OPTIONS] <SERVER> <PROMPT|TEMPLATE>\n           [KNOWN=VALUE]... <NAME=TYPED>\n       toolwire complete [OPTIONS] <PROMPT|TEMPLATE>\n           [KNOWN=VALUE]... <NAME=TYPED> -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Complete(Complete),
    /// Show changes as they happen; by default, changes of all lists
    #[command(
        override_usage = "toolwire listen [OPTIONS] <SERVER> [URI]...\n       toolwire listen [OPTIONS] [URI]... -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Listen(Listen),
    /// Check that a server responds
    #[command(
        override_usage = "toolwire ping [OPTIONS] <SERVER>\n       toolwire ping [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = SERVER_HELP)]
    Ping(Plain),
    /// Build, serve and show a server during its development, and replace it when its files change
    #[command(
        override_usage = "toolwire dev [OPTIONS]\n       toolwire dev [OPTIONS] <SERVER>\n       toolwire dev [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = format!("{DEV_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("timeout", |timeout| timeout.help(PROXY_TIMEOUT_HELP)))]
    Dev(Dev),
    /// Show a server in the browser: call tools, respond to input requests, read the log
    #[command(
        override_usage = "toolwire inspect [OPTIONS] <SERVER>\n       toolwire inspect [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = format!("{INSPECT_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("timeout", |timeout| timeout.help(PROXY_TIMEOUT_HELP)))]
    Inspect(Inspect),
    /// Forward everything to a server, for clients that use another transport
    #[command(
        override_usage = "toolwire proxy [OPTIONS] <SERVER>\n       toolwire proxy [OPTIONS] -- <COMMAND>..."
    )]
    #[command(after_help = format!("{PROXY_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("timeout", |timeout| timeout.help(PROXY_TIMEOUT_HELP)))]
    Proxy(Proxy),
    /// Forward everything to a server like `proxy`, and record all messages
    #[command(
        override_usage = "toolwire record [OPTIONS] <FILE> <SERVER>\n       toolwire record [OPTIONS] <FILE> -- <COMMAND>..."
    )]
    #[command(after_help = format!("{RECORD_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("timeout", |timeout| timeout.help(PROXY_TIMEOUT_HELP)))]
    #[command(mut_arg("file", |file| file.hide(true)))]
    Record(Proxy),
    /// Serve a record as a server, or compare a server with it
    #[command(
        override_usage = "toolwire replay [OPTIONS] <FILE>\n       toolwire replay [OPTIONS] <FILE> --against <SERVER>\n       toolwire replay [OPTIONS] <FILE> --against -- <COMMAND>..."
    )]
    #[command(after_help = format!("{REPLAY_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    Replay(Replay),
    /// Serve many servers at one address, with rules, limits and an audit log
    #[command(
        override_usage = "toolwire gateway [OPTIONS] --config <FILE>\n       toolwire gateway [OPTIONS] --from <FILE>"
    )]
    #[command(after_help = format!("{GATEWAY_HELP}\n\n{EXIT_CODES}"))]
    Gateway(Gateway),
    /// Show and approve the changes of the servers of a gateway
    #[command(
        override_usage = "toolwire pins [OPTIONS] --config <FILE>\n       toolwire pins [OPTIONS] --config <FILE> accept <NAME|--all>"
    )]
    #[command(after_help = format!("{PINS_HELP}\n\n{EXIT_CODES}"))]
    Pins(Pins),
    /// List the servers of all configuration files
    Servers(Servers),
    /// Add a server to the configuration of Claude, Cursor, VS Code or another host
    #[command(
        override_usage = "toolwire install [OPTIONS] --host <HOST> [ADDRESS]\n       toolwire install [OPTIONS] --host <HOST> -- <COMMAND>..."
    )]
    #[command(after_help = format!("{INSTALL_HELP}\n\n{EXIT_CODES}"))]
    #[command(mut_arg("environment", |argument| argument.help(INSTALL_ENV_HELP)))]
    #[command(mut_args(|argument| {
        let is_hidden = NOT_INSTALLED.contains(&argument.get_id().as_str());
        if is_hidden { argument.hide(true) } else { argument }
    }))]
    Install(Install),
    /// Remove a server from the configuration of a host
    Uninstall(Uninstall),
    /// List the servers of all hosts
    Installed(Installed),
    /// Create the crate of a new server
    #[command(after_help = NEW_HELP)]
    New(New),
    /// Pack the server of a crate into a bundle (.mcpb) that hosts install
    #[command(after_help = BUNDLE_HELP)]
    Bundle(BundleServer),
    /// Check or write server.json, which describes the server of a crate in the MCP registry
    #[command(after_help = PUBLISH_HELP)]
    Publish(Publish),
    /// Log in to a server; other commands then use and renew the login
    Login(LogIn),
    /// Delete a login, and revoke its tokens if the server supports it
    Logout(LogOut),
    /// Show the login for one server, or all logins
    Whoami(WhoAmI),
    /// Check a server step by step, or what a service depends on
    #[command(
        override_usage = "toolwire doctor [OPTIONS] <SERVER>\n       toolwire doctor [OPTIONS] -- <COMMAND>...\n       toolwire doctor redis [OPTIONS] <URL>"
    )]
    #[command(after_help = format!("{DOCTOR_HELP}\n\n{SERVER_HELP}\n\n{EXIT_CODES}"))]
    Doctor(Doctor),
    /// Run a bundled server for testing clients; without `--stdio` or `--http`, show a short tour of it
    Demo(Demo),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Command {
    /// Returns what the options of the command demand of its telemetry.
    pub(crate) fn telemetry(&self) -> TelemetryDemands {
        match self {
            #[cfg(feature = "otel")]
            Self::Proxy(command) | Self::Record(command) => TelemetryDemands {
                has_page: command.metrics.is_some(),
                trace_ids_in_errors: command.trace_ids_in_errors,
            },
            #[cfg(feature = "otel")]
            Self::Gateway(command) => TelemetryDemands {
                has_page: command.metrics.is_some(),
                trace_ids_in_errors: command.trace_ids_in_errors,
            },
            _ => TelemetryDemands::default(),
        }
    }

    /// Returns the output options of the command, or `None` if it has none.
    pub(crate) fn output(&self) -> Option<&Output> {
        Some(match self {
            Self::Skills(command) => command.output(),
            Self::Doctor(command) => command.output(),
            Self::Gateway(command) => &command.output,
            Self::Pins(command) => &command.output,
            Self::Servers(command) => &command.output,
            Self::Saved(command) => &command.output,
            Self::Uninstall(command) => &command.output,
            Self::Installed(command) => &command.output,
            Self::Login(command) => &command.output,
            Self::Logout(command) => &command.output,
            Self::Whoami(command) => &command.output,
            Self::Bundle(command) => &command.output,
            Self::Publish(command) => &command.output,
            command => &command.server()?.output,
        })
    }

    /// Returns whether and how the command records messages, or `None` if it cannot.
    pub(crate) fn recording(&self) -> Option<&RecordOptions> {
        match self {
            Self::Gateway(command) => Some(&command.recording),
            command => command.server().map(|server| &server.recording),
        }
    }

    /// Returns the server that the command connects to, or `None` for a command without one.
    fn server(&self) -> Option<&Server> {
        Some(match self {
            Self::Discover(command)
            | Self::Tools(command)
            | Self::Prompts(command)
            | Self::Ping(command) => &command.server,
            Self::Call(command) => &command.request.server,
            Self::Dev(command) => &command.server,
            Self::Inspect(command) => &command.server,
            Self::Install(command) => &command.server,
            Self::Task(command) => command.server(),
            Self::Skills(command) => return command.server(),
            Self::View(command) => return command.server(),
            Self::Doctor(command) => &command.server,
            #[cfg(feature = "events")]
            Self::Events(command) => command.server(),
            Self::Resources(command) => &command.server,
            Self::Read(command) => &command.server,
            Self::Prompt(command) => &command.server,
            Self::Complete(command) => &command.server,
            Self::Listen(command) => &command.server,
            Self::Proxy(command) | Self::Record(command) => &command.server,
            Self::Replay(command) => &command.server,
            Self::Gateway(_)
            | Self::Bundle(_)
            | Self::Publish(_)
            | Self::New(_)
            | Self::Uninstall(_)
            | Self::Installed(_)
            | Self::Pins(_)
            | Self::Servers(_)
            | Self::Saved(_)
            | Self::Login(_)
            | Self::Logout(_)
            | Self::Whoami(_)
            | Self::Demo(_)
            | Self::Completions { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_states_the_default_timeouts() {
        let check = |name: &str, expected: &str| {
            let mut command = Arguments::command();
            let command = command.find_subcommand_mut(name).expect("the command");
            let help = command.render_help().to_string();
            let help: Vec<&str> = help.split_whitespace().collect();
            assert!(help.join(" ").contains(expected), "{help:?}");
        };
        let limits = toolwire::ClientLimits::default();
        let (timeout, connecting) = (limits.timeout.as_secs(), limits.connect_timeout.as_secs());
        let expected = format!("[default: {timeout}s, and {connecting}s for connecting]");
        check("tools", &expected);
        let expected = format!("[default: 10m, and {connecting}s for connecting]");
        check("proxy", &expected);
    }
}
