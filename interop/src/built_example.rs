//! Finds the examples that Cargo built for this crate, and the peers that `cargo xtask peers` built.

use std::path::PathBuf;

use crate::problem::Problem;

/// Returns the program of an example. Cargo builds it with the tests, beside their directory.
///
/// # Errors
///
/// Returns an error if the example is not built.
pub fn built_example(name: &str) -> Result<PathBuf, Problem> {
    beside_the_tests(&format!("examples/{name}"))?.ok_or_else(|| {
        Problem::new("the example is not built: run `cargo test -p toolwire-interop` as a whole")
    })
}

/// Returns the program of a peer. `cargo xtask peers` builds it into the same target directory.
pub(crate) fn built_peer(name: &str) -> Result<PathBuf, Problem> {
    beside_the_tests(name)?.ok_or_else(|| {
        Problem::new(format!(
            "{name} is not built: run `cargo xtask peers`, or `cargo xtask test` for all"
        ))
    })
}

/// Returns a program in the directory of the profile, or `None` if it does not exist.
fn beside_the_tests(name: &str) -> Result<Option<PathBuf>, Problem> {
    let test = std::env::current_exe()
        .map_err(|error| Problem::new(format!("cannot find the path of this program: {error}")))?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let profile = test.ancestors().nth(2);
    Ok(profile
        .map(|profile| profile.join(name))
        .filter(|path| path.is_file()))
}
