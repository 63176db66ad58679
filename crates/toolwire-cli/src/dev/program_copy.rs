//! Copies of built programs, which later builds do not change.
//!
//! A server process of the last good build may start at any time, also after a later build has replaced its program.

use std::io;
use std::path::{Path, PathBuf};

/// A copy of a program. It is removed on drop.
#[derive(Debug)]
pub(super) struct ProgramCopy {
    directory: PathBuf,
    pub(super) path: PathBuf,
}

impl ProgramCopy {
    /// Copies a program into a new directory beside it. `number` differs for each copy of this process.
    ///
    /// # Errors
    /// Returns an error if the program cannot be copied.
    pub(super) fn new(program: &Path, number: u64) -> io::Result<Self> {
        let name = program.file_name().unwrap_or_default();
        let parent = program.parent().unwrap_or(Path::new(""));
        let directory = parent.join(format!("toolwire-dev-{}-{number}", std::process::id()));
        // An earlier process with the same id may have left it.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory)?;
        let copy = Self {
            path: directory.join(name),
            directory,
        };
        std::fs::copy(program, &copy.path)?;
        Ok(copy)
    }
}

impl Drop for ProgramCopy {
    fn drop(&mut self) {
        // On Windows, a process may still use it. The target directory is the right place for remains.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_of_an_earlier_process_is_replaced() {
        let name = format!("toolwire-program-copy-{}", std::process::id());
        let parent = std::env::temp_dir().join(name);
        let left = parent.join(format!("toolwire-dev-{}-1", std::process::id()));
        std::fs::create_dir_all(&left).expect("a directory");
        std::fs::write(left.join("old"), "old").expect("a file");
        let program = parent.join("program");
        std::fs::write(&program, "new").expect("a file");
        let copy = ProgramCopy::new(&program, 1).expect("a copy");
        let content = std::fs::read_to_string(&copy.path).expect("a file");
        assert_eq!(content, "new");
        assert!(!left.join("old").exists());
        drop(copy);
        assert!(!left.exists());
        let _ = std::fs::remove_dir_all(&parent);
    }
}
