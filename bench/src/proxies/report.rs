//! The results of a run.

use std::fmt::Write as _;

use serde::Serialize;

use super::Proxy;
use crate::comparison::Sample;
use crate::comparison::sample::{Figure, median};

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The cases, in the order in which they ran.
    pub cases: Vec<CaseFigures>,
}

/// The figures of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CaseFigures {
    /// The name of the case.
    pub name: &'static str,
    /// The goal: the CPU time of `toolwire proxy` as a multiple of nginx.
    pub most_of_nginx: Option<f64>,
    /// The figures of each proxy.
    pub rows: Vec<ProxyFigures>,
}

/// The medians of the rounds of a proxy.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProxyFigures {
    /// The proxy.
    pub proxy: Proxy,
    /// CPU time of its process per request, in microseconds.
    pub cpu_us: Option<f64>,
    /// CPU time, as a multiple of nginx.
    pub cpu_of_nginx: Option<f64>,
    /// The median response time, in microseconds.
    pub p50_us: Option<f64>,
    /// Requests per second, as a share of the server without a proxy.
    pub throughput_of_direct: Option<f64>,
}

impl CaseFigures {
    pub(super) fn of(
        name: &'static str,
        most_of_nginx: Option<f64>,
        rounds: &[Vec<(Proxy, Sample)>],
    ) -> Self {
        let of = |proxy: Proxy, figure: Figure| -> Vec<Option<f64>> {
            let sample = |round: &Vec<(Proxy, Sample)>| {
                let found = round.iter().find(|(other, _)| *other == proxy);
                found.and_then(|(_, sample)| figure(sample))
            };
            rounds.iter().map(sample).collect()
        };
        let ratio = |proxy: Proxy, base: Proxy, figure: Figure| {
            let pairs = of(proxy, figure).into_iter().zip(of(base, figure));
            median(
                pairs
                    .filter_map(|(value, base)| Some(value? / base?))
                    .collect(),
            )
        };
        let cpu: Figure = |sample| sample.cpu_us;
        let rows = Proxy::ALL.into_iter().map(|proxy| ProxyFigures {
            proxy,
            cpu_us: median(of(proxy, cpu).into_iter().flatten().collect()),
            cpu_of_nginx: ratio(proxy, Proxy::Nginx, cpu),
            p50_us: median(
                of(proxy, |sample| sample.p50_us)
                    .into_iter()
                    .flatten()
                    .collect(),
            ),
            throughput_of_direct: ratio(proxy, Proxy::Direct, |sample| sample.per_second),
        });
        Self {
            name,
            most_of_nginx,
            rows: rows.collect(),
        }
    }

    /// Returns the missed goal, as a sentence.
    fn failure(&self) -> Option<String> {
        let most = self.most_of_nginx?;
        let row = self.rows.iter().find(|row| row.proxy == Proxy::Toolwire)?;
        let ratio = row.cpu_of_nginx?;
        (ratio > most).then(|| {
            let name = self.name;
            format!("{name}: the proxy costs {ratio:.2} of nginx, more than {most}")
        })
    }
}

impl Report {
    /// Returns the missed goals, one line each.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        self.cases.iter().filter_map(CaseFigures::failure).collect()
    }

    /// Formats the figures for people.
    #[must_use]
    pub fn to_table(&self) -> String {
        let mut text = String::new();
        for case in &self.cases {
            let _ = writeln!(
                text,
                "\n{}\n{:16}{:>12}{:>10}{:>12}{:>18}",
                case.name, "", "CPU, µs", "of nginx", "p50, µs", "calls, of direct"
            );
            for row in &case.rows {
                if row.p50_us.is_none() {
                    continue;
                }
                let number = |value: Option<f64>, digits: usize| {
                    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
                };
                // The figures of the server are not those of a proxy.
                let is_proxy = row.proxy != Proxy::Direct;
                let _ = writeln!(
                    text,
                    "{:16}{:>12}{:>10}{:>12}{:>18}",
                    row.proxy.name(),
                    number(row.cpu_us.filter(|_| is_proxy), 1),
                    number(row.cpu_of_nginx.filter(|_| is_proxy), 2),
                    number(row.p50_us, 1),
                    number(row.throughput_of_direct, 2),
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpu_us: f64, per_second: f64) -> Sample {
        Sample {
            cpu_us: Some(cpu_us),
            p50_us: Some(cpu_us * 2.0),
            per_second: Some(per_second),
            ..Sample::default()
        }
    }

    fn figures(toolwire_us: f64) -> CaseFigures {
        let rounds = [vec![
            (Proxy::Direct, sample(9.0, 1000.0)),
            (Proxy::Nginx, sample(10.0, 500.0)),
            (Proxy::Toolwire, sample(toolwire_us, 400.0)),
        ]];
        CaseFigures::of("small call", Some(2.5), &rounds)
    }

    #[test]
    fn ratios_are_those_of_a_round() {
        let figures = figures(25.0);
        let row = figures.rows.last().expect("a row for each proxy");
        assert_eq!(row.cpu_of_nginx, Some(2.5));
        assert_eq!(row.throughput_of_direct, Some(0.4));
        let table = Report {
            cases: vec![figures],
        }
        .to_table();
        assert!(table.contains("toolwire proxy"), "{table}");
        assert!(!table.contains("decoding relay"), "{table}");
    }

    #[test]
    fn missed_goal_is_a_failure() {
        let failures = |toolwire_us| {
            Report {
                cases: vec![figures(toolwire_us)],
            }
            .failures()
        };
        assert_eq!(failures(25.0), Vec::<String>::new());
        assert_eq!(
            failures(30.0),
            ["small call: the proxy costs 3.00 of nginx, more than 2.5"]
        );
    }
}
