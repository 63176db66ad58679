//! The values of expressions in Rust code and in tables of pages, as far as they are numbers and times.

/// A number, or a time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Number(u64),
    Milliseconds(u64),
}

/// The units of documented values.
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

impl Value {
    /// Returns the documented value of a number with a unit, or `None` for an unknown unit.
    pub(super) fn with_unit(number: u64, unit: &str) -> Option<Self> {
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        Some(match factor {
            Self::Number(factor) => Self::Number(number * factor),
            Self::Milliseconds(factor) => Self::Milliseconds(number * factor),
        })
    }

    /// Returns `true` if a value of the code is this documented one. The code may count a time in seconds.
    pub(super) fn is_value_of_code(self, code: Self) -> bool {
        match (self, code) {
            (Self::Milliseconds(stated), Self::Number(seconds)) => {
                seconds.checked_mul(1000) == Some(stated)
            }
            _ => self == code,
        }
    }
}

/// Returns the value of an expression: numbers and constants that are added, subtracted, multiplied or shifted, or a
/// `Duration` of such a number. `constant` returns the expression of a constant.
pub(super) fn evaluate<'a>(
    expression: &str,
    constant: &dyn Fn(&str) -> Option<&'a str>,
) -> Option<Value> {
    let expression = expression.trim();
    for (start, unit) in [
        ("Duration::from_secs(", 1000),
        ("Duration::from_millis(", 1),
    ] {
        if let Some(inner) = expression.strip_prefix(start) {
            let count = number(inner.strip_suffix(')')?, constant)?;
            return Some(Value::Milliseconds(count.checked_mul(unit)?));
        }
    }
    if let Some(inner) = expression.strip_prefix("Some(") {
        return evaluate(inner.strip_suffix(')')?, constant);
    }
    if !is_constant_name(expression) {
        return number(expression, constant).map(Value::Number);
    }
    match evaluate(constant(expression)?, constant)? {
        Value::Number(count) if expression.ends_with("_MS") => Some(Value::Milliseconds(count)),
        value => Some(value),
    }
}

fn number<'a>(expression: &str, constant: &dyn Fn(&str) -> Option<&'a str>) -> Option<u64> {
    type Operation = fn(u64, u64) -> Option<u64>;
    // The operation that binds least is the first one.
    let operations: [(&str, Operation); 4] = [
        (" << ", |left, right| {
            left.checked_mul(1_u64.checked_shl(u32::try_from(right).ok()?)?)
        }),
        (" + ", u64::checked_add),
        (" - ", u64::checked_sub),
        (" * ", u64::checked_mul),
    ];
    for (sign, operation) in operations {
        if let Some((left, right)) = expression.rsplit_once(sign) {
            return operation(number(left, constant)?, number(right, constant)?);
        }
    }
    let digits = expression.trim().replace('_', "");
    match digits.parse() {
        Ok(number) => Some(number),
        Err(_) if is_constant_name(expression) => number(constant(expression)?, constant),
        Err(_) => None,
    }
}

/// Returns the expression of a constant that a file defines.
pub(super) fn constant<'a>(name: &str, source: &'a str) -> Option<&'a str> {
    if !is_constant_name(name) {
        return None;
    }
    let start = format!("const {name}");
    let definitions = source.split(start.as_str()).skip(1);
    let mut definitions = definitions.filter(|rest| rest.starts_with([':', ' ']));
    let (definition, _) = definitions.next()?.split_once(';')?;
    let (_, expression) = definition.split_once('=')?;
    Some(expression.trim())
}

pub(super) fn is_constant_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_values() {
        const SOURCE: &str = "\
pub(crate) const MOST: usize = 2 * HALF;
const HALF: usize = 50;
const LONG_TIMEOUT: Duration =
    Duration::from_secs(60 * 60);
const GRACE_MS: u64 = 60_000;
export const STEPS = 5;
";
        let check = |expression: &str, expected: Option<Value>| {
            let value = evaluate(expression, &|name| constant(name, SOURCE));
            assert_eq!(value, expected, "{expression}");
        };
        check("MOST", Some(Value::Number(100)));
        check("1 << 20", Some(Value::Number(1 << 20)));
        check("4 * 1024 + HALF", Some(Value::Number(4146)));
        check("MOST - 1 - HALF", Some(Value::Number(49)));
        check("Some(LONG_TIMEOUT)", Some(Value::Milliseconds(3_600_000)));
        check("Duration::from_millis(500)", Some(Value::Milliseconds(500)));
        check("GRACE_MS", Some(Value::Milliseconds(60_000)));
        check("STEPS", Some(Value::Number(5)));
        check("UNKNOWN", None);
        check("Vec::new()", None);
        check("HALF - MOST", None);
    }

    #[test]
    fn seconds_of_the_code_are_a_time() {
        let minute = Value::Milliseconds(60_000);
        assert!(minute.is_value_of_code(Value::Number(60)));
        assert!(minute.is_value_of_code(minute));
        assert!(!minute.is_value_of_code(Value::Number(60_000)));
        assert!(!Value::Number(60).is_value_of_code(minute));
    }
}
