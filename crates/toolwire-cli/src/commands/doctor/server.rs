//! Checks a server step by step. The first step that fails ends the check.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Uri;
use toolwire::{Client, ProcessTracker};

use crate::closing::close;
use crate::commands::doctor::address::check_address;
use crate::commands::doctor::authorization::check_authorization;
use crate::commands::doctor::command::check_program;
use crate::commands::doctor::lists::check_lists;
use crate::commands::doctor::steps::Steps;
use crate::commands::no_more_words;
use crate::connect::{connect, era_name};
use crate::connection_arguments::Server;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::target::{self, ChildProcess, Endpoint, Target};

/// The longest time for one step, unless `--timeout` sets another one.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that needs longer than this after the end of its input was terminated by the client.
const CLEAN_EXIT: Duration = Duration::from_millis(1900);

/// Checks the server and prints each step.
pub(crate) async fn check_server(server: &Server, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen();
    let (target, words) = interrupts.or(target::find(server, screen)).await?;
    no_more_words(words)?;
    let mut server = server.clone();
    let limit = *server.timeout.get_or_insert(STEP_TIMEOUT);
    let processes = ProcessTracker::new();
    let mut check = ServerCheck {
        server: &server,
        target: &target,
        limit,
        screen,
        processes: &processes,
        steps: Steps::default(),
    };
    let checking = async {
        match &target {
            Target::Http(endpoint) => check.http(endpoint).await,
            Target::Child(child) => check.child(child).await,
        }
    };
    let outcome = interrupts.or(checking).await;
    close(async {}, &processes, &mut interrupts).await?;
    outcome?;
    check.steps.report(screen)
}

/// A check in progress.
struct ServerCheck<'a> {
    server: &'a Server,
    target: &'a Target,
    limit: Duration,
    screen: &'a Arc<Screen>,
    processes: &'a ProcessTracker,
    steps: Steps,
}

impl ServerCheck<'_> {
    async fn http(&mut self, endpoint: &Endpoint) -> Result<(), Failure> {
        let uri: Uri = endpoint.url.parse().map_err(|_| {
            Failure::usage("the address is not a valid URL")
                .with_advice("write it like https://example.com/mcp")
        })?;
        let tls = &self.server.tls;
        if !check_address(&uri, tls, self.limit, &mut self.steps).await? {
            return Ok(());
        }
        let begun = Instant::now();
        let client = match self.connect().await {
            Ok(client) => client,
            Err(failure) if failure.exit == Exit::Unauthorized => {
                self.steps
                    .skipped("era", "unknown, because the server requires authorization");
                let steps = &mut self.steps;
                return check_authorization(endpoint, &uri, tls, self.limit, &failure, steps).await;
            }
            Err(failure) => {
                let remedy = "check that the address is that of an MCP endpoint; see the messages with --verbose";
                self.steps.failed("era", begun, &failure, remedy);
                return Ok(());
            }
        };
        self.steps.passed("era", begun, era(&client));
        self.steps
            .skipped("metadata", "the server accepts the connection");
        let token = if endpoint.has_credentials() {
            "the server accepts the credentials of the command line"
        } else {
            "the server required no other token"
        };
        self.steps.passed("token", Instant::now(), token);
        check_lists(&client, &mut self.steps).await;
        client.close().await;
        Ok(())
    }

    async fn child(&mut self, child: &ChildProcess) -> Result<(), Failure> {
        if !check_program(child, &mut self.steps) {
            return Ok(());
        }
        let begun = Instant::now();
        let client = match self.connect().await {
            Ok(client) => client,
            Err(failure) if matches!(failure.step(), Some("process" | "connection")) => {
                let remedy = "run the command directly to see why it exits";
                self.steps.failed("start", begun, &failure, remedy);
                return Ok(());
            }
            Err(failure) => {
                self.steps.passed("start", begun, "the process runs");
                let remedy = "check that the command is an MCP server; it must write nothing but messages to standard output";
                self.steps.failed("era", begun, &failure, remedy);
                return Ok(());
            }
        };
        self.steps.passed("start", begun, "the process runs");
        self.steps.passed("era", begun, era(&client));
        check_lists(&client, &mut self.steps).await;
        let begun = Instant::now();
        client.close().await;
        if begun.elapsed() < CLEAN_EXIT {
            self.steps
                .passed("end", begun, "the process exits at the end of its input");
        } else {
            let failure = Failure::new(
                Exit::ToolFailed,
                "the process did not exit at the end of its input, and was terminated",
            );
            let remedy = "end the server when standard input ends";
            self.steps.failed("end", begun, &failure, remedy);
        }
        Ok(())
    }

    async fn connect(&self) -> Result<Client, Failure> {
        connect(self.target, self.server, None, self.screen, self.processes).await
    }
}

/// Returns the era, the version and the name of a server.
fn era(client: &Client) -> String {
    let (era, version) = (era_name(client.detected_era()), client.version());
    match client.server() {
        Some(server) => {
            let info = &server.info;
            let name = info
                .as_ref()
                .map(|info| format!("{} {}", info.name, info.version));
            format!("{era}, revision {version}, {}", name.unwrap_or_default())
        }
        None => format!("{era}, revision {version}"),
    }
}
