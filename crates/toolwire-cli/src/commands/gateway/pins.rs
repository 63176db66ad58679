//! `toolwire pins`: shows and approves the changes of upstreams.

use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::ProcessTracker;
use toolwire_gateway::pins::{LockFile, Offer, UpstreamPins};
use toolwire_gateway::{GatewayConfig, PinnedUpstream, review_pins};

use crate::closing::close;
use crate::commands::gateway::pins_report::{as_json, as_text};
use crate::commands::gateway::settings::load;
use crate::commands::gateway::{failed, options};
use crate::failure::{Exit, Failure};
use crate::gateway_arguments::{AcceptPins, Pins, PinsAction};
use crate::interrupts::Interrupts;
use crate::screen::Screen;

/// Shows what has changed, or approves it.
pub(crate) async fn pins(arguments: &Pins, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen();
    let config = interrupts.or(load(&arguments.settings, screen)).await?;
    let lock_file = LockFile::read(&config.lock_file);
    let lock_file = lock_file.map_err(|error| Failure::usage(error.to_string()))?;
    let processes = ProcessTracker::new();
    let options = options(screen, &processes)?;
    let reviewing = async {
        let reviewed = review_pins(&config, &lock_file, &options).await;
        reviewed.map_err(|error| failed(&error))
    };
    let reviewed = interrupts.or(reviewing).await;
    close(async {}, &processes, &mut interrupts).await?;
    let reviewed = reviewed?;
    if reviewed.is_empty() {
        return Err(Failure::usage("no upstream of the configuration has pins")
            .with_advice("write pin = \"ask\", \"block\" or \"warn\" in its table"));
    }
    match &arguments.action {
        None => show(&reviewed, screen),
        Some(PinsAction::Accept(accept)) => approve(accept, &config, lock_file, &reviewed, screen),
    }
}

/// Prints the differences of all upstreams.
fn show(reviewed: &[PinnedUpstream], screen: &Screen) -> Result<Exit, Failure> {
    if screen.json {
        let upstreams: Vec<Value> = reviewed.iter().map(as_json).collect();
        screen.print_json(&json!({ "upstreams": upstreams }))?;
    } else {
        let text: String = reviewed.iter().map(as_text).collect();
        screen.print(&text)?;
    }
    let outcomes = || reviewed.iter().map(|upstream| &upstream.outcome);
    if outcomes().any(Result::is_err) {
        return Ok(Exit::NoConnection);
    }
    let is_same = outcomes().flatten().all(|(_, review)| review.is_same());
    Ok(if is_same {
        Exit::Success
    } else {
        Exit::ToolFailed
    })
}

/// Approves what the names stand for, and writes the lock file. Each name has the digest of what the operator has seen: an
/// upstream may offer something else now.
fn approve(
    accept: &AcceptPins,
    config: &GatewayConfig,
    mut lock_file: LockFile,
    reviewed: &[PinnedUpstream],
    screen: &Screen,
) -> Result<Exit, Failure> {
    let mut approved = Vec::new();
    for name in &accept.names {
        let (name, digest) = split_digest(name)?;
        let (upstream, entry) = match name.split_once('/') {
            Some((upstream, entry)) => (upstream, Some(entry)),
            None => (name, None),
        };
        let known = reviewed.iter().find(|known| known.name == upstream);
        let known = known.ok_or_else(|| unknown(upstream, reviewed))?;
        let (offer, _) = known.outcome.as_ref().map_err(|problem| {
            Failure::new(
                Exit::NoConnection,
                format!("{upstream} is not reachable: {problem}"),
            )
        })?;
        match entry {
            None => {
                check_digest(name, &offer.digest(), digest)?;
                let pins = UpstreamPins::of(offer);
                lock_file.upstreams.insert(upstream.to_owned(), pins);
            }
            Some(entry) => {
                let pins = lock_file.upstreams.entry(upstream.to_owned()).or_default();
                approve_entry(pins, offer, (name, entry), digest)?;
            }
        }
        approved.push(name);
    }
    let written = lock_file.write(&config.lock_file);
    written.map_err(|error| Failure::usage(error.to_string()))?;
    if screen.json {
        screen.print_json(&json!({ "approved": approved }))?;
    } else {
        let lines = approved.iter().map(|name| format!("approved {name}\n"));
        screen.print(&lines.collect::<String>())?;
    }
    Ok(Exit::Success)
}

fn approve_entry(
    pins: &mut UpstreamPins,
    offer: &Offer,
    (name, entry): (&str, &str),
    digest: &str,
) -> Result<(), Failure> {
    let offered = offer.digest_of(entry);
    // An entry that is unknown has a digest, too.
    if digest == offered && pins.approve(offer, entry) {
        return Ok(());
    }
    check_digest(name, &offered, digest)?;
    let message = format!("`{name}` is not listed exactly once, so it cannot be approved");
    Err(Failure::usage(message)
        .with_advice("`toolwire pins` without `accept` lists what has changed"))
}

/// Returns the name and the digest of an argument.
fn split_digest(argument: &str) -> Result<(&str, &str), Failure> {
    let parts = argument.rsplit_once('@');
    parts
        .filter(|(_, digest)| !digest.is_empty())
        .ok_or_else(|| {
            Failure::usage(format!("`{argument}` has no digest of what you approve"))
                .with_advice("write NAME@DIGEST, as `toolwire pins` without `accept` shows it")
        })
}

fn check_digest(name: &str, offered: &str, digest: &str) -> Result<(), Failure> {
    if offered == digest {
        return Ok(());
    }
    let message = format!("what is offered as `{name}` has not this digest; nothing is approved");
    Err(Failure::new(Exit::ToolFailed, message)
        .with_advice("look at it again with `toolwire pins`, and use the digest shown there"))
}

fn unknown(name: &str, reviewed: &[PinnedUpstream]) -> Failure {
    let known: Vec<&str> = reviewed
        .iter()
        .map(|upstream| upstream.name.as_str())
        .collect();
    Failure::usage(format!("there is no upstream `{name}` with pins"))
        .with_advice(format!("one of {}", known.join(", ")))
}
