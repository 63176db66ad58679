//! Removes a server from hosts.

use serde_json::json;

use crate::commands::install::{distinct_hosts, invalid, path, print_change};
use crate::failure::{Exit, Failure};
use crate::hosts::{ConfigFile, Document, Host, OwnCommand, Removal, changed_lines};
use crate::install_arguments::Uninstall;
use crate::screen::Screen;
use crate::server_files::shown_path;
use crate::show::plain_text;

/// Removes an entry from every host.
pub(crate) async fn uninstall(arguments: &Uninstall, screen: &Screen) -> Result<Exit, Failure> {
    // All files are read before the first one is changed.
    let mut plans = Vec::new();
    for host in distinct_hosts(&arguments.edit.hosts) {
        let file = ConfigFile::read(&path(host, arguments.edit.scope)?)?;
        let backup = file.backup()?;
        let document = Document::new(host, file.text());
        let removal = document
            .without(&arguments.name, backup.as_deref())
            .map_err(|problem| invalid(&file, &problem))?;
        plans.push((host, file, removal));
    }
    let mut reports = Vec::new();
    for (host, file, removal) in &plans {
        let is_removed = remove(host, file, removal, arguments, screen).await?;
        reports.push(json!({
            "host": host.id,
            "name": arguments.name,
            "scope": arguments.edit.scope.name(),
            "change": if is_removed { "removed" } else { "unchanged" },
            "file": shown_path(file.path()),
        }));
    }
    if screen.json && !arguments.edit.dry_run {
        screen.print_json(&reports)?;
    }
    Ok(Exit::Success)
}

/// Removes the entry from one host. Returns `false` if there is no such entry.
async fn remove(
    host: &Host,
    file: &ConfigFile,
    removal: &Removal,
    arguments: &Uninstall,
    screen: &Screen,
) -> Result<bool, Failure> {
    let (name, shown) = (&arguments.name, shown_path(file.path()));
    if *removal == Removal::Absent {
        print_change(screen, &format!("{shown} has no entry `{name}`\n"))?;
        return Ok(false);
    }
    let command = OwnCommand::remove(host, arguments.edit.scope, name);
    let command = command.filter(|_| !arguments.edit.edit_file);
    if arguments.edit.dry_run {
        let text = match (command, removal) {
            (Some(command), _) => format!("$ {}\n", command.shown()),
            (None, Removal::Restore(text) | Removal::Edit(text)) => {
                format!("{shown}\n{}", changed_lines(file.text(), text))
            }
            (None, _) => format!("{shown}\n{}", changed_lines(file.text(), "")),
        };
        screen.print(&plain_text(&text))?;
        return Ok(true);
    }
    match (command, removal) {
        (Some(command), _) => command.run().await?,
        (None, Removal::Restore(text)) => file.restore(text)?,
        (None, Removal::Edit(text)) => file.replace(text)?,
        (None, Removal::DeleteFile | Removal::Absent) => file.delete()?,
    }
    print_change(screen, &format!("removed `{name}` from {shown}\n"))?;
    Ok(true)
}
