//! Reads the tables of limits.

use crate::docs::values::Value;

/// The first cells of a table of limits.
const HEADING: &str = "| Limit | Default | Beyond it | Setting |";

/// A limit, with the numbers of its row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    /// The first cell.
    pub(super) name: String,
    /// All numbers of the second cell, and those with a unit of the other ones, from left to right.
    pub(super) values: Vec<Value>,
}

/// Returns the rows of all tables of limits.
pub(super) fn rows(page: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for (at, line) in page.lines().enumerate() {
        if line == HEADING {
            is_inside = true;
        } else if !line.starts_with('|') {
            is_inside = false;
        } else if is_inside && !line.starts_with("|---") {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let values = cells
                .iter()
                .enumerate()
                .flat_map(|(column, cell)| numbers(cell, column == 1));
            rows.push(Row {
                line: at + 1,
                name: cells[0].to_owned(),
                values: values.collect(),
            });
        }
    }
    rows
}

/// Returns the numbers of a cell: `10,000`, `4 MiB` or `10 min`. Code is not read.
fn numbers(cell: &str, with_plain_ones: bool) -> Vec<Value> {
    let text: Vec<&str> = cell.split('`').step_by(2).collect();
    let text = text.join(" ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut values = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(number) = parse(word) else {
            continue;
        };
        let is_at_end = word.ends_with([',', ';', ':', ')']);
        let unit = words.get(at + 1).filter(|_| !is_at_end);
        let unit = unit.map_or("", |unit| trimmed(unit));
        match Value::with_unit(number, unit) {
            Some(value) => values.push(value),
            None if with_plain_ones => values.push(Value::Number(number)),
            None => {}
        }
    }
    values
}

/// Parses a number in digits, with commas between thousands.
fn parse(word: &str) -> Option<u64> {
    let word = trimmed(word);
    let mut groups = word.split(',');
    let first = groups.next()?;
    let is_grouped = groups.all(|group| group.len() == 3) && (first.len() <= 3 || word == first);
    let digits = word.replace(',', "");
    let is_number = is_grouped && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

fn trimmed(word: &str) -> &str {
    word.trim_matches(['(', ')', ',', ';', ':', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        let check = |cell: &str, expected: &[Value]| {
            assert_eq!(numbers(cell, true), expected, "{cell}");
        };
        let (number, time) = (Value::Number, Value::Milliseconds);
        check("4 MiB", &[number(4 << 20)]);
        check("10,000, 1 KiB", &[number(10_000), number(1024)]);
        check("10 in 10 s", &[number(10), time(10_000)]);
        check("1000, s", &[number(1000)]);
        check("(5 min), `64 KiB`", &[time(300_000)]);
        check("no limit, 2025-11-25, HTTP/2, −32600, IPv6", &[]);
        assert_eq!(numbers("wait 250 ms for 3", false), [time(250)]);
    }

    #[test]
    fn only_tables_of_limits_are_read() {
        let page = "| Use | Count |\n|---|---|\n| A | 1 |\n\n| Limit | Default | Beyond it | Setting |\n|---|---|---|---|\n| B | 2 | after 3 s | – |\n\ntext\n";
        let rows = rows(page);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].line, rows[0].name.as_str()), (7, "B"));
        let expected = [Value::Number(2), Value::Milliseconds(3000)];
        assert_eq!(rows[0].values, expected);
    }
}
