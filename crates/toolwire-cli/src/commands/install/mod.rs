//! Installs a server in hosts, removes it, and lists what is installed.

mod installed;
mod plan;
mod source;
mod uninstall;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use crate::commands::install::plan::Plan;
use crate::commands::server_summary::ServerSummary;
use crate::failure::{Exit, Failure};
use crate::hosts::{
    ConfigFile, Document, Host, InstalledServer, NewEntry, Scope, check_name, server_of_entry,
};
use crate::install_arguments::Install;
use crate::screen::Screen;
use crate::server_files::shown_path;
use crate::show::plain_text;

use self::source::InstallSource;

pub(crate) use installed::installed;
pub(crate) use uninstall::uninstall;

/// Installs a server.
pub(crate) async fn install(arguments: &Install, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let source = InstallSource::new(arguments).await?;
    let name = arguments.name.clone().unwrap_or_else(|| source.name());
    check_name(&name)?;
    let own_program = own_program()?;
    let hosts = distinct_hosts(&arguments.edit.hosts);
    let entries = hosts
        .iter()
        .map(|host| NewEntry::new(host, &name, &source.server, &own_program))
        .collect::<Result<Vec<_>, _>>()?;
    let scope = arguments.edit.scope;
    if arguments.print {
        return print_entries(&hosts, scope, &entries, screen);
    }
    // All files are read before the first one is changed.
    let mut plans = Vec::new();
    for (host, new) in hosts.iter().zip(&entries) {
        plans.push(Plan::new(host, new, arguments)?);
    }
    let mut reports = Vec::new();
    for plan in &plans {
        reports.push(plan.run(&arguments.edit, screen).await?);
    }
    if arguments.edit.dry_run {
        if screen.json {
            screen.print_json(&reports)?;
        }
        return Ok(Exit::Success);
    }
    let servers: Vec<_> = hosts
        .iter()
        .map(|host| server_of_entry(host, &source.server, &own_program))
        .collect();
    let checked = check(&servers, arguments, screen).await;
    for (report, server) in reports.iter_mut().zip(&servers) {
        let found = checked.iter().flatten();
        let mut found = found.filter(|(checked, _)| *checked == server);
        if let Some((_, found)) = found.next() {
            report["found"] = found.as_str().into();
        }
    }
    if screen.json {
        screen.print_json(&reports)?;
    } else {
        for plan in &plans {
            screen.print(&format!("{}: {}\n", plan.host.name, plan.host.reload))?;
        }
    }
    checked.map(|_| Exit::Success).map_err(|failure| {
        let hosts: Vec<_> = hosts.iter().map(|host| host.id).collect();
        let remove = format!(
            "the entry is written; remove it with: toolwire uninstall {name} --host {}",
            hosts.join(",")
        );
        failure
            .with_context("the server does not start: ")
            .with_default_advice(&remove)
    })
}

/// Starts the servers as their hosts would, each one once, and returns what they are. A server that cannot be started here
/// is left out.
async fn check<'s>(
    servers: &'s [InstalledServer],
    arguments: &Install,
    screen: &Arc<Screen>,
) -> Result<Vec<(&'s InstalledServer, String)>, Failure> {
    let mut checked: Vec<(&InstalledServer, String)> = Vec::new();
    if arguments.no_check {
        return Ok(checked);
    }
    for (index, server) in servers.iter().enumerate() {
        if servers[..index].contains(server) {
            continue;
        }
        let target = match source::target(server) {
            Ok(target) => target,
            Err(variable) => {
                screen.warn(&format!(
                    "the server was not started: {variable} is not set here, so only the host can start it"
                ));
                continue;
            }
        };
        let summary = ServerSummary::of(&target, &arguments.server, screen).await?;
        let found = summary.shown();
        if !screen.json {
            screen.print(&plain_text(&format!("the server starts: {found}\n")))?;
        }
        checked.push((server, found));
    }
    Ok(checked)
}

fn print_entries(
    hosts: &[&'static Host],
    scope: Scope,
    entries: &[NewEntry],
    screen: &Screen,
) -> Result<Exit, Failure> {
    let mut reports = Vec::new();
    for (host, new) in hosts.iter().zip(entries) {
        let text = Document::new(host, "").with(new).map_err(Failure::usage)?;
        let file = host.file(scope).map(|path| shown_path(&path));
        let check = host.check.shown();
        if screen.json {
            reports.push(json!({
                "host": host.id,
                "name": new.name,
                "scope": scope.name(),
                "file": file,
                "text": text,
                "entry": new.entry,
                "inputs": new.inputs,
                "check": check,
            }));
            continue;
        }
        if let Some(file) = file {
            screen.show_line(&format!("{} reads {file} ({check})", host.name));
        }
        screen.print(&format!("{}\n", text.trim_end()))?;
    }
    if screen.json {
        screen.print_json(&reports)?;
    }
    Ok(Exit::Success)
}

fn print_change(screen: &Screen, text: &str) -> Result<(), Failure> {
    if screen.json {
        return Ok(());
    }
    screen.print(&plain_text(text))
}

/// Returns the hosts of the command line, each of them once.
fn distinct_hosts(hosts: &[&'static Host]) -> Vec<&'static Host> {
    let mut distinct: Vec<&'static Host> = Vec::new();
    for &host in hosts {
        if !distinct.iter().any(|other| other.id == host.id) {
            distinct.push(host);
        }
    }
    distinct
}

/// Returns the file of a host.
fn path(host: &Host, scope: Scope) -> Result<PathBuf, Failure> {
    host.file(scope).ok_or_else(|| {
        let (name, scope) = (host.name, scope.name());
        Failure::usage(format!("{name} has no file for the scope {scope}"))
            .with_advice("use --scope user, and check that HOME is set")
    })
}

/// Returns the failure for a file that cannot be parsed.
fn invalid(file: &ConfigFile, problem: &str) -> Failure {
    let shown = shown_path(file.path());
    Failure::usage(format!("{shown} is not changed: {problem}"))
        .with_advice("correct the file, or show the entry with --print and paste it")
}

/// Returns the path of this program.
fn own_program() -> Result<String, Failure> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::usage(format!("the path of toolwire is unknown: {error}")))?;
    source::text(path.as_os_str())
}
