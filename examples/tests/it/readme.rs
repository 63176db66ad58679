//! Checks that README lists every example, and that a test runs every job.

use std::fs;
use std::path::Path;

/// The tests that run the clients of whole jobs.
const TESTS_OF_JOBS: [&str; 2] = [include_str!("jobs.rs"), include_str!("fleet.rs")];

#[test]
fn every_example_is_listed_and_documents_how_to_run_it() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(package.join("README.md")).unwrap();
    for entry in fs::read_dir(package.join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (path, link) = if path.is_dir() {
            let link = format!("| [`{name}`](examples/{name}/main.rs) |");
            (path.join("main.rs"), link)
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let link = format!("| [`{name}`](examples/{name}.rs) |");
            (path, link)
        } else {
            continue;
        };
        assert!(readme.contains(&link), "{name} is missing from README.md");
        if link.contains("/main.rs") {
            let is_run = TESTS_OF_JOBS
                .iter()
                .any(|tests| tests.contains(&format!("Job::new(\"{name}\")")));
            assert!(is_run, "no test runs the client of {name}");
            assert!(readme.contains(&format!("{link} job")), "{name} is a job");
        }
        let program = fs::read_to_string(&path).unwrap();
        // The README shows the quickstart without the module documentation.
        let documents_command = program.starts_with("//! ")
            && program.contains(&format!("cargo run -p toolwire-examples --example {name}"));
        assert!(
            documents_command || name == "quickstart",
            "{name} does not document how to run it"
        );
    }
}
