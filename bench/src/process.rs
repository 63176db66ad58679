//! The server under test: a process of its own, which says where it listens, and what it costs the machine.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A running server, killed when this is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    url: String,
    process_id: u32,
    _child: Child,
}

impl ServerProcess {
    /// Starts the program and waits until it has printed its URL.
    ///
    /// # Errors
    /// When it does not start, or ends before it has said where it is.
    pub async fn start(program: &Path) -> io::Result<Self> {
        let mut child = Command::new(program)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("cannot start {}: {error}", program.display()),
                )
            })?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let url = BufReader::new(stdout).lines().next_line().await?;
        let (Some(url), Some(process_id)) = (url, child.id()) else {
            return Err(io::Error::other(
                "the server ended before it printed its URL",
            ));
        };
        Ok(Self {
            url,
            process_id,
            _child: child,
        })
    }

    /// What it has printed.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it takes now; nothing where the system does not say.
    pub(crate) fn memory(&self) -> Option<Memory> {
        Memory::parse(&self.read("status")?)
    }

    /// The processor time it has taken so far; nothing where the system does not say.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        processor_ticks(&self.read("stat")?).and_then(ticks_to_time)
    }

    fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.process_id)).ok()
    }
}

/// Memory that is backed by the machine's, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    /// The most there ever was.
    pub(crate) peak: u64,
}

impl Memory {
    /// Reads `/proc/<pid>/status`.
    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
            Some(kibibytes * 1024)
        };
        Some(Self {
            resident: field("VmRSS:")?,
            peak: field("VmHWM:")?,
        })
    }
}

/// User and system time together, out of `/proc/<pid>/stat`.
fn processor_ticks(stat: &str) -> Option<u64> {
    // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    // Fields are counted from 1 in proc(5); the first one here is the third.
    let mut fields = fields.split_ascii_whitespace().skip(14 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(unix)]
fn ticks_to_time(ticks: u64) -> Option<Duration> {
    let per_second = rustix::param::clock_ticks_per_second();
    (per_second > 0).then(|| Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

#[cfg(not(unix))]
fn ticks_to_time(_: u64) -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tserver\nVmPeak:\t  900 kB\nVmHWM:\t    300 kB\nVmRSS:\t    200 kB\nThreads:\t3\n";
        let expected = Memory {
            resident: 200 * 1024,
            peak: 300 * 1024,
        };
        assert_eq!(Memory::parse(status), Some(expected));
        // A process that has ended has no memory.
        assert_eq!(Memory::parse("Name:\tserver\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn processor_time_is_found_behind_any_name() {
        let after_name = "S 1 2 3 0 -1 4194560 1000 0 0 0 250 50 0 0 20 0 3 0 100 0 0";
        for name in ["(server)", "(a b)", "(a) R 9 9)"] {
            let stat = format!("77 {name} {after_name}");
            assert_eq!(processor_ticks(&stat), Some(300), "{stat}");
        }
        assert_eq!(processor_ticks("77 (server) S 1"), None);
    }
}
