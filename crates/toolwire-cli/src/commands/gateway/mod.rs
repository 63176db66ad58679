//! `toolwire gateway`: many servers behind one address, and `toolwire pins`: what they may change.

mod check;
mod pins;
mod pins_report;
mod settings;

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use toolwire::ProcessTracker;
use toolwire::transport::StdioOptions;
use toolwire::transport::http::HttpListener;
use toolwire_gateway::{ConfigFile, Gateway, GatewayConfig, GatewayError, GatewayOptions};

use self::settings::load;
use crate::access_log::AccessLog;
use crate::accounts;
use crate::closing::close;
use crate::failure::{Exit, Failure};
use crate::gateway_arguments;
use crate::interrupts::{Hangups, Interrupts};
use crate::screen::Screen;
use crate::state_key::read_state_keys;
use crate::telemetry;
#[cfg(feature = "otel")]
use crate::telemetry::MetricsPage;

pub(crate) use self::pins::pins;

/// How often the configuration file is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Serves until a signal or the end of standard input, or reports what would be served. Then it ends its server processes.
pub(crate) async fn gateway(
    arguments: &gateway_arguments::Gateway,
    screen: &Arc<Screen>,
) -> Result<Exit, Failure> {
    // One receiver for all steps, so that no signal between two steps is lost.
    let mut interrupts = Interrupts::listen_except_hangup();
    let hangups = Hangups::listen();
    // A change after this moment is noticed.
    let file = arguments.settings.config.as_deref().map(ConfigFile::new);
    let config = interrupts.or(load(&arguments.settings, screen)).await?;
    if arguments.stdio {
        check_stdio(&config)?;
    }
    let processes = ProcessTracker::new();
    let mut options = options(screen, &processes)?;
    if let Some(listen) = &arguments.listen {
        options = options.with_listen(listen);
    }
    if let Some(keys) = read_state_keys(&arguments.state_key)? {
        options = options.with_request_state_keys(keys);
    }
    let access_log = AccessLog::open_if(arguments.access_log.as_deref(), screen)?;
    if let Some(log) = &access_log {
        options = options.with_access_log(log.writer());
    }
    if arguments.check {
        options = options.read_only();
    }
    if let Some(recorder) = arguments.recording.open("gateway", screen)? {
        options = options.on_connect(move |upstream, builder| {
            recorder.connection(Some(upstream)).attach(builder)
        });
    }
    let gateway = Gateway::new(config, telemetry::observe_gateway(options));
    let gateway = gateway.map_err(|error| failed(&error))?;
    telemetry::observe_gateway_load(&gateway);
    #[cfg(feature = "otel")]
    let _metrics = match &arguments.metrics {
        Some(address) => {
            let starting = MetricsPage::start(address, arguments.insecure_open);
            Some(interrupts.or(starting).await?)
        }
        None => None,
    };
    let outcome = if arguments.check {
        interrupts.or(check::check(&gateway, screen)).await
    } else {
        let watching = watch(&gateway, file, hangups, access_log.clone());
        if arguments.stdio {
            serve_stdio(&gateway, watching, &mut interrupts).await
        } else {
            serve(&gateway, arguments.insecure_open, watching, &mut interrupts).await
        }
    };
    if let Some(log) = access_log {
        log.flush();
    }
    close(gateway.close(), &processes, &mut interrupts).await?;
    outcome
}

/// Rejects a configuration whose callers have to be identified.
fn check_stdio(config: &GatewayConfig) -> Result<(), Failure> {
    if config.auth.is_none() {
        return Ok(());
    }
    Err(Failure::usage(
        "--stdio serves the local user, who cannot send an access token, and the configuration has [auth]",
    )
    .with_advice("remove [auth], or serve over HTTP without --stdio"))
}

/// Serves all upstreams on standard input and output until the end of the input.
async fn serve_stdio(
    gateway: &Gateway,
    watching: impl Future<Output = ()>,
    interrupts: &mut Interrupts,
) -> Result<Exit, Failure> {
    let serving = async {
        gateway.connect().await.map_err(|error| failed(&error))?;
        let options = StdioOptions::new().without_start_message();
        let served = gateway.server().clone().serve_stdio_with(options).await;
        served.map_err(|error| Failure::new(Exit::NoConnection, error.to_string()))?;
        Ok(Exit::Success)
    };
    tokio::select! {
        served = interrupts.or(serving) => served,
        () = watching => Ok(Exit::Success),
    }
}

async fn serve(
    gateway: &Gateway,
    is_open: bool,
    watching: impl Future<Output = ()>,
    interrupts: &mut Interrupts,
) -> Result<Exit, Failure> {
    let starting = async {
        let listener = gateway.bind(is_open).await;
        let listener = listener.map_err(|error| failed(&error))?;
        gateway.connect().await.map_err(|error| failed(&error))?;
        Ok(listener)
    };
    let listener = interrupts.or(starting).await?;
    // The gateway also runs if standard error is closed.
    let _ = writeln!(std::io::stderr(), "listening on {}", listener.url());
    tokio::select! {
        served = run(gateway, listener, interrupts) => served,
        () = watching => Ok(Exit::Success),
    }
}

/// Serves until a signal. Requests in flight then finish, unless another signal arrives.
async fn run(
    gateway: &Gateway,
    listener: HttpListener,
    interrupts: &mut Interrupts,
) -> Result<Exit, Failure> {
    let mut serving = std::pin::pin!(listener.run());
    let served = tokio::select! {
        served = &mut serving => served,
        _ = interrupts.next() => {
            gateway.shutdown().await;
            tokio::select! {
                served = serving => served,
                exit = interrupts.next() => return Err(Failure::silent(exit)),
            }
        }
    };
    served.map_err(|error| Failure::new(Exit::NoConnection, error.to_string()))?;
    Ok(Exit::Success)
}

/// Passes changes of the configuration file and of the lock file to the gateway, and opens log files again at SIGHUP. Never
/// ends.
async fn watch(
    gateway: &Gateway,
    mut file: Option<ConfigFile>,
    mut hangups: Hangups,
    access_log: Option<AccessLog>,
) {
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    loop {
        let is_forced = tokio::select! {
            _ = looks.tick() => false,
            () = hangups.next() => true,
        };
        if let Some(log) = access_log.as_ref().filter(|_| is_forced) {
            log.reopen();
        }
        match &mut file {
            Some(file) => file.update(gateway, is_forced).await,
            None if is_forced => gateway.reopen_audit(),
            None => {}
        }
    }
}

/// Returns what a gateway needs besides its configuration.
fn options(screen: &Arc<Screen>, processes: &ProcessTracker) -> Result<GatewayOptions, Failure> {
    let lines = Arc::clone(screen);
    let options = GatewayOptions::new()
        .with_processes(processes)
        .on_stderr(move |upstream, line| lines.show_line(&format!("{upstream}: {line}")));
    Ok(match accounts::stored()? {
        Some(logins) => options.with_logins(logins),
        None => options,
    })
}

fn failed(error: &GatewayError) -> Failure {
    match error {
        GatewayError::Config(config) => {
            let failure = Failure::usage(config.to_string());
            match config.advice() {
                Some(advice) => failure.with_advice(advice),
                None => failure,
            }
        }
        GatewayError::Upstream { .. } => Failure::new(Exit::NoConnection, error.to_string()),
        _ => Failure::usage(error.to_string()),
    }
}
