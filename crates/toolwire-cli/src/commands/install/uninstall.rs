//! Removes a server from hosts.

use serde_json::{Value, json};

use crate::commands::install::{distinct_hosts, invalid, path, print_change};
use crate::failure::{Exit, Failure};
use crate::hosts::{ConfigFile, Document, Host, OwnCommand, Removal, changed_lines};
use crate::install_arguments::Uninstall;
use crate::screen::Screen;
use crate::server_files::shown_path;

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
        let mut report = json!({
            "host": host.id,
            "name": arguments.name,
            "scope": arguments.edit.scope.name(),
            "change": if *removal == Removal::Absent { "unchanged" } else { "removed" },
            "file": shown_path(file.path()),
        });
        remove(host, file, removal, arguments, screen, &mut report).await?;
        reports.push(report);
    }
    if screen.json {
        screen.print_json(&reports)?;
    }
    Ok(Exit::Success)
}

/// Removes the entry from one host, or adds to the report what would be done.
async fn remove(
    host: &Host,
    file: &ConfigFile,
    removal: &Removal,
    arguments: &Uninstall,
    screen: &Screen,
    report: &mut Value,
) -> Result<(), Failure> {
    let (name, shown) = (&arguments.name, shown_path(file.path()));
    if *removal == Removal::Absent {
        return print_change(screen, &format!("{shown} has no entry `{name}`\n"));
    }
    let command = OwnCommand::remove(host, arguments.edit.scope, name);
    let command = command.filter(|_| !arguments.edit.edit_file);
    if arguments.edit.dry_run {
        let after = match removal {
            Removal::Restore(text) | Removal::Edit(text) => text.as_str(),
            Removal::DeleteFile | Removal::Absent => "",
        };
        let change = match command {
            Some(command) => {
                report["commands"] = json!([command.shown()]);
                format!("$ {}\n", command.shown())
            }
            None => {
                let lines = changed_lines(host, file.text(), after);
                report["diff"] = lines.as_str().into();
                format!("{shown}\n{lines}")
            }
        };
        return print_change(screen, &change);
    }
    match (command, removal) {
        (Some(command), _) => command.run().await?,
        (None, Removal::Restore(text)) => file.restore(text)?,
        (None, Removal::Edit(text)) => file.replace(text)?,
        (None, Removal::DeleteFile | Removal::Absent) => file.delete()?,
    }
    print_change(screen, &format!("removed `{name}` from {shown}\n"))
}
