//! Checks the reference of the command, `docs/reference/command.md`, against the definition of its arguments.
//!
//! `UPDATE_REFERENCE=1 cargo test -p toolwire-cli --all-features command_reference` writes the page.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::arguments::Arguments;
use crate::failure::Exit;
use crate::variables_reference;

const INTRODUCTION: &str = "# The `toolwire` command

Every command with its arguments and options, the exit codes and the environment variables. A test compares this page with the
program. [At the terminal](../../crates/toolwire/src/guide/terminal.md) explains the commands with examples.
";

/// The command without an option of its own: it has the options of all commands that connect to a server.
const CONNECTING: &str = "discover";

/// The options that a command may lack and still has the connection options.
const MOST_MISSING: usize = 2;

/// The exit codes in their order, with their meanings.
const EXIT_CODES: [(Exit, &str); 10] = [
    (Exit::Success, "success"),
    (
        Exit::ToolFailed,
        "the tool reported an error, or a check found a fault",
    ),
    (Exit::Usage, "the command line is invalid"),
    (Exit::NoConnection, "no connection to the server"),
    (
        Exit::Protocol,
        "the server returned an error or violated the protocol",
    ),
    (Exit::Timeout, "no response in time"),
    (
        Exit::Unauthorized,
        "the credentials were rejected or are missing",
    ),
    (Exit::TerminalClosed, "the terminal was closed (SIGHUP)"),
    (Exit::Interrupted, "interrupted (SIGINT)"),
    (Exit::Terminated, "terminated (SIGTERM)"),
];

#[test]
fn optional_value_has_brackets_and_its_default() {
    let row = "| `--http [<ADDRESS>]` | Serve over HTTP until interrupted; port 0 selects a free port | `127.0.0.1:3000` for \
               `--http` alone |";
    assert!(page().contains(row));
}

#[test]
fn page_describes_every_command_and_option() {
    let page = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &page).expect("the page is writable");
    }
    let written = std::fs::read_to_string(&path).expect("there is a page");
    assert!(
        written == page,
        "run with UPDATE_REFERENCE=1 to update {}",
        path.display()
    );
}

fn page() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## Exit codes\n\n| Code | Meaning |\n|---|---|\n");
    for (exit, meaning) in EXIT_CODES {
        let _ = writeln!(text, "| {} | {meaning} |", exit as u8);
    }
    variables_reference::write_section(&mut text);
    let mut root = Arguments::command();
    root.build();
    let connecting = root.find_subcommand(CONNECTING);
    let connection: Vec<Row> = rows(connecting.expect("there is the command"));
    text.push_str(
        "\n## Connection options\n\nMost commands connect to a server and take these options. If the table of a command has an \
         option with the same name, that row applies.\n",
    );
    write_table(&mut text, &connection);
    for command in root.get_subcommands() {
        describe(&mut text, command, "toolwire", &connection);
    }
    text
}

/// One argument of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    name: String,
    text: String,
}

/// Returns the rows of the shown arguments.
fn rows(command: &Command) -> Vec<Row> {
    let shown = |argument: &&Arg| !argument.is_hide_set() && argument.get_id() != "help";
    let arguments = command.get_arguments().filter(shown);
    let row = |argument: &Arg| {
        let help = argument.get_help().map(ToString::to_string);
        Row {
            name: name(argument),
            text: format!(
                "| `{}` | {} | {} |\n",
                cell(&usage(argument)),
                cell(&help.unwrap_or_default()),
                cell(&default(command, argument))
            ),
        }
    };
    arguments.map(row).collect()
}

fn write_table(text: &mut String, rows: &[Row]) {
    if !rows.is_empty() {
        text.push_str("\n| Argument | Meaning | Default |\n|---|---|---|\n");
    }
    text.extend(rows.iter().map(|row| row.text.as_str()));
}

/// Removes the connection options if the command has almost all of them, and writes a sentence instead.
fn replace_connection_options(text: &mut String, rows: &mut Vec<Row>, connection: &[Row]) {
    let missing: Vec<&Row> = connection
        .iter()
        .filter(|row| !rows.contains(row))
        .collect();
    if missing.len() > MOST_MISSING {
        return;
    }
    rows.retain(|row| !connection.contains(row));
    let lacks = |row: &&&Row| !rows.iter().any(|other| other.name == row.name);
    let names = missing.iter().filter(lacks);
    let names: Vec<String> = names.map(|row| format!("`--{}`", row.name)).collect();
    let without = if names.is_empty() {
        String::new()
    } else {
        format!(", without {}", names.join(" and "))
    };
    let _ = writeln!(
        text,
        "\nIt takes the [connection options](#connection-options){without}."
    );
}

/// Writes the section of a command, and those of the commands below it.
fn describe(text: &mut String, command: &Command, parent: &str, connection: &[Row]) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = format!("{parent} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string);
    let _ = write!(text, "\n## `{name}`\n\n{}.\n", about.unwrap_or_default());
    let mut rows = rows(command);
    replace_connection_options(text, &mut rows, connection);
    write_table(text, &rows);
    for below in command.get_subcommands() {
        describe(text, below, &name, connection);
    }
}

/// Returns an argument as it is written: `--timeout <SECONDS>` or `<NAME>`.
fn usage(argument: &Arg) -> String {
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let names = argument.get_value_names().unwrap_or_default();
    let values: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let values = match values.join(" ") {
        _ if !takes_value => String::new(),
        values if may_lack_value(argument) => format!("[{values}]"),
        values => values,
    };
    let mut forms = Vec::new();
    if let Some(short) = argument.get_short() {
        forms.push(format!("-{short}"));
    }
    if let Some(long) = argument.get_long() {
        forms.push(format!("--{long}"));
    }
    let text = format!("{} {values}", forms.join(", "));
    text.trim().to_owned()
}

/// Returns the name that an argument has on the page: that of the option, or of the value.
fn name(argument: &Arg) -> String {
    let long = argument.get_long().map(str::to_owned);
    long.unwrap_or_else(|| argument.get_id().to_string())
}

/// Returns `true` if the value of an option may be left out.
fn may_lack_value(argument: &Arg) -> bool {
    let number = argument.get_num_args();
    argument.get_long().is_some() && number.is_some_and(|number| number.min_values() == 0)
}

fn default(command: &Command, argument: &Arg) -> String {
    if let Some(value) = default_without_value(command, argument) {
        return format!("`{value}` for `--{}` alone", name(argument));
    }
    let values = argument.get_default_values();
    let values: Vec<String> = values
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    match argument.get_action() {
        ArgAction::Set | ArgAction::Append => values.join(", "),
        _ => String::new(),
    }
}

/// Returns what an option means if its value is left out. The parser does not show it, so the option is parsed.
fn default_without_value(command: &Command, argument: &Arg) -> Option<String> {
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let long = argument.get_long()?;
    if !takes_value || !may_lack_value(argument) {
        return None;
    }
    // Other arguments may be missing.
    let command = command.clone().ignore_errors(true);
    let parsed = command.try_get_matches_from(["toolwire".to_owned(), format!("--{long}")]);
    let parsed = parsed.expect("errors are ignored");
    let mut values = parsed.get_raw(argument.get_id().as_str())?;
    let value = values.next()?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// Escapes text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
