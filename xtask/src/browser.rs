//! Finds Chromium for the tests of views, and installs it on Debian if this process may.

use std::path::Path;
use std::process::Command;

use crate::steps::{Outcome, note, output_of, run};

/// The names of the browser, in the order in which they are tried.
const PROGRAMS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Returns the command of Chromium. The error names it as missing in one line.
pub(crate) fn find_or_install() -> Outcome<String> {
    if let Ok(configured) = std::env::var("TOOLWIRE_CHROMIUM") {
        return Ok(configured);
    }
    if let Some(program) = find() {
        return Ok(program);
    }
    if may_install() {
        note("installing Chromium");
        let install = || {
            run(Command::new("apt-get")
                .env("DEBIAN_FRONTEND", "noninteractive")
                .args(["install", "--yes", "--no-install-recommends", "chromium"]))
        };
        // The list of packages may be absent or outdated.
        install()
            .or_else(|_| run(Command::new("apt-get").arg("update")).and_then(|()| install()))?;
    }
    find().ok_or_else(|| {
        "the tests of views need Chromium: install it (on Debian: `apt-get install chromium`)"
            .to_owned()
    })
}

fn find() -> Option<String> {
    let programs = PROGRAMS.into_iter();
    let mut programs = programs.filter(|program| output_of(program, &["--version"]).is_some());
    programs.next().map(str::to_owned)
}

/// Returns `true` if this process may install packages of Debian.
fn may_install() -> bool {
    let is_root = output_of("id", &["-u"]).is_some_and(|id| id == "0");
    is_root && Path::new("/usr/bin/apt-get").exists()
}
