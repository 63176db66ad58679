//! Lists the servers that hosts have, by host.

use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::hosts::{ConfigFile, Document, HOSTS, Scope};
use crate::install_arguments::Installed;
use crate::screen::Screen;
use crate::server_files::{ServerDetails, shown_path};
use crate::show::Table;

/// Lists the entries of all hosts, without secrets. A file that cannot be read causes a warning.
pub(crate) fn installed(arguments: &Installed, screen: &Screen) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    for host in &HOSTS {
        for scope in Scope::ALL {
            let Some(path) = host.file(scope) else {
                continue;
            };
            let entries = ConfigFile::read(&path).and_then(|file| {
                let entries = Document::new(host, file.text()).entries();
                entries.map_err(|problem| {
                    let shown = shown_path(file.path());
                    Failure::usage(format!("{shown} cannot be read: {problem}"))
                })
            });
            let entries = match entries {
                Ok(entries) => entries,
                Err(problem) => {
                    screen.warn(problem.message());
                    continue;
                }
            };
            for (name, entry) in entries {
                let details = ServerDetails::of(&entry);
                let is_wanted = arguments.name.as_ref().is_none_or(|wanted| *wanted == name);
                // Zed and Goose also have the settings of their extensions there.
                let is_server = !["zed", "goose"].contains(&host.id)
                    || !matches!(details, ServerDetails::Invalid(_));
                if is_wanted && is_server {
                    rows.push((
                        host.id,
                        scope.name(),
                        name,
                        shown_path(&path),
                        details.shown(),
                    ));
                }
            }
        }
    }
    if screen.json {
        let rows = rows.iter().map(|(host, scope, name, file, server)| {
            json!({"host": host, "scope": scope, "name": name, "file": file, "server": server})
        });
        screen.print_json(&rows.collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        screen.print("no servers\n")?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&["HOST", "SCOPE", "NAME", "FILE", "COMMAND OR URL"]);
    for (host, scope, name, file, server) in &rows {
        table.row([*host, *scope, name, file, server]);
    }
    screen.print(&table.render(screen.style))?;
    Ok(Exit::Success)
}
