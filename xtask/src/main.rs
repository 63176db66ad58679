//! Development tasks: `cargo xtask <task>`.
//!
//! Uses only the standard library, so that it builds in a second and adds no dependency.

mod bench;
mod conformance;
mod docs;
mod failed_tests;
mod first_hour;
mod hello;
mod package;
mod page;
mod peers;
mod plots;
mod processor_time;
mod programs;
mod releases;
mod steps;
mod suite;
mod svg;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <task>

  test    build the command, install the peers and the suite, run every test
  peers   install what the interop tests need: the independent clients and servers, and the packages of the page
  page    install the packages of the page of `toolwire inspect`, check its types and build it;
          with `--check`, compare the build and its pictures with the committed ones; with `--pictures`, take the pictures
          of its guide; with `--times`, measure the start of the command and the page
  docs    build the documentation site with the reference of all crates into `target/site`;
          with `--check`, build it without the reference, check its links and open it in a browser
  docs links
          rewrite links of guides that are Rust paths, so that they also work on code hosts and on the site
  docs options
          write the reference of options and limits from the documentation of the code
  docs diagrams
          draw the diagrams of the architecture
  docs recording
          run the first session of `docs/tour.md` and draw it as the picture of a terminal
  first-hour
          do all that the page `getting_started` says, from a clone of the last commit on, then install a new server in
          a host, and print the times
  conformance server|client|authorization
          install the official suite and run it with toolwire's server, client or authorization server
  bench   compare toolwire with its peers; `bench peers --help` lists the options;
          other benchmarks: `bench hello`, `bench instructions`, `bench streams`, `bench http-clients`, `bench tasks`, `bench proxy`,
          `bench fleet`;
          with `--plot`, draw the tables of `docs/performance.md` as pictures, without measuring
  package check that every crate can be published: metadata, files and versions, without a build
  tidy    check the project rules that the compiler does not check
  style [CHECK]
          count the findings of `tidy` about words and structure, or list those of one check
  ci      formatting, all of `test`, lints and documentation";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = workspace_root();
    let outcome = match arguments.as_slice() {
        ["test"] => suite::test(&root),
        ["peers"] => suite::install_peers(&root),
        ["page"] => page::build(&root),
        ["page", "--check"] => page::check(&root),
        ["page", "--pictures"] => page::take_pictures(&root),
        ["page", "--times"] => page::measure_times(&root),
        ["docs"] => docs::build(&root),
        ["docs", "--check"] => {
            peers::Toolchain::find().and_then(|found| docs::check(&root, &found))
        }
        ["docs", "links"] => docs::rewrite_links(&root),
        ["docs", "options"] => docs::write_options(&root),
        ["docs", "diagrams"] => docs::write_diagrams(&root),
        ["docs", "recording"] => docs::record(&root),
        ["first-hour"] => first_hour::run_page(&root),
        [
            "conformance",
            subject @ ("server" | "client" | "authorization"),
        ] => conformance::check(&root, subject),
        ["bench", arguments @ ..] => bench::bench(&root, arguments),
        ["package"] => package::check(&root),
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

/// Returns the workspace directory, known at compile time.
fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the workspace")
        .to_owned()
}
