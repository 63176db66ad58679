//! Where Cargo has put the examples of this crate.

use std::path::PathBuf;

use crate::problem::Problem;

/// The program of an example. Cargo builds it with the tests, and puts it beside the directory they are in.
///
/// # Errors
///
/// When it is not built.
pub fn built_example(name: &str) -> Result<PathBuf, Problem> {
    let test = std::env::current_exe()
        .map_err(|error| Problem::new(format!("cannot find myself: {error}")))?;
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
