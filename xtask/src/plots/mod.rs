//! The plots of the page with the measurements, drawn from its tables, so that pictures and tables cannot differ.
//!
//! `cargo xtask bench --plot` writes them. The check of the documentation compares the files with the tables.

mod bars;
mod tables;

use std::fs;
use std::path::Path;

use self::bars::{Bar, Chart, Group, Scale};
use self::tables::{Row, number};
use crate::steps::{Outcome, note};

/// The page with the tables.
const PAGE: &str = "docs/performance.md";

/// The directory of the pictures.
const PICTURES: &str = "bench/pictures";

/// The columns of the comparison, in the order of the bars.
const CONTESTANTS: [&str; 5] = ["toolwire", "limit", "rmcp", "typescript", "python"];

/// A plot, and the rows that it shows.
struct Plot {
    file: &'static str,
    title: &'static str,
    subtitle: &'static str,
    scale: Scale,
    rows: &'static [PlottedRow],
}

/// A row of a table that becomes a group of bars.
struct PlottedRow {
    title: &'static str,
    /// The first cell of the row.
    row: &'static str,
    bars: BarSource,
}

/// The cells that become bars.
enum BarSource {
    /// One bar for each contestant.
    Contestants,
    /// One bar with a name for each value of the second cell.
    Values(&'static [&'static str]),
}

const PLOTS: [Plot; 4] = [
    Plot {
        file: "calls-per-second.svg",
        title: "Calls per second",
        subtitle: "Small calls over HTTP in the modern era, 32 connections. Each group has its own scale. Longer is better",
        scale: Scale::Linear,
        rows: &[
            PlottedRow {
                title: "server with 1 thread",
                row: "calls/s with 1 thread",
                bars: BarSource::Contestants,
            },
            PlottedRow {
                title: "server with 2 threads, which share two cores with the load",
                row: "calls/s with 2 threads",
                bars: BarSource::Contestants,
            },
        ],
    },
    Plot {
        file: "cpu-per-call.svg",
        title: "CPU milliseconds of a server for 1,000 calls",
        subtitle: "Logarithmic scale. Shorter is better. The limit is a minimal program of hyper and serde_json",
        scale: Scale::Logarithmic,
        rows: &[
            PlottedRow {
                title: "HTTP in the modern era, 32 connections",
                row: "modern-c32",
                bars: BarSource::Contestants,
            },
            PlottedRow {
                title: "HTTP in the legacy era, in a session, 32 connections",
                row: "legacy-c32",
                bars: BarSource::Contestants,
            },
            PlottedRow {
                title: "calls with 100 progress notifications each",
                row: "progress-100",
                bars: BarSource::Contestants,
            },
            PlottedRow {
                title: "stdio, one call at a time",
                row: "stdio-sequential",
                bars: BarSource::Contestants,
            },
        ],
    },
    Plot {
        file: "memory.svg",
        title: "Memory of a server, in bytes",
        subtitle: "Each group has its own scale. Shorter is better",
        scale: Scale::Linear,
        rows: &[
            PlottedRow {
                title: "idle session",
                row: "idle session, bytes",
                bars: BarSource::Contestants,
            },
            PlottedRow {
                title: "idle stream of subscriptions/listen with its connection",
                row: "idle listen stream with its connection, bytes",
                bars: BarSource::Contestants,
            },
        ],
    },
    Plot {
        file: "latency.svg",
        title: "Latency",
        subtitle: "Each group has its own linear scale. Shorter is better",
        scale: Scale::Linear,
        rows: &[
            PlottedRow {
                title: "from the start of a process to its first response over stdio, ms",
                row: "first response over stdio, ms",
                bars: BarSource::Contestants,
            },
            PlottedRow {
                title: "from one change to its delivery on 10,000 streams of toolwire",
                row: "delivery p50, p99, maximum",
                bars: BarSource::Values(&["p50", "p99", "maximum"]),
            },
        ],
    },
];

/// Writes all plots.
pub(crate) fn write(root: &Path) -> Outcome {
    let page = read(root)?;
    let directory = root.join(PICTURES);
    fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    for plot in &PLOTS {
        let path = directory.join(plot.file);
        fs::write(&path, plot.draw(&page)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Returns a finding for each plot that differs from the tables.
pub(crate) fn check(root: &Path) -> Outcome<Vec<String>> {
    let page = read(root)?;
    let mut findings = Vec::new();
    for plot in &PLOTS {
        let file = format!("{PICTURES}/{}", plot.file);
        let drawn = plot.draw(&page)?;
        if !fs::read_to_string(root.join(&file)).is_ok_and(|text| text == drawn) {
            findings.push(format!(
                "{file} differs from the tables of {PAGE}: run `cargo xtask bench --plot`"
            ));
        }
    }
    Ok(findings)
}

impl Plot {
    fn draw(&self, page: &str) -> Outcome<String> {
        let groups = self.rows.iter().map(|row| row.group(page));
        let chart = Chart {
            title: self.title,
            subtitle: self.subtitle,
            scale: self.scale,
            groups: groups.collect::<Outcome<Vec<Group>>>()?,
        };
        Ok(chart.svg())
    }
}

impl PlottedRow {
    fn group(&self, page: &str) -> Outcome<Group> {
        let row = Row::find(page, self.row)
            .ok_or_else(|| format!("{PAGE} has no table with a row `{}`", self.row))?;
        let cells: Vec<(&'static str, &str)> = match self.bars {
            BarSource::Contestants => {
                let cell = |name| Some((name, row.cell(name)?));
                CONTESTANTS.into_iter().filter_map(cell).collect()
            }
            BarSource::Values(names) => names.iter().copied().zip(row.values()).collect(),
        };
        let bars = cells.into_iter().map(|(name, text)| {
            let value = number(text)
                .ok_or_else(|| format!("{PAGE}, row `{}`: `{text}` is not a number", self.row))?;
            let text = text.to_owned();
            Ok(Bar { name, value, text })
        });
        let bars = bars.collect::<Outcome<Vec<Bar>>>()?;
        if bars.len() < 2 {
            return Err(format!("{PAGE}, row `{}`: nothing to compare", self.row));
        }
        Ok(Group {
            title: self.title,
            bars,
        })
    }
}

fn read(root: &Path) -> Outcome<String> {
    fs::read_to_string(root.join(PAGE)).map_err(|error| format!("cannot read {PAGE}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_table_changes_the_picture() {
        let page = read(&crate::workspace_root()).unwrap();
        let name = "idle session, bytes";
        let row = Row::find(&page, name).unwrap();
        let cell = row.cell("toolwire").unwrap();
        let measured = format!("| {name} | {cell} |");
        let changed = page.replacen(&measured, &format!("| {name} | 1 |"), 1);
        assert_ne!(page, changed);
        for plot in &PLOTS {
            let is_same = plot.draw(&page).unwrap() == plot.draw(&changed).unwrap();
            assert_eq!(is_same, plot.file != "memory.svg", "{}", plot.file);
        }
    }

    #[test]
    fn missing_row_is_an_error() {
        let problem = PLOTS[0].draw("no table").unwrap_err();
        assert!(problem.contains("`calls/s with 1 thread`"), "{problem}");
    }
}
