//! What one contestant did in one round, and what is made of several rounds.

use serde::Serialize;

/// What one turn has measured; what a case does not measure is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// Requests answered in a second.
    pub per_second: Option<f64>,
    /// Half of the answers did not take longer, in microseconds.
    pub p50_us: Option<f64>,
    /// 99 of 100 answers did not take longer, in microseconds.
    pub p99_us: Option<f64>,
    /// Processor time of the process under test for each request, in microseconds; for 1,000 requests, in milliseconds.
    pub cpu_us: Option<f64>,
    /// The most memory it took, in bytes.
    pub peak_bytes: Option<f64>,
    /// By how much that is above what it took when it had just started, in bytes.
    pub growth_bytes: Option<f64>,
    /// Memory for each session or stream, in bytes.
    pub bytes_each: Option<f64>,
    /// From the start of the process to its first answer, in milliseconds.
    pub first_answer_ms: Option<f64>,
    /// Instructions in user space for each request.
    pub instructions: Option<f64>,
    /// Allocations for each request.
    pub allocations: Option<f64>,
}

/// One of the figures of a sample.
pub(crate) type Figure = fn(&Sample) -> Option<f64>;

/// The middle one, or the mean of the two in the middle.
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
    fn median_is_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }
}
