//! Parses numbers of seconds. RFC 7519 permits fractions, and some servers write numbers as strings.

use serde::{Deserialize, Deserializer, de};

/// The limit below which every integer is exact as `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Integer(u64),
    Fraction(f64),
    Text(String),
}

/// Parses an optional number of seconds and drops the fraction.
pub(super) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let number = Option::<Number>::deserialize(deserializer)?;
    number
        .map(|number| {
            whole_seconds(number).ok_or_else(|| de::Error::custom("not a number of seconds"))
        })
        .transpose()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only numbers within the exact range are cast"
)]
fn whole_seconds(number: Number) -> Option<u64> {
    match number {
        Number::Integer(seconds) => Some(seconds),
        Number::Fraction(seconds) => (0.0..EXACT).contains(&seconds).then_some(seconds as u64),
        Number::Text(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok()
        }
        Number::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_parse_from_integers_fractions_and_digit_strings() {
        #[track_caller]
        fn check(text: &str, expected: Option<Option<u64>>) {
            let read = optional(&mut serde_json::Deserializer::from_str(text)).ok();
            assert_eq!(read, expected, "{text}");
        }
        check("null", Some(None));
        check("0", Some(Some(0)));
        check("3600", Some(Some(3600)));
        check("18446744073709551615", Some(Some(u64::MAX)));
        check("1700000000.75", Some(Some(1_700_000_000)));
        check("3.6e3", Some(Some(3600)));
        check("\"3600\"", Some(Some(3600)));
        check("-1", None);
        check("-0.5", None);
        check("1e300", None);
        check("\"\"", None);
        check("\"+5\"", None);
        check("\"soon\"", None);
        check("true", None);
        check("[1]", None);
    }
}
