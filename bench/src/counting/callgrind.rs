//! Runs a program under valgrind and reads valgrind's record.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The allocation functions of the C library.
const ALLOCATING: [&str; 6] = [
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
];

/// Returns `true` if valgrind is installed.
#[must_use]
pub fn is_available() -> bool {
    let version = Command::new("valgrind")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

/// The counts of a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) instructions: u64,
    pub(super) allocations: u64,
}

/// One run, whose record is in a file until this is dropped.
pub(super) struct Callgrind {
    record: PathBuf,
}

impl Callgrind {
    pub(super) fn new() -> Self {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolwire-callgrind-{}-{run}", std::process::id());
        Self {
            record: std::env::temp_dir().join(name),
        }
    }

    /// Returns the same command under valgrind.
    pub(super) fn command(&self, command: &Command) -> Command {
        let mut counted = Command::new("valgrind");
        let mut file = std::ffi::OsString::from("--callgrind-out-file=");
        file.push(&self.record);
        counted
            .args(["--tool=callgrind", "--quiet"])
            .arg(file)
            .arg(command.get_program())
            .args(command.get_args());
        counted
    }

    /// Returns the counts, after the program has ended.
    pub(super) fn total(&self) -> io::Result<Total> {
        let record = std::fs::File::open(&self.record).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("valgrind has not written a record: {error}"),
            )
        })?;
        read(BufReader::new(record))
    }
}

impl Drop for Callgrind {
    fn drop(&mut self) {
        // If the program did not start, there is no record.
        let _ = std::fs::remove_file(&self.record);
    }
}

/// Parses a record. A function has its name only in the first reference: `cfn=(12) malloc`, later `cfn=(12)`.
fn read(record: impl BufRead) -> io::Result<Total> {
    let mut allocating: HashMap<String, bool> = HashMap::new();
    let mut calls_allocating = false;
    let mut total = Total {
        instructions: 0,
        allocations: 0,
    };
    for line in record.lines() {
        let line = line?;
        let Some((key, value)) = line.split_once(['=', ':']) else {
            continue;
        };
        match key {
            "fn" | "cfn" => {
                let (number, name) = value.split_once(' ').unwrap_or((value, ""));
                if !name.is_empty() {
                    allocating.insert(number.to_owned(), ALLOCATING.contains(&name));
                }
                if key == "cfn" {
                    calls_allocating = allocating.get(number).copied().unwrap_or(false);
                }
            }
            "calls" if calls_allocating => {
                let times = value.split(' ').next().unwrap_or_default();
                total.allocations += times.parse::<u64>().map_err(io::Error::other)?;
            }
            "totals" => total.instructions = value.trim().parse().map_err(io::Error::other)?,
            _ => {}
        }
    }
    if total.instructions == 0 {
        return Err(io::Error::other("the record of valgrind has no total"));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_allocation_functions_are_counted() {
        let record = "events: Ir\n\
                      fn=(1) main\n16 400\n\
                      cfn=(2) malloc\ncalls=3 0\n16 90\n\
                      cfn=(3) free\ncalls=7 0\n16 70\n\
                      fn=(2)\n1 90\n\
                      fn=(4) grow\n+2 5\n\
                      cfn=(2)\ncalls=20 -4\n* 600\n\
                      cfn=(5) realloc\ncalls=1 0\n* 9\n\
                      totals: 1269\n";
        let expected = Total {
            instructions: 1_269,
            allocations: 24,
        };
        assert_eq!(read(record.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn truncated_record_is_an_error() {
        let error = read("events: Ir\nfn=(1) main\n16 400\n".as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "the record of valgrind has no total");
    }
}
