//! The results of a run.

use serde::Serialize;

use crate::figures::{mebibytes, table};

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The number of tasks that wait for input.
    pub tasks: usize,
    /// The time to create all of them.
    pub creating_seconds: f64,
    /// The time in which they only wait.
    pub idle_seconds: f64,
    /// The number of polls, and of calls, per round.
    pub requests: usize,
    /// The cost of the server, if it can be measured.
    pub server: Option<TaskServerCost>,
}

/// Resident memory in bytes, and CPU time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TaskServerCost {
    /// Before the first task.
    pub resident_before: u64,
    /// With all tasks waiting.
    pub resident_waiting: u64,
    /// The memory per task.
    pub bytes_per_task: u64,
    /// The CPU time while the tasks only wait.
    pub idle_processor_seconds: Option<f64>,
    /// The CPU time of a poll in the best round, in microseconds.
    pub poll_processor_us: f64,
    /// The CPU time of a small call in the best round, in microseconds.
    pub call_processor_us: f64,
    /// The CPU time of a poll of one of a few tasks in the best round, in microseconds.
    pub few_poll_processor_us: f64,
}

impl TaskServerCost {
    /// Returns the cost of a poll of one of all tasks, as a multiple of a small call.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.poll_processor_us / self.call_processor_us
    }

    /// Returns the cost of a poll of one of a few tasks, as a multiple of a small call.
    #[must_use]
    pub fn few_ratio(&self) -> f64 {
        self.few_poll_processor_us / self.call_processor_us
    }
}

impl Report {
    /// Returns the violations, one line each. A run that has passed has none.
    #[must_use]
    pub fn failures(&self, limit_bytes: u64, most_ratio: f64) -> Vec<String> {
        let Some(server) = &self.server else {
            return Vec::new();
        };
        let (bytes, ratio) = (server.bytes_per_task, server.few_ratio());
        let mut failures = Vec::new();
        if bytes > limit_bytes {
            failures.push(format!(
                "a waiting task uses {bytes} bytes, more than {limit_bytes}"
            ));
        }
        if ratio > most_ratio {
            failures.push(format!(
                "a poll of a few tasks costs {ratio:.2} of a small call, more than {most_ratio}"
            ));
        }
        failures
    }

    /// Formats the figures for people.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut rows = vec![(
            "tasks waiting",
            format!("{}, created in {:.2} s", self.tasks, self.creating_seconds),
        )];
        match &self.server {
            Some(server) => rows.extend(self.server_rows(server)),
            None => rows.push((
                "cost of the server",
                "not measured on this system".to_owned(),
            )),
        }
        table(&rows)
    }

    fn server_rows(&self, server: &TaskServerCost) -> Vec<(&'static str, String)> {
        let idle_time = server.idle_processor_seconds.map_or_else(
            || "not measured on this system".to_owned(),
            |seconds| format!("{seconds:.2} s in {:.0} s", self.idle_seconds),
        );
        vec![
            ("memory before", mebibytes(server.resident_before)),
            ("memory with all tasks", mebibytes(server.resident_waiting)),
            (
                "memory per task",
                format!("{} bytes", server.bytes_per_task),
            ),
            ("processor while idle", idle_time),
            (
                "processor per poll",
                format!("{:.1} µs", server.poll_processor_us),
            ),
            (
                "processor per small call",
                format!("{:.1} µs", server.call_processor_us),
            ),
            (
                "processor per poll of a few",
                format!("{:.1} µs", server.few_poll_processor_us),
            ),
            ("poll ÷ small call", format!("{:.2}", server.ratio())),
            (
                "poll of a few ÷ small call",
                format!("{:.2}", server.few_ratio()),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            tasks: 10,
            creating_seconds: 0.5,
            idle_seconds: 1.0,
            requests: 100,
            server: Some(TaskServerCost {
                resident_before: 1000,
                resident_waiting: 31_000,
                bytes_per_task: 3000,
                idle_processor_seconds: Some(0.25),
                poll_processor_us: 9.0,
                call_processor_us: 7.5,
                few_poll_processor_us: 6.0,
            }),
        }
    }

    #[test]
    fn each_violation_is_a_failure() {
        let report = report();
        assert_eq!(report.failures(3000, 0.8), Vec::<String>::new());
        assert_eq!(
            report.failures(2999, 0.7),
            [
                "a waiting task uses 3000 bytes, more than 2999",
                "a poll of a few tasks costs 0.80 of a small call, more than 0.7"
            ]
        );
    }

    #[test]
    fn table_states_what_is_not_measured() {
        let mut report = report();
        let table = report.to_table();
        assert!(table.contains("0.80") && table.contains("1.20"), "{table}");
        report.server = None;
        let table = report.to_table();
        assert!(table.contains("10, created in 0.50 s"), "{table}");
        assert!(table.contains("not measured on this system"), "{table}");
        assert_eq!(report.failures(0, 0.0), Vec::<String>::new());
    }
}
