//! Figures for people: percentiles, and a table with two columns.

use std::time::Duration;

use serde::Serialize;

/// The distribution of durations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Latency {
    /// The median, in milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// The maximum, in milliseconds.
    pub max_ms: f64,
}

impl Latency {
    /// Returns `None` if there are no samples.
    pub(crate) fn of(mut samples: Vec<Duration>) -> Option<Self> {
        samples.sort_unstable();
        let max = *samples.last()?;
        Some(Self {
            p50_ms: milliseconds(percentile(&samples, 50)?),
            p99_ms: milliseconds(percentile(&samples, 99)?),
            max_ms: milliseconds(max),
        })
    }
}

/// Returns the smallest sample that this percentage of samples does not exceed.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Formats bytes, such as `12.3 MiB`.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

/// Formats names on the left and values in a column.
pub(crate) fn table(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, value)| format!("{name:width$}  {value}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let latency = |milliseconds: std::ops::RangeInclusive<u64>| {
            Latency::of(milliseconds.rev().map(Duration::from_millis).collect())
        };
        let expected = |p50_ms, p99_ms, max_ms| {
            Some(Latency {
                p50_ms,
                p99_ms,
                max_ms,
            })
        };
        assert_eq!(latency(1..=1), expected(1.0, 1.0, 1.0));
        assert_eq!(latency(1..=4), expected(2.0, 4.0, 4.0));
        assert_eq!(latency(1..=1000), expected(500.0, 990.0, 1000.0));
        assert_eq!(Latency::of(Vec::new()), None);
    }

    #[test]
    fn values_are_aligned() {
        let rows = [("streams", "7".to_owned()), ("lost", "0".to_owned())];
        assert_eq!(table(&rows), "streams  7\nlost     0\n");
    }
}
