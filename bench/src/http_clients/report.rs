//! The results of a run.

use std::time::Duration;

use serde::Serialize;

use crate::figures::table;

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The number of concurrent calls in the concurrent rounds.
    pub at_once: usize,
    /// The sequential calls.
    pub one_at_a_time: Contest,
    /// The concurrent calls.
    pub many_at_once: Contest,
}

/// The best round of each client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contest {
    /// The number of calls per round.
    pub calls: usize,
    /// The duration of the best round of toolwire's client.
    pub own_seconds: f64,
    /// The duration of the best round of reqwest.
    pub reqwest_seconds: f64,
}

impl Contest {
    pub(crate) fn new(calls: usize) -> Self {
        Self {
            calls,
            own_seconds: f64::INFINITY,
            reqwest_seconds: f64::INFINITY,
        }
    }

    pub(crate) fn own(&mut self, time: Duration) {
        self.own_seconds = self.own_seconds.min(time.as_secs_f64());
    }

    pub(crate) fn reqwest(&mut self, time: Duration) {
        self.reqwest_seconds = self.reqwest_seconds.min(time.as_secs_f64());
    }

    /// Returns the speed of toolwire's client as a multiple of reqwest.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.reqwest_seconds / self.own_seconds
    }

    fn row(&self) -> String {
        let per_second = |seconds: f64| self.calls as f64 / seconds;
        format!(
            "{:.0} calls/s with our client, {:.0} with reqwest, ratio {:.2}",
            per_second(self.own_seconds),
            per_second(self.reqwest_seconds),
            self.ratio()
        )
    }
}

impl Report {
    /// Returns the violations, one line each. A run that has passed has none.
    #[must_use]
    pub fn failures(&self, least_ratio: f64) -> Vec<String> {
        let many = format!("{} at once", self.at_once);
        [
            ("one at a time", &self.one_at_a_time),
            (many.as_str(), &self.many_at_once),
        ]
        .into_iter()
        .filter(|(_, contest)| contest.ratio() < least_ratio)
        .map(|(name, contest)| {
            let ratio = contest.ratio();
            format!(
                "{name} our client has {ratio:.2} of the speed of reqwest, less than {least_ratio}"
            )
        })
        .collect()
    }

    /// Formats the figures for people.
    #[must_use]
    pub fn to_table(&self) -> String {
        let many = format!("{} at once", self.at_once);
        table(&[
            ("one at a time", self.one_at_a_time.row()),
            (many.as_str(), self.many_at_once.row()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut contest = Contest::new(1000);
        for milliseconds in [500, 400, 450] {
            contest.own(Duration::from_millis(milliseconds));
            contest.reqwest(Duration::from_millis(milliseconds - 80));
        }
        let mut faster = Contest::new(1000);
        faster.own(Duration::from_millis(100));
        faster.reqwest(Duration::from_millis(200));
        Report {
            at_once: 64,
            one_at_a_time: contest,
            many_at_once: faster,
        }
    }

    #[test]
    fn best_rounds_are_compared() {
        let expected = "one at a time  2500 calls/s with our client, 3125 with reqwest, ratio 0.80\n\
                        64 at once     10000 calls/s with our client, 5000 with reqwest, ratio 2.00\n";
        assert_eq!(report().to_table(), expected);
    }

    #[test]
    fn slow_client_is_a_failure() {
        assert_eq!(report().failures(0.79), Vec::<String>::new());
        assert_eq!(
            report().failures(0.9),
            ["one at a time our client has 0.80 of the speed of reqwest, less than 0.9"]
        );
    }
}
