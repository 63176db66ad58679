//! The figures of one contestant in one round, and the median of several rounds.

use serde::Serialize;

/// The figures of one round. Figures that a case does not measure are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// Requests completed per second.
    pub per_second: Option<f64>,
    /// The median response time, in microseconds.
    pub p50_us: Option<f64>,
    /// The 99th percentile of response times, in microseconds.
    pub p99_us: Option<f64>,
    /// CPU time of the process under test per request in microseconds, which is also milliseconds per 1,000 requests.
    pub cpu_us: Option<f64>,
    /// The peak memory, in bytes.
    pub peak_bytes: Option<f64>,
    /// The increase of the peak above the memory right after the start, in bytes.
    pub growth_bytes: Option<f64>,
    /// Memory per session or stream, in bytes.
    pub bytes_each: Option<f64>,
    /// The time from the start of the process to its first response, in milliseconds.
    pub first_answer_ms: Option<f64>,
    /// The time from the start of the process until it has read the first byte of its standard input, in milliseconds.
    pub first_read_ms: Option<f64>,
    /// Instructions in user space per request.
    pub instructions: Option<f64>,
    /// Allocations per request.
    pub allocations: Option<f64>,
}

/// A function that returns one figure of a sample.
pub(crate) type Figure = fn(&Sample) -> Option<f64>;

/// Returns the median.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    values
        .get(values.len() / 2 - 1)
        .map(|lower| (lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_or_the_mean_of_two() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }
}
