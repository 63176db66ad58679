//! The results of a run.

use std::fmt::Write as _;

use serde::Serialize;

use crate::figures::{Latency, table};
use crate::fleet::commands::OperationCommands;
use crate::fleet::requests::RequestCost;

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The commands of each operation.
    pub operations: Vec<OperationCommands>,
    /// The commands that the idle fleet sends in a second.
    pub idle_commands_per_second: f64,
    /// The time of a change from one node to a client of another.
    pub change: ChangeLatency,
    /// The memory of the engine.
    pub memory: EngineMemory,
    /// One legacy request at a time, without an engine.
    pub in_memory: RequestCost,
    /// The same with an engine.
    pub with_engine: RequestCost,
    /// Many requests of 2026-07-28 at one node, and at all nodes.
    pub modern: (RequestCost, RequestCost),
    /// Many legacy requests at one node, and at all nodes.
    pub legacy: (RequestCost, RequestCost),
}

/// The time of a change, and of a ping of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChangeLatency {
    /// From the call at one node to the notification at another one.
    pub change: Latency,
    /// A ping of the engine.
    pub ping: Latency,
}

/// The memory of the engine, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EngineMemory {
    /// For an idle session.
    pub per_session: u64,
    /// For a call whose response was a stream with four messages, until its retention ends.
    pub per_streamed_call: u64,
}

impl Report {
    /// Returns the violations, one line each. A run that has passed has none.
    #[must_use]
    pub fn failures(&self, limit_bytes: u64) -> Vec<String> {
        let mut failures = Vec::new();
        for operation in &self.operations {
            if !operation.is_met() {
                failures.push(format!(
                    "{}: {:.1} commands instead of {:.0}",
                    operation.operation, operation.commands, operation.goal
                ));
            }
        }
        let bytes = self.memory.per_session;
        if bytes > limit_bytes {
            failures.push(format!(
                "an idle session uses {bytes} bytes of the engine, more than {limit_bytes}"
            ));
        }
        failures
    }

    /// Formats the figures for people.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut text = self.operations_table();
        text.push('\n');
        let change = &self.change;
        let rows = [
            (
                "idle fleet",
                format!("{:.1} commands per second", self.idle_commands_per_second),
            ),
            (
                "change at one node, client at another",
                format!(
                    "p50 {:.1}, p99 {:.1} times a ping of the engine (p99 {:.2} ms)",
                    change.change.p50_ms / change.ping.p50_ms,
                    change.change.p99_ms / change.ping.p99_ms,
                    change.change.p99_ms
                ),
            ),
            (
                "memory of the engine",
                format!(
                    "{} bytes per idle session, {} per streamed call",
                    self.memory.per_session, self.memory.per_streamed_call
                ),
            ),
            ("legacy request, engine ÷ memory", self.engine_ratio()),
            ("3 nodes ÷ 1, modern", nodes_ratio(self.modern)),
            ("3 nodes ÷ 1, legacy", nodes_ratio(self.legacy)),
        ];
        text + &table(&rows)
    }

    fn operations_table(&self) -> String {
        let mut rows = vec![("operation", "commands, goal in round trips".to_owned())];
        for operation in &self.operations {
            let names = operation.by_name.iter();
            let names: Vec<String> = names
                .map(|(name, count)| format!("{name} {count:.1}"))
                .collect();
            let mut value = format!("{:.1}, {:.0}", operation.commands, operation.goal);
            if !operation.is_met() {
                value.push_str(", missed");
            }
            if !names.is_empty() {
                // Writing to a string does not fail.
                let _ = write!(value, " ({})", names.join(", "));
            }
            rows.push((operation.operation, value));
        }
        table(&rows)
    }

    fn engine_ratio(&self) -> String {
        let (with, without) = (&self.with_engine, &self.in_memory);
        let added_us = with.p50_us - without.p50_us;
        format!(
            "latency {:.2}, CPU time {}; it adds {:.1} pings of the engine",
            with.p50_us / without.p50_us,
            ratio(with.processor_us, without.processor_us),
            added_us / 1000.0 / self.change.ping.p50_ms
        )
    }
}

fn nodes_ratio((one, all): (RequestCost, RequestCost)) -> String {
    format!(
        "requests per second {:.2}, CPU time per request {}",
        all.per_second / one.per_second,
        ratio(all.processor_us, one.processor_us)
    )
}

fn ratio(value: Option<f64>, of: Option<f64>) -> String {
    match (value, of) {
        (Some(value), Some(of)) => format!("{:.2}", value / of),
        _ => "not measured on this system".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn report() -> Report {
        let cost = |scale: f64| RequestCost {
            per_second: 1000.0 * scale,
            p50_us: 100.0 * scale,
            processor_us: Some(20.0 * scale),
        };
        let latency = |scale: f64| Latency {
            p50_ms: scale,
            p99_ms: 2.0 * scale,
            max_ms: 3.0 * scale,
        };
        let operation = |operation, goal, commands| OperationCommands {
            operation,
            goal,
            commands,
            by_name: BTreeMap::from([("GETEX".to_owned(), commands)]),
        };
        Report {
            operations: vec![
                operation("modern request", 0.0, 0.0),
                operation("request", 1.0, 1.4),
            ],
            idle_commands_per_second: 3.0,
            change: ChangeLatency {
                change: latency(0.3),
                ping: latency(0.1),
            },
            memory: EngineMemory {
                per_session: 700,
                per_streamed_call: 2000,
            },
            in_memory: cost(1.0),
            with_engine: cost(1.5),
            modern: (cost(1.0), cost(1.25)),
            legacy: (cost(1.0), cost(1.0)),
        }
    }

    #[test]
    fn each_violation_is_a_failure() {
        let mut report = report();
        assert_eq!(report.failures(700), Vec::<String>::new());
        report.operations[0].commands = 1.0;
        report.operations[1].commands = 2.0;
        assert_eq!(
            report.failures(699),
            [
                "modern request: 1.0 commands instead of 0",
                "request: 2.0 commands instead of 1",
                "an idle session uses 700 bytes of the engine, more than 699"
            ]
        );
    }

    #[test]
    fn table_has_ratios_and_missed_goals() {
        let mut report = report();
        report.operations[1].commands = 2.0;
        report.operations[1].by_name.insert("GETEX".to_owned(), 2.0);
        let table = report.to_table();
        for part in [
            "2.0, 1, missed (GETEX 2.0)",
            "p50 3.0, p99 3.0 times a ping",
            "latency 1.50, CPU time 1.50; it adds 0.5 pings",
            "requests per second 1.25, CPU time per request 1.25",
        ] {
            assert!(table.contains(part), "{part}: {table}");
        }
    }
}
