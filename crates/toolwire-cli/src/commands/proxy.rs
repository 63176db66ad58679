//! `toolwire proxy`: forwards everything to one server, and `toolwire record`: also records it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use toolwire::ProcessTracker;

use crate::closing::close;
use crate::commands::no_more_words;
use crate::commands::serving::{addresses, serve};
use crate::connect;
use crate::failure::{Exit, Failure};
use crate::interrupts::Interrupts;
use crate::proxy_arguments::Proxy;
use crate::screen::Screen;
use crate::state_key::read_state_keys;
use crate::target::{self, Target};
use crate::telemetry;
#[cfg(feature = "otel")]
use crate::telemetry::MetricsPage;

/// Serves until the end of standard input, or until a signal. Then it ends its server processes.
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
    let addresses = interrupts.or(addresses(&arguments.listen)).await?;
    let keys = read_state_keys(&arguments.state_key)?;
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
    if let Some(keys) = keys {
        // The clone is a handle to the same server.
        let _ = relay.server().clone().with_request_state_keys(keys);
    }
    telemetry::observe_relay(&relay);
    #[cfg(feature = "otel")]
    let _metrics = match &arguments.metrics {
        Some(address) => {
            let starting = MetricsPage::start(address, arguments.listen.insecure_open);
            Some(interrupts.or(starting).await?)
        }
        None => None,
    };
    // A command on stdio serves one client, whose first message starts it. Before that, it would be started twice.
    let is_started_later = addresses.is_none() && matches!(target, Target::Child(_));
    let connecting = async {
        if arguments.lazy || is_started_later {
            return Ok(());
        }
        let connected = relay.connect().await;
        connected.map_err(|error| connect::failed(&error, &target))
    };
    let outcome = match interrupts.or(connecting).await {
        Ok(()) => {
            serve(
                &relay,
                &arguments.listen,
                addresses,
                &mut interrupts,
                screen,
            )
            .await
        }
        Err(failure) => Err(failure),
    };
    close(relay.close(), &processes, &mut interrupts).await?;
    outcome
}

/// Serves like [`proxy`]. The first word is the file of the record.
pub(crate) async fn record(mut arguments: Proxy, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let words = &mut arguments.server.words;
    if words.is_empty() {
        return Err(Failure::usage("no file for the record is given")
            .with_advice("name the file, then the server: toolwire record FILE SERVER"));
    }
    let file = words.remove(0);
    arguments.server.recording.file = Some(file.into());
    proxy(&arguments, screen).await
}
