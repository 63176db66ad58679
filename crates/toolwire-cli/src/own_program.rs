//! How the user starts this program again.

use std::path::{Path, PathBuf};

use crate::shell_words::in_shell;

const NAME: &str = "toolwire";

/// Returns what to type for this program: its name if `PATH` contains it, otherwise its path.
pub(crate) fn as_typed() -> String {
    let Ok(program) = std::env::current_exe() else {
        return NAME.to_owned();
    };
    let is_program = |path: PathBuf| {
        let same = path.canonicalize().ok().zip(program.canonicalize().ok());
        same.is_some_and(|(path, program)| path == program)
    };
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let file = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    // The shell uses the first file of this name.
    let mut files = std::env::split_paths(&directories).map(|directory| directory.join(&file));
    if files.find(|path| path.is_file()).is_some_and(is_program) {
        return NAME.to_owned();
    }
    let directory = std::env::current_dir().unwrap_or_default();
    path_from(&program, &directory)
}

/// Returns a path relative to the directory if it is inside of it.
fn path_from(program: &Path, directory: &Path) -> String {
    let path = match program.strip_prefix(directory) {
        // A shell searches a name without a directory in `PATH`.
        Ok(inside) if inside.components().count() == 1 => Path::new(".").join(inside),
        Ok(inside) => inside.to_owned(),
        Err(_) => program.to_owned(),
    };
    let path = path.display().to_string();
    let without_suffix = path.strip_suffix(std::env::consts::EXE_SUFFIX);
    in_shell(without_suffix.unwrap_or(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn path_is_relative_if_it_is_inside_the_directory() {
        fn check(program: &str, directory: &str, expected: &str) {
            let typed = path_from(Path::new(program), Path::new(directory));
            assert_eq!(typed, expected);
        }
        check(
            "/src/target/debug/toolwire",
            "/src",
            "target/debug/toolwire",
        );
        check("/src/toolwire", "/src", "./toolwire");
        check("/opt/toolwire", "/src", "/opt/toolwire");
        check("/my files/toolwire", "/src", "'/my files/toolwire'");
    }
}
