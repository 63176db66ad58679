//! Bundles the files of a view into one document.

use toolwire::apps::bundle;

use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::show::size;
use crate::view_arguments::Bundle;

/// Writes the bundled document to a file or to standard output.
pub(crate) fn bundle_view(arguments: &Bundle, screen: &Screen) -> Result<Exit, Failure> {
    let html = bundle(&arguments.path).map_err(|error| Failure::usage(error.to_string()))?;
    let Some(path) = &arguments.output else {
        screen.print(&html)?;
        return Ok(Exit::Success);
    };
    std::fs::write(path, &html).map_err(|error| {
        Failure::usage(format!("{} cannot be written: {error}", path.display()))
            .with_advice("check --output")
    })?;
    screen.show_line(&format!("saved {} to {}", size(html.len()), path.display()));
    Ok(Exit::Success)
}
