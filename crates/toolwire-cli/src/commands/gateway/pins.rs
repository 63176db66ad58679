//! `toolwire pins`: shows and approves the changes of upstreams.

use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::ProcessTracker;
use toolwire_gateway::pins::{
    DifferenceLine, EntryReview, LockFile, PinKind, PinStatus, Review, UpstreamPins, differences,
    text_differences,
};
use toolwire_gateway::{GatewayConfig, PinnedUpstream, review_pins};

use crate::closing::close;
use crate::commands::gateway::settings::load;
use crate::commands::gateway::{failed, one_line, options};
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

fn as_text(upstream: &PinnedUpstream) -> String {
    let name = &upstream.name;
    let review = match &upstream.outcome {
        Err(problem) => return format!("{name}: not reachable: {}\n", one_line(problem)),
        Ok((_, review)) if review.is_same() => return format!("{name}: as approved\n"),
        Ok((_, review)) => review,
    };
    let mut text = String::new();
    for entry in differing(review) {
        let (kind, status) = (kind_name(entry.kind), status_name(entry.status));
        text += &format!("{name}/{}: {status} {kind}\n", one_line(&entry.name));
        for line in lines(entry) {
            text += &match line {
                DifferenceLine::Member(member) => format!("    {}\n", one_line(&member)),
                DifferenceLine::Removed(line) => format!("    - {}\n", one_line(&line)),
                DifferenceLine::Added(line) => format!("    + {}\n", one_line(&line)),
                _ => String::new(),
            };
        }
    }
    if review.instructions != PinStatus::Same {
        text += &format!(
            "{name}: {} instructions\n",
            status_name(review.instructions)
        );
    }
    text
}

/// Returns the lines of an entry: those of a new entry are all new.
fn lines(entry: &EntryReview) -> Vec<DifferenceLine> {
    match (&entry.approved, &entry.offered) {
        (Some(approved), Some(offered)) => differences(approved, offered),
        (None, Some(offered)) => {
            text_differences("", description(offered).as_deref().unwrap_or(""))
        }
        _ => Vec::new(),
    }
}

fn description(descriptor: &toolwire::RawJson) -> Option<String> {
    let descriptor = descriptor.to_value().ok()?;
    Some(descriptor.get("description")?.as_str()?.to_owned())
}

fn as_json(upstream: &PinnedUpstream) -> Value {
    match &upstream.outcome {
        Err(problem) => json!({ "name": upstream.name, "problem": problem }),
        Ok((_, review)) => {
            let entries = differing(review).map(|entry| {
                json!({
                    "kind": kind_name(entry.kind),
                    "name": entry.name,
                    "status": status_name(entry.status),
                    "approved": entry.approved,
                    "offered": entry.offered,
                })
            });
            json!({
                "name": upstream.name,
                "instructions": status_name(review.instructions),
                "entries": entries.collect::<Vec<_>>(),
            })
        }
    }
}

fn differing(review: &Review) -> impl Iterator<Item = &EntryReview> {
    let entries = review.entries.iter();
    entries.filter(|entry| entry.status != PinStatus::Same)
}

fn kind_name(kind: PinKind) -> &'static str {
    match kind {
        PinKind::Prompt => "prompt",
        _ => "tool",
    }
}

fn status_name(status: PinStatus) -> &'static str {
    match status {
        PinStatus::New => "new",
        PinStatus::Same => "same",
        PinStatus::Removed => "removed",
        _ => "changed",
    }
}

/// Approves what the names stand for, and writes the lock file.
fn approve(
    accept: &AcceptPins,
    config: &GatewayConfig,
    mut lock_file: LockFile,
    reviewed: &[PinnedUpstream],
    screen: &Screen,
) -> Result<Exit, Failure> {
    let names: Vec<&str> = if accept.all {
        reviewed
            .iter()
            .map(|upstream| upstream.name.as_str())
            .collect()
    } else {
        accept.names.iter().map(String::as_str).collect()
    };
    let mut report = String::new();
    for name in names {
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
                let pins = UpstreamPins::of(offer);
                lock_file.upstreams.insert(upstream.to_owned(), pins);
            }
            Some(entry) => {
                let pins = lock_file.upstreams.entry(upstream.to_owned()).or_default();
                if !pins.approve(offer, entry) {
                    let message = format!("{upstream} has no tool or prompt `{entry}`");
                    return Err(Failure::usage(message)
                        .with_advice("`toolwire pins` without `accept` lists what has changed"));
                }
            }
        }
        report += &format!("approved {name}\n");
    }
    lock_file.write(&config.lock_file).map_err(|error| {
        let path = config.lock_file.display();
        Failure::usage(format!("{path} cannot be written: {error}"))
    })?;
    screen.print(&report)?;
    Ok(Exit::Success)
}

fn unknown(name: &str, reviewed: &[PinnedUpstream]) -> Failure {
    let known: Vec<&str> = reviewed
        .iter()
        .map(|upstream| upstream.name.as_str())
        .collect();
    Failure::usage(format!("there is no upstream `{name}` with pins"))
        .with_advice(format!("one of {}", known.join(", ")))
}
