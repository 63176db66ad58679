//! Lists and deletes saved calls.

use crate::commands::call::unusable;
use crate::failure::{Exit, Failure};
use crate::request_arguments::{Saved, saved_calls_file};
use crate::saved_calls::SavedCalls;
use crate::screen::Screen;
use crate::show::Table;

/// Lists the saved calls, or deletes one.
pub(crate) fn saved(arguments: &Saved, screen: &Screen) -> Result<Exit, Failure> {
    let file = saved_calls_file(arguments.calls.as_deref());
    let mut saved = SavedCalls::read(file).map_err(|error| unusable(file, &error))?;
    let Some(name) = &arguments.delete else {
        return list(&saved, screen);
    };
    if !saved.remove(name) {
        let message = format!("{} has no saved call `{name}`", file.display());
        return Err(Failure::usage(message).with_advice("`toolwire saved` lists the saved calls"));
    }
    saved.write(file).map_err(|error| unusable(file, &error))?;
    Ok(Exit::Success)
}

/// Prints the names of the calls. Only the JSON has the arguments and responses, which may be long.
fn list(saved: &SavedCalls, screen: &Screen) -> Result<Exit, Failure> {
    if screen.json {
        screen.print_json(&saved.calls)?;
        return Ok(Exit::Success);
    }
    if saved.calls.is_empty() {
        screen.print("no saved calls\n")?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&["NAME", "TOOL", "RESPONSES"]);
    for call in &saved.calls {
        let responses = call.responses.len().to_string();
        table.row([&call.name, &call.tool, &responses]);
    }
    screen.print(&table.render(screen.style))?;
    Ok(Exit::Success)
}
