//! The first step for a command: whether its program exists.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::commands::doctor::steps::Steps;
use crate::failure::{Exit, Failure};
use crate::target::ChildProcess;

/// Looks for the program of a command. Returns `false` if it does not exist.
pub(super) fn check_program(child: &ChildProcess, steps: &mut Steps) -> bool {
    let begun = Instant::now();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directory = child.directory.as_deref();
    match find_program(&child.program, directory, &path) {
        Ok(found) => {
            steps.passed("command", begun, found.display().to_string());
            true
        }
        Err(problem) => {
            let failure = Failure::new(Exit::NoConnection, problem);
            let remedy = "install it, or give its whole path";
            steps.failed("command", begun, &failure, remedy);
            false
        }
    }
}

/// Returns the path of a program: its own path, or the first one in `path`.
pub(crate) fn find_program(
    program: &OsStr,
    directory: Option<&Path>,
    path: &OsStr,
) -> Result<PathBuf, String> {
    let shown = program.display();
    let program = Path::new(program);
    if program.components().count() > 1 {
        let place = directory.unwrap_or(Path::new("")).join(program);
        return match (place.exists(), is_executable(&place)) {
            (false, _) => Err(format!("{shown} does not exist")),
            (true, false) => Err(format!("{shown} is not an executable file")),
            (true, true) => Ok(place),
        };
    }
    let mut places = std::env::split_paths(path).flat_map(|place| {
        let mut with_suffix = program.as_os_str().to_owned();
        // Windows adds `.exe`. On other systems the suffix is empty.
        with_suffix.push(std::env::consts::EXE_SUFFIX);
        [place.join(program), place.join(with_suffix)]
    });
    let found = places.find(|place| is_executable(place));
    found.ok_or_else(|| format!("{shown} is in no directory of PATH"))
}

fn is_executable(path: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    metadata.is_file() && may_run
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn program_is_found_by_path_or_by_name() {
        let find =
            |program: &str, path: &str| find_program(OsStr::new(program), None, OsStr::new(path));
        assert_eq!(find("sh", "/nowhere:/bin").unwrap(), Path::new("/bin/sh"));
        assert_eq!(find("/bin/sh", "").unwrap(), Path::new("/bin/sh"));
        assert!(find("sh", "/nowhere").unwrap_err().contains("PATH"));
        // An extension is a part of the name.
        assert!(find("sh.js", "/bin").unwrap_err().contains("PATH"));
        assert!(
            find("/bin/no-such", "")
                .unwrap_err()
                .contains("does not exist")
        );
        assert!(
            find("/etc/passwd", "")
                .unwrap_err()
                .contains("not an executable")
        );
        assert!(find("/bin", "").unwrap_err().contains("not an executable"));
    }
}
