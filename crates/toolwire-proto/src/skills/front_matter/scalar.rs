//! The types of plain scalars: the core schema of YAML 1.2.

use serde_json::{Number, Value};

/// Returns the value of a plain scalar. `yes`, `no`, `on` and dates are texts.
///
/// Spec YAML 1.2.2, 10.3.2, "Tag Resolution".
///
/// # Errors
/// Returns the reason why the value has no JSON form: an infinite number, or an integer of more than 64 bits.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(no_json_form(text));
    }
    if let Some((digits, radix)) = integer_with_radix(text) {
        let integer = u64::from_str_radix(digits, radix);
        return integer.map(Value::from).map_err(|_| no_json_form(text));
    }
    if is_digits(unsigned) {
        return integer(text).ok_or_else(|| no_json_form(text));
    }
    if is_float(unsigned) {
        let float = text.parse().ok().and_then(Number::from_f64);
        return float.map(Value::Number).ok_or_else(|| no_json_form(text));
    }
    Ok(Value::from(text))
}

fn no_json_form(text: &str) -> String {
    let text = crate::http::truncated_for_display(text);
    format!("the number {text:?} has no JSON form; write it in quotes")
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the digits of an octal or hexadecimal integer.
fn integer_with_radix(text: &str) -> Option<(&str, u32)> {
    let (digits, radix) = match text.strip_prefix("0o") {
        Some(digits) => (digits, 8),
        None => (text.strip_prefix("0x")?, 16),
    };
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    valid.then_some((digits, radix))
}

/// Parses a decimal integer with an optional sign.
fn integer(text: &str) -> Option<Value> {
    let signed = text.parse::<i64>().ok().map(Value::from);
    signed.or_else(|| text.parse::<u64>().ok().map(Value::from))
}

/// Returns `true` for digits with a decimal point or an exponent, or both.
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_mantissa = match (whole, fraction) {
        ("", fraction) => mantissa.starts_with('.') && is_digits(fraction),
        (whole, "") => is_digits(whole),
        (whole, fraction) => is_digits(whole) && is_digits(fraction),
    };
    let is_exponent = exponent
        .is_none_or(|exponent| is_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)));
    is_mantissa && is_exponent
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Value) {
        let value = resolve(text).unwrap();
        assert_eq!(value, expected, "{text}");
        // `1` and `1.0` are different texts of JSON.
        assert_eq!(value.to_string(), expected.to_string(), "{text}");
    }

    #[test]
    fn plain_scalars_have_the_types_of_the_core_schema() {
        for text in ["", "~", "null", "Null", "NULL"] {
            check(text, json!(null));
        }
        for (text, value) in [("true", true), ("True", true), ("FALSE", false)] {
            check(text, json!(value));
        }
        for (text, value) in [("0", 0), ("-7", -7), ("+7", 7), ("007", 7), ("-0", 0)] {
            check(text, json!(value));
        }
        check("0o17", json!(15));
        check("0xFf", json!(255));
        check("18446744073709551615", json!(u64::MAX));
        check("-9223372036854775808", json!(i64::MIN));
        for (text, value) in [
            ("1.0", 1.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("-2.50", -2.5),
            ("+1e3", 1000.0),
            ("1.5E-1", 0.15),
        ] {
            check(text, json!(value));
        }
    }

    #[test]
    fn everything_else_is_text() {
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "nULL",
            "tRUE",
            "2024-01-31",
            "12:30:45",
            "1_000",
            "0b1",
            "-0x1",
            "0o8",
            "0x",
            "1.2.3",
            ".",
            "-",
            "+",
            "-.",
            "e3",
            ".e3",
            "1e",
            "1e+",
            "1.0 ",
            "٣",
            "inf",
            "nan",
            "+.nan",
            "<<",
            "=",
        ] {
            check(text, json!(text));
        }
    }

    #[test]
    fn numbers_without_json_form_are_rejected() {
        for text in [
            ".inf",
            "-.Inf",
            "+.INF",
            ".nan",
            ".NaN",
            "18446744073709551616",
            "-9223372036854775809",
            "0x10000000000000000",
            "1e999",
        ] {
            let error = resolve(text).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }
}
