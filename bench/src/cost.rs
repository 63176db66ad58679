//! Measures the memory and CPU time of a process with `/proc`, so on Linux only.

use std::fs;
use std::time::Duration;

/// The cost of a process, measured from outside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessCost {
    id: u32,
}

impl ProcessCost {
    pub(crate) fn of(id: u32) -> Self {
        Self { id }
    }

    /// Returns the current memory, or `None` if the system does not report it.
    pub(crate) fn memory(self) -> Option<Memory> {
        Memory::parse(&self.read("status")?)
    }

    /// Resets the peak to the current memory.
    pub(crate) fn reset_peak(self) {
        // If it cannot be reset, the peak is that of the whole lifetime, which is valid, too.
        let _ = fs::write(format!("/proc/{}/clear_refs", self.id), "5");
    }

    /// Returns the CPU time so far, or `None` if the system does not report it.
    pub(crate) fn processor_time(self) -> Option<Duration> {
        self.scheduled_time()
            .or_else(|| processor_ticks(&self.read("stat")?).and_then(ticks_to_time))
    }

    /// Returns the number of page faults so far, or `None` if the system does not report it.
    pub(crate) fn page_faults(self) -> Option<u64> {
        stat_field(&self.read("stat")?, 10)
    }

    /// Returns nanoseconds, if the kernel counts them per thread. Ticks are hundredths of a second, too coarse for a
    /// short measurement.
    fn scheduled_time(self) -> Option<Duration> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.id)).ok()?;
        let nanoseconds: u64 = threads
            .filter_map(|thread| {
                // A thread may have ended since it was listed.
                let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
                on_processor(&text)
            })
            .sum();
        (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
    }

    fn read(self, file: &str) -> Option<String> {
        fs::read_to_string(format!("/proc/{}/{file}", self.id)).ok()
    }
}

/// Parses the first field of `schedstat`: nanoseconds on a processor.
fn on_processor(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().next()?.parse().ok()
}

/// The resident memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    /// The peak of the resident memory.
    pub(crate) peak: u64,
}

impl Memory {
    /// Parses `/proc/<pid>/status`.
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

/// Returns user and system time together, from `/proc/<pid>/stat`.
fn processor_ticks(stat: &str) -> Option<u64> {
    Some(stat_field(stat, 14)? + stat_field(stat, 15)?)
}

/// Returns a field of `/proc/<pid>/stat`, with its number in proc(5).
fn stat_field(stat: &str, number: usize) -> Option<u64> {
    // The second field is the program name in parentheses, which may contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    // Fields are counted from 1. The first one here is the third.
    let mut fields = fields.split_ascii_whitespace().skip(number - 3);
    fields.next()?.parse().ok()
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
    fn time_of_a_thread_is_the_first_field() {
        assert_eq!(on_processor("562178 4110281 2\n"), Some(562_178));
        assert_eq!(on_processor(""), None);
    }

    #[test]
    fn memory_is_parsed_as_bytes() {
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
    fn processor_time_is_parsed_after_any_program_name() {
        let after_name = "S 1 2 3 0 -1 4194560 1000 0 0 0 250 50 0 0 20 0 3 0 100 0 0";
        for name in ["(server)", "(a b)", "(a) R 9 9)"] {
            let stat = format!("77 {name} {after_name}");
            assert_eq!(processor_ticks(&stat), Some(300), "{stat}");
            assert_eq!(stat_field(&stat, 10), Some(1000), "{stat}");
        }
        assert_eq!(processor_ticks("77 (server) S 1"), None);
    }
}
