//! Finds the examples that Cargo built for this crate.

use std::path::PathBuf;

use crate::problem::Problem;

/// Returns the program of an example. Cargo builds it with the tests, beside their directory.
///
/// # Errors
///
/// Returns an error if the example is not built.
pub fn built_example(name: &str) -> Result<PathBuf, Problem> {
    let test = std::env::current_exe()
        .map_err(|error| Problem::new(format!("cannot find the path of this program: {error}")))?;
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    test.ancestors()
        .nth(2)
        .map(|profile| profile.join("examples").join(name))
        .filter(|path| path.is_file())
        .ok_or_else(|| {
            Problem::new(
                "the example is not built: run `cargo test -p toolwire-interop` as a whole",
            )
        })
}
