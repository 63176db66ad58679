//! Serves a relay on standard input and output, or over HTTP.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use toolwire::relay::Relay;
use toolwire::transport::StdioOptions;
use toolwire::transport::http::{HttpListener, HttpOptions};

use crate::access_log::AccessLog;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::listen_arguments::ListenOptions;
use crate::screen::Screen;
use crate::telemetry;

/// Serves until the end of standard input, or over HTTP until a signal. `addresses` are those of [`addresses`].
pub(super) async fn serve(
    relay: &Relay,
    options: &ListenOptions,
    addresses: Option<Vec<SocketAddr>>,
    interrupts: &mut Interrupts,
    screen: &Arc<Screen>,
) -> Result<Exit, Failure> {
    match addresses {
        Some(addresses) => serve_http(relay, options, &addresses, interrupts, screen).await,
        None => interrupts.or(serve_stdio(relay)).await,
    }
}

/// Returns the addresses to listen on, or `None` for standard input and output. Returns an error if other machines can
/// reach one, unless the user permits it.
pub(super) async fn addresses(options: &ListenOptions) -> Result<Option<Vec<SocketAddr>>, Failure> {
    let Some(address) = &options.listen else {
        return Ok(None);
    };
    let found = tokio::net::lookup_host(address).await;
    let found = found.map_err(|error| {
        Failure::usage(format!("--listen {address}: {error}"))
            .with_advice("give a host and a port: --listen 127.0.0.1:8080")
    })?;
    let addresses: Vec<SocketAddr> = found.collect();
    let is_local = addresses.iter().all(|address| address.ip().is_loopback());
    if is_local || options.insecure_open {
        return Ok(Some(addresses));
    }
    Err(Failure::usage(format!(
        "--listen {address}: other machines could use the server without authorization"
    ))
    .with_advice("listen on 127.0.0.1, or permit it with --insecure-open"))
}

async fn serve_stdio(relay: &Relay) -> Result<Exit, Failure> {
    let options = StdioOptions::new().without_start_message();
    let server = telemetry::observe_server(relay.server().clone());
    let served = server.serve_stdio_with(options).await;
    served.map_err(|error| failed(&error))?;
    Ok(Exit::Success)
}

/// Serves over HTTP until a signal. Requests in flight then finish, unless another signal arrives.
async fn serve_http(
    relay: &Relay,
    arguments: &ListenOptions,
    addresses: &[SocketAddr],
    interrupts: &mut Interrupts,
    screen: &Arc<Screen>,
) -> Result<Exit, Failure> {
    let mut options = HttpOptions::new()
        .with_public_hosts(arguments.public_host.clone())
        .without_signals();
    if arguments.sse {
        options = options.with_http_sse();
    }
    let access_log = AccessLog::open_if(arguments.access_log.as_deref(), screen)?;
    if let Some(log) = &access_log {
        options = options.with_access_log(log.writer());
    }
    let server = telemetry::observe_server(relay.server().clone());
    let listener = HttpListener::bind(server.clone(), addresses, options).await;
    let listener = listener.map_err(|error| failed(&error))?;
    // The server also runs if standard error is closed.
    let _ = writeln!(std::io::stderr(), "listening on {}", listener.url());
    let mut serving = std::pin::pin!(listener.run());
    let served = tokio::select! {
        served = &mut serving => served.map_err(|error| failed(&error)),
        _ = interrupts.next() => {
            server.shutdown();
            let finishing = async { serving.await.map_err(|error| failed(&error)) };
            interrupts.or(finishing).await
        }
    };
    if let Some(log) = access_log {
        log.flush();
    }
    served?;
    Ok(Exit::Success)
}

fn failed(error: &toolwire::Error) -> Failure {
    Failure::new(Exit::NoConnection, error.to_string())
}
