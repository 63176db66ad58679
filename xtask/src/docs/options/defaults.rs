//! The initial values of a type with options, as far as they are numbers and times.

use std::collections::BTreeMap;

use super::builders::OptionRow;
use crate::docs::values::{Value, constant, evaluate};

/// The values of the fields that the code sets at first.
#[derive(Debug)]
pub(super) struct Defaults(BTreeMap<String, Value>);

impl Defaults {
    /// Reads the values from `Default`, `new` or `DEFAULT` of a type.
    pub(super) fn of(name: &str, source: &str) -> Self {
        let mut values = BTreeMap::new();
        let starts = [
            format!("impl {name} {{"),
            format!("impl Default for {name} {{"),
        ];
        let (mut is_inside, mut is_value) = (false, false);
        for line in source.lines() {
            if starts.iter().any(|start| line == start) {
                is_inside = true;
            } else if line == "}" {
                is_inside = false;
            }
            let trimmed = line.trim();
            if trimmed.ends_with("Self {") && !trimmed.contains("-> ") {
                is_value = is_inside;
            } else if trimmed.starts_with('}') {
                is_value = false;
            } else if is_value
                && let Some((field, expression)) = trimmed.split_once(": ")
                && let Some(value) = evaluate(expression.trim_end_matches(','), &|name| {
                    constant(name, source)
                })
            {
                values.entry(field.to_owned()).or_insert(value);
            }
        }
        Self(values)
    }

    /// Returns what is wrong with a documented default.
    pub(super) fn problem(&self, row: &OptionRow, documented: &str) -> Option<String> {
        let value = self.value(row)?;
        let stated = parse(documented)?;
        (stated != value).then(|| {
            format!(
                "the documentation says {documented}, the code {}",
                text(value, &row.name)
            )
        })
    }

    /// Returns the default of an option whose documentation has none.
    pub(super) fn text(&self, row: &OptionRow) -> Option<String> {
        Some(text(self.value(row)?, &row.name))
    }

    fn value(&self, row: &OptionRow) -> Option<Value> {
        self.0.get(row.field.as_ref()?).copied()
    }
}

fn text(value: Value, name: &str) -> String {
    match value {
        Value::Milliseconds(time) if time % 3_600_000 == 0 && time > 0 => {
            format!("{} h", time / 3_600_000)
        }
        Value::Milliseconds(time) if time % 60_000 == 0 && time > 0 => {
            format!("{} min", time / 60_000)
        }
        Value::Milliseconds(time) if time % 1000 == 0 => format!("{} s", time / 1000),
        Value::Milliseconds(time) => format!("{time} ms"),
        Value::Number(number)
            if name.contains("bytes") && number >= 1 << 20 && number % (1 << 20) == 0 =>
        {
            format!("{} MiB", number >> 20)
        }
        Value::Number(number)
            if name.contains("bytes") && number >= 1 << 10 && number % (1 << 10) == 0 =>
        {
            format!("{} KiB", number >> 10)
        }
        Value::Number(number) => with_commas(number),
    }
}

fn with_commas(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", with_commas(number / 1000), number % 1000),
    }
}

/// Parses a documented default: `10,000`, `4 MiB` or `10 min, at least 1 min`.
fn parse(text: &str) -> Option<Value> {
    let mut words = text.split(", ").next()?.split(' ');
    let number: u64 = words.next()?.replace(',', "").parse().ok()?;
    let unit = words.next();
    if words.next().is_some() {
        return None;
    }
    let Some(unit) = unit else {
        return Some(Value::Number(number));
    };
    Value::with_unit(number, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::options::row;

    const SOURCE: &str = "\
const MOST: usize = 2 * HALF;
const HALF: usize = 50;

impl A {
    pub const DEFAULT: Self = Self {
        count: MOST,
        bytes: 4 * 1024 * 1024,
        page_bytes: 1536 * 1024,
        line_bytes: 1500,
        time: Duration::from_millis(500),
        other: Vec::new(),
    };
}
";

    #[test]
    fn values_are_read_from_the_code() {
        let defaults = Defaults::of("A", SOURCE);
        let check = |field: &str, expected: Option<&str>| {
            let text = defaults.text(&row(field, field, ""));
            assert_eq!(text.as_deref(), expected, "{field}");
        };
        check("count", Some("100"));
        check("bytes", Some("4 MiB"));
        check("page_bytes", Some("1536 KiB"));
        check("line_bytes", Some("1,500"));
        check("time", Some("500 ms"));
        check("other", None);
    }

    #[test]
    fn different_default_is_a_problem() {
        let defaults = Defaults::of("A", SOURCE);
        let check = |field: &str, documented: &str, is_right: bool| {
            let problem = defaults.problem(&row(field, field, ""), documented);
            assert_eq!(problem.is_none(), is_right, "{field} {documented}");
        };
        check("count", "100", true);
        check("count", "1,000", false);
        check("bytes", "4 MiB", true);
        check("bytes", "4 KiB", false);
        check("time", "500 ms", true);
        check("time", "500", false);
        check("time", "1 s, at most 5 s", false);
        check("time", "as the server", true);
    }
}
