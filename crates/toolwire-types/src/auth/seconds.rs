//! Counts of seconds. RFC 7519 allows fractions, and some servers write numbers as texts.

use serde::{Deserialize, Deserializer, de};

/// Below this every whole number is exact as `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(u64),
    Fraction(f64),
    Text(String),
}

/// Reads an optional number of seconds, without its fraction.
pub(super) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let written = Option::<Written>::deserialize(deserializer)?;
    written
        .map(|written| whole(written).ok_or_else(|| de::Error::custom("not a number of seconds")))
        .transpose()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only numbers within the exact range are cast"
)]
fn whole(written: Written) -> Option<u64> {
    match written {
        Written::Whole(seconds) => Some(seconds),
        Written::Fraction(seconds) => (0.0..EXACT).contains(&seconds).then_some(seconds as u64),
        Written::Text(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok()
        }
        Written::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_in_every_spelling_that_has_one_meaning() {
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
