//! The results of a run.

use serde::Serialize;

use crate::figures::{Latency, mebibytes, table};

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The number of requested streams.
    pub streams: usize,
    /// The number of acknowledged streams.
    pub opened: usize,
    /// The time to open all of them.
    pub opening_seconds: f64,
    /// The idle time.
    pub idle_seconds: f64,
    /// The number of changes.
    pub changes: usize,
    /// The number of deliveries: one for each stream and change.
    pub delivered: usize,
    /// The number of deliveries that are missing.
    pub lost: usize,
    /// The number of repeated deliveries.
    pub duplicates: usize,
    /// The number of other unexpected messages.
    pub unexpected: usize,
    /// The number of streams that ended before the run did.
    pub ended: usize,
    /// The first error.
    pub first_trouble: Option<String>,
    /// The time from the call that causes the change to its arrival, over all streams.
    pub delivery: Option<Latency>,
    /// The cost of the server, if it can be measured.
    pub server: Option<ServerCost>,
}

/// Resident memory in bytes, and CPU time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerCost {
    /// Before the first stream.
    pub resident_before: u64,
    /// With all streams open.
    pub resident_open: u64,
    /// After the idle time.
    pub resident_idle: u64,
    /// After the delivery of the change.
    pub resident_after: u64,
    /// The peak.
    pub resident_peak: u64,
    /// The memory per open stream.
    pub bytes_per_stream: u64,
    /// The CPU time of the server during the idle time.
    pub idle_processor_seconds: Option<f64>,
    /// The CPU time of the server for one delivery, in microseconds.
    pub delivery_processor_us: Option<f64>,
}

impl Report {
    /// Returns the violations, one line each. A run that has passed has none.
    #[must_use]
    pub fn failures(&self, memory_limit: u64) -> Vec<String> {
        let counts = [
            (self.streams - self.opened, "streams did not open"),
            (self.lost, "changes were not delivered"),
            (self.duplicates, "deliveries were repeated"),
            (self.unexpected, "messages were unexpected"),
            (self.ended, "streams ended early"),
        ];
        let mut failures: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if let Some(error) = self.first_trouble.as_ref().filter(|_| !failures.is_empty()) {
            failures.push(format!("first: {error}"));
        }
        let peak = self
            .server
            .as_ref()
            .map_or(0, |server| server.resident_peak);
        if peak > memory_limit {
            failures.push(format!(
                "the server used {}, more than {}",
                mebibytes(peak),
                mebibytes(memory_limit)
            ));
        }
        failures
    }

    /// Formats the figures for people.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut rows = vec![
            (
                "streams open",
                format!(
                    "{} of {}, in {:.2} s",
                    self.opened, self.streams, self.opening_seconds
                ),
            ),
            ("delivered", self.delivered.to_string()),
            ("lost", self.lost.to_string()),
            ("duplicates", self.duplicates.to_string()),
            ("unexpected", self.unexpected.to_string()),
            ("ended early", self.ended.to_string()),
        ];
        if let Some(delivery) = self.delivery {
            rows.push((
                "delivery p50/p99/max",
                format!(
                    "{:.1} / {:.1} / {:.1} ms",
                    delivery.p50_ms, delivery.p99_ms, delivery.max_ms
                ),
            ));
        }
        match &self.server {
            Some(server) => rows.extend(self.server_rows(server)),
            None => rows.push(("server memory", "not measured on this system".to_owned())),
        }
        table(&rows)
    }

    fn server_rows(&self, server: &ServerCost) -> Vec<(&'static str, String)> {
        let idle_time = match server.idle_processor_seconds {
            Some(seconds) => format!("{seconds:.2} s in {:.0} s", self.idle_seconds),
            None => "not measured on this system".to_owned(),
        };
        vec![
            ("memory before", mebibytes(server.resident_before)),
            ("memory open", mebibytes(server.resident_open)),
            ("memory idle", mebibytes(server.resident_idle)),
            ("memory after", mebibytes(server.resident_after)),
            ("memory peak", mebibytes(server.resident_peak)),
            (
                "memory per stream",
                format!("{} bytes", server.bytes_per_stream),
            ),
            ("processor while idle", idle_time),
            (
                "processor per delivery",
                server.delivery_processor_us.map_or_else(
                    || "not measured on this system".to_owned(),
                    |micros| format!("{micros:.1} µs"),
                ),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed() -> Report {
        Report {
            streams: 10,
            opened: 10,
            opening_seconds: 0.5,
            idle_seconds: 5.0,
            changes: 1,
            delivered: 10,
            lost: 0,
            duplicates: 0,
            unexpected: 0,
            ended: 0,
            first_trouble: None,
            delivery: None,
            server: Some(ServerCost {
                resident_before: 1000,
                resident_open: 3000,
                resident_idle: 3000,
                resident_after: 2000,
                resident_peak: 4000,
                bytes_per_stream: 200,
                idle_processor_seconds: None,
                delivery_processor_us: None,
            }),
        }
    }

    #[test]
    fn peak_memory_above_the_limit_is_a_failure() {
        assert_eq!(passed().failures(4000), Vec::<String>::new());
        assert_eq!(passed().failures(3999).len(), 1);
    }

    #[test]
    fn each_violation_is_a_failure() {
        let check = |violate: fn(&mut Report), expected: &str| {
            let mut report = passed();
            report.first_trouble = Some("stream 3: reset".to_owned());
            violate(&mut report);
            let expected = [expected, "first: stream 3: reset"];
            assert_eq!(report.failures(4000), expected);
        };
        check(|report| report.opened = 8, "2 streams did not open");
        check(|report| report.lost = 1, "1 changes were not delivered");
        check(|report| report.duplicates = 4, "4 deliveries were repeated");
        check(|report| report.unexpected = 1, "1 messages were unexpected");
        check(|report| report.ended = 1, "1 streams ended early");
    }

    #[test]
    fn table_states_what_is_not_measured() {
        let mut report = passed();
        report.server = None;
        let table = report.to_table();
        assert!(table.contains("10 of 10, in 0.50 s"), "{table}");
        assert!(table.contains("not measured on this system"), "{table}");
    }
}
