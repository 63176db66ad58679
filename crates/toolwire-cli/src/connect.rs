//! Connects a client to the target with the options of the command line.

use std::sync::Arc;
use std::time::Duration;

use toolwire::DetectedEra;
use toolwire::VersionFeatures;
use toolwire::relay::Upstream;
use toolwire::types::{Implementation, Root};
use toolwire::{
    Client, ClientBuilder, ClientLimits, LoggingLevel, ProcessTracker, ProtocolVersion,
    ServerCommand,
};

use crate::accounts;
use crate::certificates;
use crate::connection_arguments::{Era, Server};
use crate::connection_wait::ConnectionWait;
use crate::exchange_reports::is_report;
use crate::failure::{Exit, Failure, Phase};
use crate::input_requests::InputHandler;
use crate::legacy_servers::RecordedCommand;
use crate::record::{ConnectionRecorder, Recorder};
use crate::screen::Screen;
use crate::target::{ChildProcess, Target};
use crate::telemetry;

/// Connects to the target. A process started for it is tracked by `processes`.
pub(crate) async fn connect(
    target: &Target,
    server: &Server,
    input: Option<&Arc<InputHandler>>,
    screen: &Arc<Screen>,
    processes: &ProcessTracker,
) -> Result<Client, Failure> {
    let status = Arc::clone(screen);
    let mut builder = telemetry::observe_client(builder(server))
        .with_tasks()
        .on_task_status(move |task| status.task_status(&task));
    if let Some(input) = input {
        builder = input.register(builder);
    }
    // Legacy servers may send log messages without a request for them.
    if server.log_level.is_some() {
        let logs = Arc::clone(screen);
        builder = builder.on_log(move |message| logs.log(&message));
    }
    // A pasted address is read only from a terminal. Otherwise standard input belongs to the command.
    let may_paste = Screen::is_interactive();
    let mut builder = with_http_options(builder, target, server, may_paste, screen)?;
    let recorder = server.recording.open(transport(target), screen)?;
    let recording = recorder.map(|recorder| recorder.connection(None));
    if let Some(recording) = &recording {
        builder = recording.attach(builder);
    }
    let reporting = server.reports.as_ref().map(|_| target.with_reports());
    let client = match reporting.as_ref().unwrap_or(target) {
        Target::Http(_) if server.reports.is_some() => return Err(no_process()),
        Target::Http(endpoint) => builder.connect(&endpoint.url).await,
        Target::Child(child) => {
            let command = command(child).with_tracker(processes);
            spawn(child, command, recording, server, builder, screen).await
        }
    };
    let client = client.map_err(|error| failed(&error, target))?;
    if let Some(level) = server.log_level {
        set_log_level(&client, level, screen).await?;
    }
    Ok(client)
}

/// Returns the failure for reports of a server that this command does not start.
fn no_process() -> Failure {
    Failure::usage("--inside needs a command that starts the server, not an address")
        .with_advice("give the command after --: toolwire call --inside TOOL -- COMMAND")
}

