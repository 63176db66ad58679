//! `toolwire gateway --check`: what a gateway would offer.

use serde_json::{Value, json};
use toolwire_gateway::{Gateway, GatewayReport, InvisibleCharacter, UpstreamReport};

use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::show::one_line;

/// Connects to all upstreams, and prints the merged lists and their problems.
pub(super) async fn check(gateway: &Gateway, screen: &Screen) -> Result<Exit, Failure> {
    gateway.connect_all().await;
    let report = gateway.report().await;
    if screen.json {
        screen.print_json(&as_json(&report))?;
    } else {
        screen.print(&as_text(&report))?;
    }
    let is_complete = report
        .upstreams
        .iter()
        .all(|upstream| upstream.problem.is_none());
    Ok(if is_complete {
        Exit::Success
    } else {
        Exit::NoConnection
    })
}

fn as_text(report: &GatewayReport) -> String {
    let mut text = String::new();
    for upstream in &report.upstreams {
        match &upstream.problem {
            Some(problem) => {
                text += &format!("{}  not reachable: {}\n", upstream.name, one_line(problem));
            }
            None => text += &format!("{}  {}\n", upstream.name, counts(upstream)),
        }
        for entry in &upstream.entries {
            text += &format!("  {:<8}  {}\n", entry.kind, one_line(&entry.name));
        }
    }
    if !report.has_auth {
        text += "warning: there is no [auth]: every client that reaches the address may use all servers\n";
    }
    for conflict in &report.conflicts {
        text += &format!("conflict: {}\n", one_line(conflict));
    }
    for upstream in &report.upstreams {
        for entry in &upstream.entries {
            if !entry.invisible_characters.is_empty() {
                let kinds: Vec<&str> = kinds(&entry.invisible_characters).collect();
                let (kind, name) = (entry.kind, one_line(&entry.name));
                text += &format!("warning: {kind} `{name}` has {}\n", kinds.join(", "));
            }
        }
    }
    text
}

fn counts(upstream: &UpstreamReport) -> String {
    let names = [
        ("tool", "tools"),
        ("prompt", "prompts"),
        ("resource", "resources"),
        ("template", "templates"),
    ];
    let counts = names.into_iter().filter_map(|(kind, plural)| {
        let entries = upstream.entries.iter();
        let count = entries.filter(|entry| entry.kind == kind).count();
        let word = if count == 1 { kind } else { plural };
        (count > 0).then(|| format!("{count} {word}"))
    });
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() {
        "nothing".to_owned()
    } else {
        counts.join(", ")
    }
}

fn kinds(characters: &[InvisibleCharacter]) -> impl Iterator<Item = &'static str> {
    characters.iter().map(|character| character.as_str())
}

fn as_json(report: &GatewayReport) -> Value {
    let upstreams = report.upstreams.iter().map(|upstream| {
        let entries = upstream.entries.iter().map(|entry| {
            let invisible: Vec<&str> = kinds(&entry.invisible_characters).collect();
            json!({ "kind": entry.kind, "name": entry.name, "invisibleCharacters": invisible })
        });
        json!({
            "name": upstream.name,
            "problem": upstream.problem,
            "entries": entries.collect::<Vec<_>>(),
        })
    });
    json!({
        "auth": report.has_auth,
        "upstreams": upstreams.collect::<Vec<_>>(),
        "conflicts": report.conflicts,
    })
}
