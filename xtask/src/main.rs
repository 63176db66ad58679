//! Development tasks: `cargo xtask <task>`.
//!
//! Standard library only, so that it builds in a second and needs nothing that the project does not.

mod bench;
mod conformance;
mod hello;
mod peers;
mod steps;
mod suite;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <task>

  test    build the command, install the peers and the suite, run every test
  peers   install the real clients and servers that the interop tests run
  conformance server|client|authorization
          install the official suite, run it against toolwire's server or client
  bench   measure toolwire beside its peers; `bench hello`, `bench streams` and `bench http-clients` are others,
          `bench peers --help` says more
  tidy    check the rules of the house that the compiler does not know
  style [CHECK]
          count what is still outside the glossary and the layout we move to, or list it
  ci      formatting, lints and documentation, then all of `test`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = workspace_root();
    let outcome = match arguments.as_slice() {
        ["test"] => suite::test(&root),
        ["peers"] => peers::install(&root),
        [
            "conformance",
            subject @ ("server" | "client" | "authorization"),
        ] => conformance::check(&root, subject),
        ["bench", arguments @ ..] => bench::bench(&root, arguments),
        ["tidy"] => tidy::report(&root),
        ["style"] => tidy::style::report(&root, None),
        ["style", check] => tidy::style::report(&root, Some(check)),
        ["ci"] => suite::ci(&root),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// The directory of the workspace, known since this file was compiled in it.
fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_owned()
}