/// Connects to the target with further options of the client, and passes on the standard error of a command.
pub(crate) async fn connect_with(
    target: &Target,
    server: &Server,
    screen: &Arc<Screen>,
    processes: &ProcessTracker,
    options: impl FnOnce(ClientBuilder) -> ClientBuilder,
    on_stderr: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Client, Failure> {
    let may_paste = Screen::is_interactive();
    let builder = telemetry::observe_client(builder(server));
    let builder = with_http_options(builder, target, server, may_paste, screen)?;
    let builder = options(builder);
    let client = match target {
        Target::Http(endpoint) => builder.connect(&endpoint.url).await,
        Target::Child(child) => {
            let command = command(child).with_tracker(processes);
            let command = command.on_stderr(on_stderr);
            builder.spawn(command).await
        }
    };
    let client = client.map_err(|error| failed(&error, target))?;
    if let Some(level) = server.log_level {
        set_log_level(&client, level, screen).await?;
    }
    Ok(client)
}

/// Receives the lines that a server process writes to standard error.
pub(crate) type StderrListener = Arc<dyn Fn(&str) + Send + Sync>;

/// Returns an upstream server for a relay. It has no handlers: its messages belong to the clients of the relay.
///
/// With `may_paste`, a login may read an address from standard input.
pub(crate) fn upstream(
    target: &Target,
    server: &Server,
    may_paste: bool,
    screen: &Arc<Screen>,
    processes: &ProcessTracker,
) -> Result<Upstream, Failure> {
    let recorder = server.recording.open(transport(target), screen)?;
    let lines = Arc::clone(screen);
    // With --verbose, every line is logged already.
    let on_stderr: Option<StderrListener> = if server.output.verbose {
        None
    } else {
        Some(Arc::new(move |line: &str| lines.show_line(line)))
    };
    upstream_with(
        target, server, may_paste, screen, processes, recorder, on_stderr,
    )
}

/// Returns an upstream server like [`upstream`], with a record that may be that of other servers, too, and with another
/// receiver of standard error.
pub(crate) fn upstream_with(
    target: &Target,
    server: &Server,
    may_paste: bool,
    screen: &Arc<Screen>,
    processes: &ProcessTracker,
    recorder: Option<Arc<Recorder>>,
    on_stderr: Option<StderrListener>,
) -> Result<Upstream, Failure> {
    let builder = telemetry::observe_upstream(builder(server), "upstream");
    let builder = with_http_options(builder, target, server, may_paste, screen)?;
    let (target, processes) = (target.clone(), processes.clone());
    let upstream = Upstream::new(move |builder| {
        let (target, processes) = (target.clone(), processes.clone());
        let recording = recorder.as_ref().map(|recorder| recorder.connection(None));
        let on_stderr = on_stderr.clone();
        let builder = match &recording {
            Some(recording) => recording.attach(builder),
            None => builder,
        };
        async move {
            let child = match &target {
                Target::Http(endpoint) => return builder.connect(&endpoint.url).await,
                Target::Child(child) => child,
            };
            let mut command = command(child).with_tracker(&processes);
            if on_stderr.is_some() || recording.is_some() {
                command = command.on_stderr(move |line| {
                    if let Some(recording) = &recording
                        && !is_report(line)
                    {
                        recording.stderr(line);
                    }
                    if let Some(on_stderr) = &on_stderr {
                        on_stderr(line);
                    }
                });
            }
            builder.spawn(command).await
        }
    });
    let upstream = upstream.with_builder(builder);
    Ok(match server.timeout {
        Some(timeout) => upstream.with_timeout(timeout),
        None => upstream,
    })
}

/// Adds the headers, the login and the certificates for a server with an address.
fn with_http_options(
    mut builder: ClientBuilder,
    target: &Target,
    server: &Server,
    may_paste: bool,
    screen: &Arc<Screen>,
) -> Result<ClientBuilder, Failure> {
    let Target::Http(endpoint) = target else {
        return Ok(builder);
    };
    for (name, value) in &endpoint.headers {
        builder = builder
            .with_header(name, value)
            .map_err(|error| Failure::usage(error.to_string()))?;
    }
    let logins = if endpoint.has_credentials() {
        // Credentials on the command line replace a login.
        None
    } else if server.login {
        Some(accounts::with_login(screen, may_paste)?)
    } else {
        accounts::stored()?
    };
    if let Some(logins) = logins {
        builder = builder.with_http_layer(logins);
    }
    if let Some(http) = certificates::http_client(&server.tls, screen)? {
        builder = builder.with_http_client(http);
    }
    Ok(builder)
}

/// Starts the server of a command and connects to it. If its era is recorded, the client sends no probe.
async fn spawn(
    child: &ChildProcess,
    command: ServerCommand,
    recording: Option<ConnectionRecorder>,
    server: &Server,
    mut builder: ClientBuilder,
    screen: &Arc<Screen>,
) -> Result<Client, toolwire::Error> {
    let recorded = RecordedCommand::read(child);
    let known = recorded.era().filter(|_| versions(server).is_none());
    if let Some(era) = known {
        builder = builder.with_detected_era(era);
    }
    let reports = server.reports.clone();
    let is_taken = move |line: &str| reports.as_ref().is_some_and(|reports| reports.take(line));
    // With --verbose, every line is logged at once.
    let client = if screen.is_watched() && !screen.json && !server.output.verbose {
        let program = child.program.display().to_string();
        let wait = ConnectionWait::new(program, screen);
        let listener = Arc::clone(&wait);
        let command = command.on_stderr(move |line| {
            if is_taken(line) {
                return;
            }
            if let Some(recording) = &recording {
                recording.stderr(line);
            }
            listener.line(line);
        });
        wait.during(builder.spawn(command)).await
    } else {
        let command = if recording.is_some() || server.reports.is_some() {
            // With a listener, --verbose logs no lines.
            let shown =
                (server.reports.is_some() && server.output.verbose).then(|| Arc::clone(screen));
            command.on_stderr(move |line| {
                if is_taken(line) {
                    return;
                }
                if let Some(screen) = &shown {
                    screen.show_line(line);
                }
                if let Some(recording) = &recording {
                    recording.stderr(line);
                }
            })
        } else {
            command
        };
        builder.spawn(command).await
    };
    match &client {
        Ok(client) if client.probe_failed() && !shortens_probe(server.timeout) => {
            recorded.insert();
        }
        Ok(client) if client.version().is_modern() => recorded.remove(),
        Err(_) if known.is_some() => recorded.remove(),
        Ok(_) | Err(_) => {}
    }
    client
}

/// Returns `true` if the timeout leaves less time for the probe than usual. Then its failure may not be repeated.
fn shortens_probe(timeout: Option<Duration>) -> bool {
    // A probe takes at most half of the time for connecting.
    timeout.is_some_and(|timeout| timeout < 2 * ClientLimits::default().probe_timeout)
}

/// Requests log messages. A server without them is no failure, because the command does not depend on them.
async fn set_log_level(
    client: &Client,
    level: LoggingLevel,
    screen: &Screen,
) -> Result<(), Failure> {
    let server = client.server();
    let declares_logging = server.is_none_or(|server| server.capabilities.logging.is_some());
    if !declares_logging {
        screen.warn("the server does not declare log messages, so --log-level may have no effect");
        // Modern requests contain the level, and legacy servers get a request of its own.
        if client.version().is_legacy() {
            return Ok(());
        }
    }
    match client.set_log_level(Some(level)).await {
        Err(error) if error.rpc().is_some() => {
            screen.warn(&format!("the server rejected --log-level: {error}"));
            Ok(())
        }
        outcome => outcome.map_err(|error| Failure::of(&error, Phase::Calling)),
    }
}

/// Returns the failure of a connection that could not be opened.
pub(crate) fn failed(error: &toolwire::Error, target: &Target) -> Failure {
    let failure = Failure::of(error, Phase::Connecting).at(target);
    let Target::Child(child) = target else {
        return failure;
    };
    match failure.exit {
        Exit::Timeout => failure.with_advice(format!(
            "check that {} is an MCP server on standard input and output; --verbose shows its messages",
            child.program.display()
        )),
        // In a shell the command may work, because it gets the whole environment.
        _ if error.server_exit().is_some() && !child.inherits_environment => failure
            .with_default_advice("pass environment variables that it needs with --env VARIABLE"),
        _ => failure,
    }
}

fn builder(server: &Server) -> ClientBuilder {
    let info = Implementation::new("toolwire", env!("CARGO_PKG_VERSION"));
    let mut builder = ClientBuilder::default()
        .with_info(info)
        .with_limits(limits(server.timeout));
    if let Some(versions) = versions(server) {
        builder = builder.with_versions(versions);
    }
    if server.shows_views {
        builder = builder.with_views();
    }
    if !server.roots.is_empty() {
        builder = builder.with_roots(server.roots.iter().map(Root::new));
    }
    builder
}

/// Returns the revisions to use, or `None` for all of them.
fn versions(server: &Server) -> Option<Vec<ProtocolVersion>> {
    if let Some(version) = server.protocol_version {
        return Some(vec![version]);
    }
    let legacy = match server.era {
        Era::Auto => return None,
        Era::Modern => false,
        Era::Legacy => true,
    };
    let all = ProtocolVersion::ALL.into_iter();
    Some(
        all.filter(|version| version.is_legacy() == legacy)
            .collect(),
    )
}

fn limits(timeout: Option<Duration>) -> ClientLimits {
    let mut limits = ClientLimits::default();
    if let Some(timeout) = timeout {
        limits.timeout = timeout;
        limits.max_timeout = limits.max_timeout.max(timeout);
        limits.connect_timeout = timeout;
        limits.probe_timeout = limits.probe_timeout.min(timeout);
    }
    limits
}

fn command(child: &ChildProcess) -> ServerCommand {
    let mut command = ServerCommand::new(&child.program).args(&child.arguments);
    if child.inherits_environment {
        command = command.with_inherited_env();
    }
    for (name, value) in &child.environment {
        command = command.env(name, value);
    }
    if let Some(directory) = &child.directory {
        command = command.current_dir(directory);
    }
    command
}

/// Returns the name of the transport to a target, for a record.
pub(crate) fn transport(target: &Target) -> &'static str {
    match target {
        Target::Http(_) => "http",
        Target::Child(_) => "stdio",
    }
}

/// Returns the name of the era.
pub(crate) fn era_name(era: DetectedEra) -> &'static str {
    match era {
        DetectedEra::Modern { .. } => "modern",
        DetectedEra::Legacy { .. } => "legacy",
    }
}
