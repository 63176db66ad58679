//! The initial values of a type with options, as far as they are numbers and times.

use std::collections::BTreeMap;

use super::builders::OptionRow;

/// The values of the fields that the code sets at first.
#[derive(Debug)]
pub(super) struct Defaults(BTreeMap<String, Value>);

/// A number, or a time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Number(u64),
    Milliseconds(u64),
}

/// The units of documented defaults.
const UNITS: [(&str, Value); 13] = [
    ("KiB", Value::Number(1 << 10)),
    ("MiB", Value::Number(1 << 20)),
    ("GiB", Value::Number(1 << 30)),
    ("ms", Value::Milliseconds(1)),
    ("s", Value::Milliseconds(1000)),
    ("seconds", Value::Milliseconds(1000)),
    ("min", Value::Milliseconds(60_000)),
    ("minutes", Value::Milliseconds(60_000)),
    ("h", Value::Milliseconds(3_600_000)),
    ("hour", Value::Milliseconds(3_600_000)),
    ("hours", Value::Milliseconds(3_600_000)),
    ("day", Value::Milliseconds(86_400_000)),
    ("days", Value::Milliseconds(86_400_000)),
];

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
                && let Some(value) = evaluate(expression.trim_end_matches(','), source)
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
                value.text(&row.name)
            )
        })
    }

    /// Returns the default of an option whose documentation has none.
    pub(super) fn text(&self, row: &OptionRow) -> Option<String> {
        Some(self.value(row)?.text(&row.name))
    }

    fn value(&self, row: &OptionRow) -> Option<Value> {
        self.0.get(row.field.as_ref()?).copied()
    }
}

impl Value {
    fn text(self, name: &str) -> String {
        match self {
            Self::Milliseconds(time) if time % 3_600_000 == 0 && time > 0 => {
                format!("{} h", time / 3_600_000)
            }
            Self::Milliseconds(time) if time % 60_000 == 0 && time > 0 => {
                format!("{} min", time / 60_000)
            }
            Self::Milliseconds(time) if time % 1000 == 0 => format!("{} s", time / 1000),
            Self::Milliseconds(time) => format!("{time} ms"),
            Self::Number(number)
                if name.contains("bytes") && number >= 1 << 20 && number % (1 << 20) == 0 =>
            {
                format!("{} MiB", number >> 20)
            }
            Self::Number(number)
                if name.contains("bytes") && number >= 1 << 10 && number % (1 << 10) == 0 =>
            {
                format!("{} KiB", number >> 10)
            }
            Self::Number(number) => with_commas(number),
        }
    }
}

fn with_commas(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", with_commas(number / 1000), number % 1000),
    }
}

/// Returns the value of an expression: a product of numbers, a constant of the file, or a `Duration` of one.
fn evaluate(expression: &str, source: &str) -> Option<Value> {
    for (start, unit) in [
        ("Duration::from_secs(", 1000),
        ("Duration::from_millis(", 1),
    ] {
        if let Some(inner) = expression.strip_prefix(start) {
            let count = product(inner.strip_suffix(')')?, source)?;
            return Some(Value::Milliseconds(count * unit));
        }
    }
    match product(expression, source) {
        Some(number) => Some(Value::Number(number)),
        None => evaluate(constant(expression, source)?, source),
    }
}

fn product(expression: &str, source: &str) -> Option<u64> {
    let mut product = 1_u64;
    for factor in expression.split(" * ") {
        let number = match factor.replace('_', "").parse().ok() {
            Some(number) => number,
            None => self::product(constant(factor, source)?, source)?,
        };
        product = product.checked_mul(number)?;
    }
    Some(product)
}

/// Returns the expression of a constant that the file defines in one line.
fn constant<'a>(name: &str, source: &'a str) -> Option<&'a str> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let start = format!("const {name}: ");
    let rest = source.lines().find_map(|line| line.split_once(&start))?.1;
    rest.split_once(" = ")?.1.strip_suffix(';')
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
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    known.map(|(_, value)| match value {
        Value::Number(factor) => Value::Number(number * factor),
        Value::Milliseconds(factor) => Value::Milliseconds(number * factor),
    })
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
