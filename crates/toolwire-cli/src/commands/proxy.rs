//! `toolwire proxy`: forwards everything to one server.

use std::io::Write as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use toolwire::ProcessTracker;
use toolwire::relay::Relay;
use toolwire::transport::StdioOptions;
use toolwire::transport::http::{HttpListener, HttpOptions};

use crate::closing::close;
use crate::commands::no_more_words;
use crate::connect;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::proxy_arguments::Proxy;
use crate::screen::Screen;
use crate::target;

/// Serves until the end of standard input, or until a signal. No server process outlives it.
pub(crate) async fn proxy(arguments: &Proxy, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let server = &arguments.server;
    if !server.roots.is_empty() || server.log_level.is_some() {
        return Err(Failure::usage(
            "--root and --log-level are decided by the clients of the proxy",
        )
        .with_advice("remove them"));
    }
    // One receiver for all steps, so that no signal between two steps is lost.
    let mut interrupts = Interrupts::listen();
    let addresses = match &arguments.listen {
        Some(address) => Some(interrupts.or(addresses(arguments, address)).await?),
        None => None,
    };
    let (target, words) = interrupts.or(target::find(server, screen)).await?;
    no_more_words(words)?;
    // Without an address, standard input belongs to the client.
    let may_paste = addresses.is_some() && Screen::is_interactive();
    let processes = ProcessTracker::new();
    let mut upstream = connect::upstream(&target, server, may_paste, screen, &processes)?;
    if let Some(limit) = arguments.max_sessions.map(NonZeroUsize::get) {
        upstream = upstream.with_max_sessions(limit).with_max_processes(limit);
    }
    let relay = upstream.relay();
    let connecting = async {
        if arguments.lazy {
            return Ok(());
        }
        let connected = relay.connect().await;
        connected.map_err(|error| connect::failed(&error, &target))
    };
    let outcome = match interrupts.or(connecting).await {
        Ok(()) => match addresses {
            Some(addresses) => serve_http(&relay, arguments, &addresses, &mut interrupts).await,
            None => interrupts.or(serve_stdio(&relay)).await,
        },
        Err(failure) => Err(failure),
    };
    close(relay.close(), &processes, &mut interrupts).await?;
    outcome
}

async fn serve_stdio(relay: &Relay) -> Result<Exit, Failure> {
    let options = StdioOptions::new().without_start_message();
    let served = relay.server().clone().serve_stdio_with(options).await;
    served.map_err(|error| failed(&error))?;
    Ok(Exit::Success)
}

/// Serves over HTTP until a signal. Requests in flight then finish, unless another signal arrives.
async fn serve_http(
    relay: &Relay,
    arguments: &Proxy,
    addresses: &[SocketAddr],
    interrupts: &mut Interrupts,
) -> Result<Exit, Failure> {
    let mut options = HttpOptions::new()
        .with_public_hosts(arguments.public_host.clone())
        .without_signals();
    if arguments.sse {
        options = options.with_http_sse();
    }
    let server = relay.server();
    let listener = HttpListener::bind(server.clone(), addresses, options).await;
    let listener = listener.map_err(|error| failed(&error))?;
    // The proxy also runs if standard error is closed.
    let _ = writeln!(std::io::stderr(), "listening on {}", listener.url());
    let mut serving = std::pin::pin!(listener.run());
    let served = tokio::select! {
        served = &mut serving => served,
        _ = interrupts.next() => {
            server.shutdown();
            tokio::select! {
                served = serving => served,
                exit = interrupts.next() => return Err(Failure::silent(exit)),
            }
        }
    };
    served.map_err(|error| failed(&error))?;
    Ok(Exit::Success)
}

/// Returns the addresses to listen on. Returns an error if other machines can reach one, unless the user permits it.
async fn addresses(arguments: &Proxy, address: &str) -> Result<Vec<SocketAddr>, Failure> {
    let found = tokio::net::lookup_host(address).await;
    let found = found.map_err(|error| {
        Failure::usage(format!("--listen {address}: {error}"))
            .with_advice("give a host and a port: --listen 127.0.0.1:8080")
    })?;
    let addresses: Vec<SocketAddr> = found.collect();
    let is_local = addresses.iter().all(|address| address.ip().is_loopback());
    if is_local || arguments.insecure_open {
        return Ok(addresses);
    }
    Err(Failure::usage(format!(
        "--listen {address}: other machines could use the server without authorization"
    ))
    .with_advice("listen on 127.0.0.1, or permit it with --insecure-open"))
}

fn failed(error: &toolwire::Error) -> Failure {
    Failure::new(Exit::NoConnection, error.to_string())
}
