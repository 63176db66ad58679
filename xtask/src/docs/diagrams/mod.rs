//! The diagrams of the architecture, drawn by code, so that a change is a change of words and positions.
//!
//! `cargo xtask docs diagrams` writes them. The check of the documentation compares the files with the code.

mod call;
mod canvas;
mod layers;
mod nodes;
mod relays;

use std::fs;
use std::path::Path;

use crate::steps::{Outcome, note};

/// The directory of the pictures.
const PICTURES: &str = "docs/pictures";

/// A diagram: its file, and the function that draws it.
type Diagram = (&'static str, fn() -> Result<String, String>);

const DIAGRAMS: [Diagram; 4] = [
    ("layers.svg", layers::draw),
    ("call.svg", call::draw),
    ("relays.svg", relays::draw),
    ("nodes.svg", nodes::draw),
];

/// Writes all diagrams.
pub(crate) fn write(root: &Path) -> Outcome {
    for (file, draw) in DIAGRAMS {
        let path = root.join(PICTURES).join(file);
        fs::write(&path, draw()?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Returns a finding for each file that differs from its diagram.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let mut findings = Vec::new();
    for (file, draw) in DIAGRAMS {
        let drawn = draw()?;
        let path = root.join(PICTURES).join(file);
        if !fs::read_to_string(path).is_ok_and(|text| text == drawn) {
            findings.push(format!(
                "{PICTURES}/{file} differs from its diagram: run `cargo xtask docs diagrams`"
            ));
        }
    }
    Ok(findings)
}
