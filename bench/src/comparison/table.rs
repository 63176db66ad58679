//! Formats a report as Markdown that is also readable as text.

use super::report::{CaseReport, NotRun, Report, Row};

/// A column: its title and its cell.
type Column = (&'static str, fn(&Row) -> Option<String>);

/// Columns without a figure in a case are left out.
const COLUMNS: [Column; 15] = [
    ("calls/s", |row| {
        row.median.per_second.map(|value| thousands(value, 0))
    }),
    ("p50 µs", |row| {
        row.median.p50_us.map(|value| thousands(value, 0))
    }),
    ("p99 µs", |row| {
        row.median.p99_us.map(|value| thousands(value, 0))
    }),
    ("CPU ms / 1,000", |row| {
        row.median.cpu_us.map(|value| thousands(value, 1))
    }),
    ("peak MiB", |row| {
        let mebibytes = row.median.peak_bytes? / (1024.0 * 1024.0);
        Some(thousands(mebibytes, 1))
    }),
    ("bytes each", |row| {
        row.median.bytes_each.map(|value| thousands(value, 0))
    }),
    ("first response ms", |row| {
        row.median.first_answer_ms.map(|value| thousands(value, 1))
    }),
    ("instructions", |row| {
        row.median.instructions.map(|value| thousands(value, 0))
    }),
    ("allocations", |row| {
        row.median.allocations.map(|value| thousands(value, 1))
    }),
    ("speed ÷ limit", |row| row.speed_of_limit.map(ratio)),
    ("limit's CPU ÷ own", |row| row.cpu_of_limit.map(ratio)),
    ("rmcp's CPU ÷ own", |row| row.cpu_of_rmcp.map(ratio)),
    ("calls/s ÷ smallest", |row| {
        row.of_smallest.as_ref()?.per_second.map(ratio)
    }),
    ("CPU ÷ smallest", |row| {
        row.of_smallest.as_ref()?.cpu.map(ratio)
    }),
    ("instructions ÷ smallest", |row| {
        row.of_smallest.as_ref()?.instructions.map(ratio)
    }),
];

pub(crate) fn of_report(report: &Report) -> String {
    let mut text = String::new();
    for absence in &report.absent {
        let name = absence.contestant.name();
        text.push_str(&format!("{name} is absent: {}\n\n", absence.reason));
    }
    for NotRun { case, reason } in &report.not_run {
        text.push_str(&format!("{case} was not run: {reason}\n\n"));
    }
    for case in &report.cases {
        text.push_str(&format!("### {}: {}\n\n", case.name, case.about));
        text.push_str(&of_case(case));
        text.push('\n');
    }
    text
}

fn of_case(case: &CaseReport) -> String {
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, value)| case.rows.iter().any(|row| value(row).is_some()))
        .collect();
    let mut lines = vec![
        std::iter::once("contestant".to_owned())
            .chain(columns.iter().map(|(title, _)| (*title).to_owned()))
            .collect(),
    ];
    let measured = case.rows.iter().filter(|row| !row.samples.is_empty());
    lines.extend(measured.map(|row| {
        let values = columns
            .iter()
            .map(|(_, value)| value(row).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(label(row)).chain(values).collect()
    }));
    let mut text = markdown(&lines, 1);
    for row in &case.rows {
        if let Some(error) = &row.trouble {
            text.push_str(&format!("\n{}: {error}\n", label(row)));
        }
    }
    text
}

fn label(row: &Row) -> String {
    let name = row.contestant.name();
    match row.size {
        Some(size) => format!("{name}, {}", size.to_text()),
        None => name.to_owned(),
    }
}

/// Formats rows. The first row has the titles. The first columns are text, and numbers are right-aligned.
pub(crate) fn markdown(lines: &[Vec<String>], words: usize) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        text.push('|');
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text.push_str(&if column < words {
                format!(" {cell:width$} |")
            } else {
                format!(" {cell:>width$} |")
            });
        }
        text.push('\n');
        if number == 0 {
            text.push('|');
            for (column, width) in widths.iter().enumerate() {
                let end = if column < words { '-' } else { ':' };
                text.push_str(&format!("{}{end}|", "-".repeat(width + 1)));
            }
            text.push('\n');
        }
    }
    text
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// Formats a number, such as `12,345.6`.
pub(crate) fn thousands(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let point = text.find('.').unwrap_or(text.len());
    let mut grouped = String::new();
    for (at, character) in text.char_indices() {
        if at > 0 && at < point && (point - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(character);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Contestant;
    use crate::comparison::sample::Sample;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(thousands(7.26, 1), "7.3");
        assert_eq!(thousands(999.0, 0), "999");
        assert_eq!(thousands(1_000.0, 0), "1,000");
        assert_eq!(thousands(1_234_567.89, 1), "1,234,567.9");
    }

    #[test]
    fn table_of_a_case_has_its_figures_and_errors() {
        let row = |contestant, cpu_us: &[f64]| {
            let mut row = Row::new(contestant, None);
            row.samples.extend(cpu_us.iter().map(|cpu_us| Sample {
                cpu_us: Some(*cpu_us),
                ..Sample::default()
            }));
            row
        };
        let mut failed = row(Contestant::Rmcp, &[]);
        failed.trouble = Some("connection closed".to_owned());
        let rows = vec![
            row(Contestant::Toolwire, &[20.0, 10.0, 40.0]),
            row(Contestant::Limit, &[10.0, 10.0, 30.0]),
            failed,
        ];
        let case = CaseReport::new("case", "description", rows);
        let expected = "\
| contestant | CPU ms / 1,000 | limit's CPU ÷ own |
|------------|---------------:|------------------:|
| toolwire   |           20.0 |              0.75 |
| limit      |           10.0 |              1.00 |

rmcp: connection closed
";
        assert_eq!(of_case(&case), expected);
    }
}
